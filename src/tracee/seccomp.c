/* SPDX-License-Identifier: MIT */
/* Runs the seccomp filters of a process over the system calls of an attach and of the agent, so
 * that none of those kills it. check.c and inject/attach.c call it. The kernel shows filters of a
 * stopped thread only, and only to root, so the process is stopped while they are copied; each
 * thread has its own, though most are the same. Filters that cannot be had are -errno and a
 * sentence. */
#include "tracee/seccomp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "arch/elf.h"
#include "arch/old_calls.h"
#include "arch/page.h"
#include "base/vec.h"
#include "shared/bpf.h"
#include "shared/memory.h"
#include "shared/tasks.h"
#include "tracee/proc_status.h"
#include "tracee/tracee.h"

#define POINTER UINT64_C(0x7ffff0000000) /* filters see the pointer, not where it leads */
#define MINUS_ONE (~UINT64_C(0))
#define RW (PROT_READ | PROT_WRITE)

/* The calls that an attach, and an agent that is attached, cannot do without, with arguments as
 * they are made. */
static const struct need {
	const char *name;
	long number;
	uint64_t args[6];
} needs[] = {
	{ "mmap", SYS_mmap, { 0, ARCH_PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, MINUS_ONE, 0 } },
	{ "mmap", SYS_mmap, { POINTER, ARCH_PAGE, RW, MAP_SHARED | MAP_FIXED, 3, 0 } },
	{ "mmap with PROT_EXEC", SYS_mmap, { POINTER, ARCH_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, 3, ARCH_PAGE } },
	{ "munmap", SYS_munmap, { POINTER, ARCH_PAGE } },
	{ "mprotect", SYS_mprotect, { POINTER, ARCH_PAGE, RW } },
	{ "mprotect with PROT_EXEC", SYS_mprotect, { POINTER, ARCH_PAGE, PROT_READ | PROT_EXEC } },
	{ "madvise", SYS_madvise, { POINTER, ARCH_PAGE, MADV_DONTFORK } },
	{ "futex", SYS_futex, { POINTER, FUTEX_WAKE, 1 } },
	{ "futex", SYS_futex, { POINTER, FUTEX_WAIT, 1, POINTER } },
	{ "getcpu", SYS_getcpu, { POINTER } },
	{ "gettid", SYS_gettid, { 0 } },
	{ "getpid", SYS_getpid, { 0 } },
	{ "prctl(PR_GET_NAME)", SYS_prctl, { PR_GET_NAME, POINTER } },
	{ "sched_yield", SYS_sched_yield, { 0 } },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, { 2, POINTER, POINTER, 8 } },
	{ "close", SYS_close, { 3 } },
	{ "socketpair", SYS_socketpair, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, POINTER } },
	{ "memfd_create", SYS_memfd_create, { POINTER, MFD_CLOEXEC } },
	{ "recvmsg", SYS_recvmsg, { 3, POINTER, MSG_CMSG_CLOEXEC } },
	{ "sendto", SYS_sendto, { 3, POINTER, 64, MSG_NOSIGNAL } },
	{ "read", SYS_read, { 3, POINTER, ARCH_PAGE } },
	{ "pread64", SYS_pread64, { 3, POINTER, ARCH_PAGE, 0 } },
	{ "pwrite64", SYS_pwrite64, { 3, POINTER, ARCH_PAGE, 0 } },
};

/* A filter may look at the instruction pointer, too, which is not known yet: any address of a
 * program stands for it. */
uint32_t seccomp_run(const struct sock_filter *program, size_t n, long number,
		     const uint64_t args[6])
{
	struct seccomp_data data = {
		.nr = (int)number, .arch = ELF_AUDIT_ARCH, .instruction_pointer = POINTER,
	};

	memcpy(data.args, args, sizeof(data.args));
	return bpf_run(program, n, &data);
}

/* --- copying -------------------------------------------------------------------------------- */

struct filter {
	struct sock_filter *program;
	size_t n;
};
typedef VEC(struct filter) filter_list;

/* Adds a filter that is not in the list yet; the list owns it. */
static void keep_filter(filter_list *list, struct sock_filter *program, size_t n)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].n == n &&
		    memcmp(list->at[i].program, program, n * sizeof(*program)) == 0) {
			free(program);
			return;
		}
	*vec_add(list) = (struct filter){ program, n };
}

/* Returns 0, or -errno: -ENOENT after the last, -EINVAL if the thread has none at all. */
static int copy_one(pid_t tid, unsigned long index, filter_list *list)
{
	long n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)index, NULL);
	struct sock_filter *program;

	if (n < 0)
		return -errno;
	program = mem_zalloc((size_t)(n ? n : 1) * sizeof(*program));
	if (ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)index, program) != n) {
		free(program);
		return -EIO;
	}
	keep_filter(list, program, (size_t)n);
	return 0;
}

/* Copies the filters of every thread: a thread may have set its own. */
static int copy_all(const struct tracee *t, filter_list *list)
{
	for (size_t i = 0; i < tracee_threads(t); i++) {
		int r = 0;

		for (unsigned long index = 0; r == 0; index++)
			r = copy_one(tracee_tid(t, i), index, list);
		if (r != -ENOENT && r != -EINVAL)
			return r;
	}
	return 0;
}

static void free_filters(filter_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->at[i].program);
	vec_free(list);
}

/* PTRACE_SECCOMP_GET_FILTER needs CAP_SYS_ADMIN, a tracer without a filter of its own, and
 * CONFIG_CHECKPOINT_RESTORE. */
