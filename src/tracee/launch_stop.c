/* SPDX-License-Identifier: MIT */
/* Runs a program under ptrace from its exec until it has a thread pointer. session/control.c calls
 * it for static programs; if anything fails the new process is killed.
 *
 * glibc and musl set it by arch_prctl(ARCH_SET_FS), with the thread's block in place (its first
 * word points to itself), and go on with set_tid_address. There we stop musl. glibc notes the
 * thread's id in the block a moment later: we stop it before its next system call. Others stop
 * after arch_prctl. A system call before which we stop has been entered already: it is replaced by
 * getpid, and the registers are set to before its instruction, so that it is made once, later. */
#include "tracee/launch_stop.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/old_calls.h"
#include "arch/tcb.h"
#include "tracee/internal.h"

#define OPTIONS (PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD)
#define CALLS_MAX 256 /* before the thread pointer; then we stop anyway */

/* A program's run to its start: the process, and what was found of its start. */
struct launch_run {
	struct tracee *t;
	struct thread *th;
	struct launch_stop *where;
	bool done;
};

/* The child: waits for `go`, executes, and reports errno if that fails. An end of `go` means that
 * brace has given up. */
static void run_child(const char *path, char *const *argv, int go, int report)
{
	char c;
	int code;

	if (read(go, &c, 1) != 1)
		_exit(126);
	execv(path, argv);
	code = errno;
	if (write(report, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(127);
}

/* Starts a process that waits for a byte before it executes path. *report: tells the errno of a
 * failed exec. */
static int spawn_child(const char *path, char *const *argv, pid_t *pid, int *go, int *report,
		       struct err *err)
{
	int gos[2], reports[2];

	if (pipe2(gos, O_CLOEXEC) < 0)
		return err_set(err, errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(reports, O_CLOEXEC) < 0) {
		close(gos[0]);
		close(gos[1]);
		return err_set(err, errno, "cannot make a pipe: %s", strerror(errno));
	}
	*pid = fork();
	if (*pid == 0) {
		close(gos[1]);
		run_child(path, argv, gos[0], reports[1]);
	}
	close(gos[0]);
	close(reports[1]);
	*go = gos[1];
	*report = reports[0];
	return *pid < 0 ? err_set(err, errno, "cannot fork: %s", strerror(errno)) : 0;
}

/* --- running -------------------------------------------------------------------------------- */

/* Runs to the next stop at a system call; signals go to the program as they come. -ETIME: it
 * computes for long. */
static int next_stop(struct launch_run *run, struct user_regs_struct *regs, struct err *err)
{
	int signal = 0, status, r;

	for (;;) {
		r = run_thread(run->t, run->th, PTRACE_SYSCALL, signal, &status, err);
		if (r < 0)
			return !run->t->dead && run->th->stopped ? -ETIME : r;
		if (WSTOPSIG(status) == TRAP_SYSCALL)
			break;
		signal = WSTOPSIG(status);
	}
	return regs_get(run->th->tid, regs) < 0 ? tracee_died(run->t, err) : 0;
}

/* From the entry of a system call, or from the stop where `regs` was read, to a stopped thread with
 * these registers. */
static int stop_with(struct launch_run *run, const struct user_regs_struct *regs, struct err *err)
{
	int r = run_to_event_stop(run->t, run->th, 0, err);

	if (r < 0)
		return r;
	run->th->regs = *regs;
	run->done = true;
	return regs_put(run->th->tid, regs) < 0 ? tracee_died(run->t, err) : 0;
}

static int stop_before(struct launch_run *run, const struct user_regs_struct *entry,
		       struct err *err)
{
	struct user_regs_struct harmless = *entry, before = *entry;

	/* The entered call cannot be undone, so it becomes harmless; the program makes its own
	 * later. */
	regs_replace_call(&harmless, SYS_getpid);
	regs_repeat_call(&before);
	regs_replace_call(&before, REGS_NO_CALL);
	if (regs_put(run->th->tid, &harmless) < 0)
		return tracee_died(run->t, err);
	return stop_with(run, &before, err);
}

/* True for a call that the start of a C library makes before it has a thread pointer. */
static bool is_starts(int64_t call)
{
	static const uint16_t calls[] = {
		OLD_CALLS_STARTING
		SYS_brk,
		SYS_mmap,
		SYS_munmap,
		SYS_mprotect,
		SYS_mremap,
		SYS_madvise,
		SYS_uname,
		SYS_readlinkat,
		SYS_getrandom,
		SYS_prlimit64,
		SYS_getrlimit,
		SYS_getuid,
		SYS_geteuid,
		SYS_getgid,
		SYS_getegid,
		SYS_set_tid_address,
		SYS_set_robust_list,
		SYS_rseq,
		SYS_rt_sigprocmask,
		SYS_rt_sigaction,
		SYS_sigaltstack,
		SYS_sched_getaffinity,
		SYS_fcntl,
		SYS_getpid,
		SYS_gettid,
		SYS_clock_gettime,
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (call == calls[i])
			return true;
	return false;
}

/* A C library's thread block begins with its own address. */
static bool points_to_itself(struct launch_run *run, uint64_t pointer)
{
	uint64_t word;
	struct err ignored;

	return tracee_read(run->t, pointer, &word, sizeof(word), &ignored) == 0 &&
	       word == pointer;
}

/* glibc passes the address of a word of the thread's block, and notes the thread's id there a
 * moment later, before its next call; musl passes that of a lock, which may stand behind the first
 * thread's block. */
static enum launch_libc libc_of(const struct launch_run *run)
{
	return run->where->tid_address - run->where->fs == TCB_TID ? LAUNCH_GLIBC : LAUNCH_MUSL;
}

/* set_tid_address has been entered. musl's next call may be main's, so musl stops here. */
static int after_tid_address(struct launch_run *run, const struct user_regs_struct *entry,
			     struct err *err)
{
	struct user_regs_struct after, next;
	int r = next_stop(run, &after, err);

	run->where->tid_address = regs_call_arg(entry, 0);
	run->where->libc = libc_of(run);
	if (r == 0 && run->where->libc == LAUNCH_MUSL)
		return stop_with(run, &after, err);
	if (r == 0)
		r = next_stop(run, &next, err);
	return r < 0 ? r : stop_before(run, &next, err);
}

/* Holds before the call that follows, or around set_tid_address. */
static int after_thread_pointer(struct launch_run *run, struct err *err)
{
	struct user_regs_struct entry;
	int r = next_stop(run, &entry, err);

	if (r == 0 && regs_call(&entry) == SYS_set_tid_address)
		return after_tid_address(run, &entry, err);
	return r < 0 ? r : stop_before(run, &entry, err);
}

/* Deals with one system call of the start, which has been entered. */
static int one_call(struct launch_run *run, const struct user_regs_struct *entry, struct err *err)
{
	struct user_regs_struct after;
	uint64_t pointer;
	int r;

	if (!is_starts(regs_call(entry)))
		return stop_before(run, entry, err);
	r = next_stop(run, &after, err);
	if (r < 0 || !regs_sets_thread_pointer(entry, &pointer) || regs_result(&after) != 0)
		return r;
	run->where->fs = pointer;
	run->where->libc = LAUNCH_OTHER;
	return points_to_itself(run, pointer) ? after_thread_pointer(run, err)
					      : stop_with(run, &after, err);
}

/* A program without the bytes that every library's start has in it need not be run to find out. */
static bool may_set_thread_pointer(struct tracee *t)
{
	static const uint8_t mark[] = REGS_START_MARK;

	return code_find(t, false, mark, sizeof(mark)) != 0;
}

/* Runs from the first instruction to the place that the top of this file describes, if the program
 * gets there. */
static int run_to_thread_pointer(struct launch_run *run, struct err *err)
{
	struct user_regs_struct regs;
	int r = 0;

	if (!may_set_thread_pointer(run->t)) {
		run->done = true;
		return 0;
	}
	for (int i = 0; r == 0 && !run->done && i < CALLS_MAX; i++) {
		r = next_stop(run, &regs, err);
		if (r == 0)
			r = one_call(run, &regs, err);
	}
	if (r == 0 && !run->done) {
		r = next_stop(run, &regs, err);
		if (r == 0)
			r = stop_before(run, &regs, err);
	}
	if (r != -ETIME)
		return r;
	/* The program has computed for long: stopped at whatever instruction it has reached. */
	r = run_to_event_stop(run->t, run->th, 0, err);
	return r == 0 && regs_get(run->th->tid, &run->th->regs) < 0 ? tracee_died(run->t, err) : r;
}

/* --- from exec on --------------------------------------------------------------------------- */

/* Returns the exec's failure, or 0: close-on-exec closed the pipe, so the program runs. */
static int read_report(int report, const char *path, struct err *err)
{
	int code = 0;
	ssize_t n;

	do {
		n = read(report, &code, sizeof(code));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(code))
		return 0;
	return err_set(err, code, "cannot execute %s: %s", path, strerror(code));
}

/* Lets it execute, up to the program's first instruction. */
static int pass_exec(struct tracee *t, struct err *err)
{
	uint64_t deadline = tracee_clock_ns() + TRACEE_STOP_MS * UINT64_C(1000000);
	struct thread *th = &t->threads.at[0];
	int status, r;

	for (;;) {
		r = wait_thread(&t->ticks, t->pid, deadline, &status);
		if (r == 0)
			return err_set(err, EIO, "process %d does not execute its program",
				       (int)t->pid);
		if (r < 0 || !WIFSTOPPED(status))
			return tracee_died(t, err);
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			break;
		ptrace(PTRACE_CONT, t->pid, NULL,
		       (void *)(intptr_t)(wait_is_event_stop(status) ? 0 : WSTOPSIG(status)));
	}
	th->stopped = true;
	th->asked_at = tracee_clock_ns();
	/* PTRACE_O_TRACEEXEC has served; EXITKILL stays, so that the program does not outlive us
	 * half started. */
	ptrace(PTRACE_SETOPTIONS, t->pid, NULL, (void *)(uintptr_t)OPTIONS);
	r = run_to_event_stop(t, th, 0, err);
	if (r == 0 && regs_get(t->pid, &th->regs) < 0)
		r = tracee_died(t, err);
	return r < 0 ? r : hold_open_memory(t, err);
}

/* Seizes the child while it waits for `go`: it stops at its exec. If brace dies, the kernel kills
 * it. */
static int begin_stop(pid_t pid, struct tracee *t, struct err *err)
{
	int r;

	*t = (struct tracee){ .pid = pid, .mem = -1, .ticks.keep = pid };
	r = wait_ticks_begin(&t->ticks, err);
	if (r < 0)
		return r;
	*vec_add(&t->threads) = (struct thread){ .tid = pid };
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(uintptr_t)(OPTIONS | PTRACE_O_TRACEEXEC)) < 0)
		return err_set(
			err, errno,
			"cannot trace what was just started (%s): brace needs ptrace to bring its agent into a "
			"static program; a seccomp filter or a container may forbid it",
			strerror(errno));
	return 0;
}

/* Kills what was started, and says how it ended if it did so by itself. */
static int give_up(struct tracee *t, pid_t pid, const char *path, int r, struct err *err)
{
	bool ended = t->dead;
	int status = 0;

	if (!ended)
		kill(pid, SIGKILL);
	t->dead = true;
	tracee_release(t);
	waitpid(pid, &status, 0);
	if (ended && WIFSIGNALED(status))
		r = err_set(
			err, EIO,
			"%s ended with signal %d (%s) before its first function could be traced",
			path, WTERMSIG(status), sigabbrev_np(WTERMSIG(status)));
	else if (ended)
		r = err_set(err, EIO,
			    "%s ended with status %d before its first function could be traced",
			    path, WEXITSTATUS(status));
	return r;
}

/* From exec to the stop: where->entry is the program's first instruction. */
static int to_its_start(struct tracee *t, struct launch_stop *where, struct err *err)
{
	struct launch_run run = { .t = t, .th = &t->threads.at[0], .where = where };
	int r = pass_exec(t, err);

	if (r < 0)
		return r;
	where->entry = regs_pc(&run.th->regs);
	return run_to_thread_pointer(&run, err);
}

int launch_stop(const char *path, char *const *argv, const struct launch_birth *birth, pid_t *pid,
		struct tracee **out, struct launch_stop *where, struct err *err)
{
	struct tracee *t = mem_zalloc(sizeof(*t));
	int go = -1, report = -1, failed, r = spawn_child(path, argv, pid, &go, &report, err);
	struct err why;

	memset(where, 0, sizeof(*where));
	if (r < 0) {
		free(t);
		return r;
	}
	r = begin_stop(*pid, t, err);
	if (r == 0 && birth)
		r = birth->born(birth->context, *pid, err);
	if (r == 0 && write(go, "x", 1) != 1)
		r = err_set(err, EPIPE, "cannot start process %d", (int)*pid);
	close(go);
	if (r == 0)
		r = to_its_start(t, where, err);
	if (r == 0) {
		close(report);
		*out = t;
		return 0;
	}
	r = give_up(t, *pid, path, r, err);
	failed = read_report(report, path, &why);
	close(report);
	if (failed < 0)
		*err = why;
	return failed < 0 ? failed : r;
}