static int err_unreadable(const struct proc_status *s, int code, struct err *err)
{
	return err_set(
		err, EACCES,
		"process %d (%s) is under a seccomp filter, and the kernel shows only to root whether it forbids "
		"what brace needs (%s): use sudo",
		(int)s->tgid, s->name, strerror(code));
}

/* --- judging -------------------------------------------------------------------------------- */

/* Every filter must allow every call: the kernel takes the strictest answer. */
static int judge_filters(const struct proc_status *s, const filter_list *list, struct err *err)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		for (size_t f = 0; f < list->n; f++)
			if (!bpf_allows(seccomp_run(list->at[f].program, list->at[f].n,
						    needs[i].number, needs[i].args)))
				return err_set(
					err, EPERM,
					"process %d (%s) is under a seccomp filter that forbids %s, which "
					"brace needs in it",
					(int)s->tgid, s->name, needs[i].name);
	return 0;
}

/* Holds the process for as long as it takes to copy the filters; judging needs no hold. */
static int check_filters(const struct proc_status *s, struct err *err)
{
	filter_list list = { 0 };
	struct tracee *t;
	int r = tracee_stop_unless_given_up(s->tgid, &t, err);

	if (r < 0)
		return r;
	r = copy_all(t, &list);
	tracee_release(t);
	r = r < 0 ? err_unreadable(s, -r, err) : judge_filters(s, &list, err);
	free_filters(&list);
	return r;
}

/* Returns the mode of the thread that is bound most: strict mode needs no further look. */
static unsigned mode_of(pid_t pid)
{
	char name[32];
	struct proc_status s;
	struct dirent *e;
	unsigned mode = 0;
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	d = opendir(name);
	while (d && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid > 0 && proc_status_read(tid, &s) == 0 && s.seccomp &&
		    (!mode || s.seccomp == SECCOMP_MODE_STRICT))
			mode = s.seccomp;
	}
	if (d)
		closedir(d);
	return mode;
}

int seccomp_check(pid_t pid, struct err *err)
{
	struct proc_status s;
	unsigned mode;

	if (proc_status_read(pid, &s) < 0)
		return err_set(err, ESRCH, "there is no process %d", (int)pid);
	mode = mode_of(pid);
	if (mode == SECCOMP_MODE_STRICT)
		return err_set(
			err, EPERM,
			"process %d (%s) is under strict seccomp, which forbids all that brace needs in it",
			(int)pid, s.name);
	return mode == SECCOMP_MODE_FILTER ? check_filters(&s, err) : 0;
}

/* --- calls that the agent can do without --- */

static const struct { uint32_t lacks; long number; uint64_t args[6]; } optional[] = {
#define TASK_CALL(name, ...) { LACKS_TASKS, SYS_##name, { __VA_ARGS__ } },
	TASK_CALLS(TASK_CALL, POINTER)
#undef TASK_CALL
	{ LACKS_COPY, SYS_process_vm_readv, { 1, POINTER, 1, POINTER, 1, 0 } },
	{ LACKS_HANDLERS, SYS_rt_sigaction, { SIGUSR1, 0, POINTER, 8 } },
	{ LACKS_HANDLERS, SYS_socket, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0 } },
	{ LACKS_HANDLERS, SYS_connect, { 3, POINTER, 50 } },
	{ LACKS_HANDLERS, SYS_getsockopt, { 3, SOL_SOCKET, SO_PEERCRED, POINTER, POINTER } },
	{ LACKS_HANDLERS, SYS_geteuid, { 0 } },
	{ LACKS_USER, SYS_getresuid, { POINTER, POINTER, POINTER } },
	{ LACKS_USER, OLD_CALL_STAT, { OLD_CALL_STAT_ARGS(POINTER, POINTER) } },
	{ LACKS_USER, SYS_socket, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0 } },
	{ LACKS_USER, SYS_connect, { 3, POINTER, 50 } },
	{ LACKS_USER, SYS_getsockopt, { 3, SOL_SOCKET, SO_PEERCRED, POINTER, POINTER } },
	{ LACKS_USER, SYS_geteuid, { 0 } },
	{ LACKS_USER, SYS_prlimit64, { 0, RLIMIT_AS, 0, POINTER } },
	{ LACKS_TEXTS, SYS_openat, { (uint64_t)AT_FDCWD, POINTER, O_CLOEXEC } },
	{ LACKS_TEXTS, SYS_read, { 3, POINTER, 1024 } },
	{ LACKS_TEXTS, SYS_close, { 3 } },
};

/* Returns what the agent has to do without: one forbidden call loses all that needs it. */
static uint32_t lacks_by(const filter_list *list)
{
	uint32_t lacks = 0;

	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
		for (size_t f = 0; f < list->n; f++)
			if (!bpf_allows(seccomp_run(list->at[f].program, list->at[f].n,
						    optional[i].number, optional[i].args)))
				lacks |= optional[i].lacks;
	return lacks;
}

uint32_t seccomp_lacks(pid_t pid)
{
	/* Filters that cannot be read are taken to forbid all of these. */
	uint32_t lacks = LACKS_TASKS | LACKS_COPY | LACKS_HANDLERS | LACKS_USER | LACKS_TEXTS;
	filter_list list = { 0 };
	struct tracee *t;
	struct err ignored;

	if (!mode_of(pid))
		return 0;
	if (tracee_stop_unless_given_up(pid, &t, &ignored) < 0)
		return lacks;
	if (copy_all(t, &list) == 0)
		lacks = lacks_by(&list);
	tracee_release(t);
	free_filters(&list);
	return lacks;
}
