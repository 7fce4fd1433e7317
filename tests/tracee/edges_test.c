/* Programs at their most awkward moment: signals, stops, ends, births, vfork, exec, breakpoints. */
#include "child.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracee/proc_status.h"

#define CYCLES 200
static const uint64_t none[6];
static struct report *own; /* in the child */

static struct tracee *hold(pid_t pid)
{
	struct tracee *t;
	struct err err;

	if (tracee_stop(pid, &t, &err) < 0)
		fail_msg("%s", err.text);
	return t;
}

static void borrow_once(pid_t pid)
{
	struct tracee *t = hold(pid);
	struct err err;
	int64_t result;

	if (tracee_syscall(t, SYS_getpid, none, &result, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(result, pid);
	tracee_release(t);
}

static char state_of(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, pid, &stat) < 0 ? 'X' : stat.state;
}

static void until_stopped(struct report *rep)
{
	while (!rep->stop)
		usleep(1000);
}

/* Born detached: glibc's pthread_detach looks at a thread that may be gone (its bug 19951). */
static void start_thread(void *(*body)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, body, arg) != 0)
		abort();
}

static void *spin(void *arg)
{
	struct report *rep = arg;

	rep->ready++;
	while (!rep->stop)
		rep->rounds++;
	return NULL;
}

/* In a process of its own, to which pid is no child. */
static void apart(void (*work)(pid_t), pid_t pid)
{
	int status;
	pid_t holder = fork();

	assert_true(holder >= 0);
	if (holder == 0) {
		work(pid);
		_exit(0);
	}
	assert_int_equal(waitpid(holder, &status, 0), holder);
	assert_int_equal(status, 0);
}

/* --- signals -------------------------------------------------------------------------------- */

#define SENT 30000

static void count_signal(int signal, siginfo_t *info, void *context)
{
	own->counts[1] += (uint64_t)info->si_value.sival_int;
	if (info->si_code != SI_QUEUE || info->si_pid != (pid_t)own->counts[2])
		own->bad++;
	own->counts[0]++; /* the last: who has seen it looks at the rest */
}

static void counting_signals(struct report *rep)
{
	struct sigaction action = { .sa_sigaction = count_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

	own = rep;
	sigaction(SIGRTMIN, &action, NULL);
	for (int i = 0; i < 3; i++)
		start_thread(spin, rep);
	until_stopped(rep);
}

static pid_t start_sender(struct report *rep, pid_t to)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	rep->counts[2] = (uint64_t)getpid();
	for (int i = 0; i < SENT; i++)
		while (sigqueue(to, SIGRTMIN, (union sigval){ .sival_int = i }) < 0)
			usleep(100);
	_exit(0);
}

static void signals_are_neither_lost_nor_doubled(void **state)
{
	struct child c = child_start(counting_signals, 3);
	pid_t sender = start_sender(c.report, c.pid);
	int status;

	for (int i = 0; waitpid(sender, &status, WNOHANG) == 0; i++)
		if (i % 2)
			borrow_once(c.pid);
		else
			hold_once(c.pid);
	wait_until(c.report->counts[0] >= SENT);
	assert_int_equal(c.report->counts[0], SENT);
	assert_int_equal(c.report->counts[1], (uint64_t)SENT * (SENT - 1) / 2);
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(child_end(&c), 0);
}

static void count_only(int signal)
{
	own->counts[0]++;
}

/* epoll_wait is ended by a handled signal, restarted otherwise: once each, no more. */
static void waiting_for_a_signal(struct report *rep)
{
	struct sigaction action = { .sa_handler = count_only, .sa_flags = SA_RESTART };
	int fd = epoll_create1(0);
	struct epoll_event e;

	own = rep;
	sigaction(SIGUSR1, &action, NULL);
	rep->ready = 1;
	while (!rep->stop)
		if (epoll_wait(fd, &e, 1, 100000) < 0 && errno == EINTR)
			rep->counts[1]++;
}

static void a_signal_while_held_still_ends_the_call(void **state)
{
	struct child c = child_start(waiting_for_a_signal, 1);

	for (uint64_t i = 0; i < CYCLES; i++) {
		struct tracee *t;
		struct err err;
		int64_t result;

		wait_until(state_of(c.pid) == 'S');
		t = hold(c.pid);
		if (i % 2)
			assert_int_equal(tracee_syscall(t, SYS_getpid, none, &result, &err), 0);
		assert_int_equal(kill(c.pid, SIGUSR1), 0);
		if (i % 4 > 1)
			assert_int_equal(tracee_syscall(t, SYS_getpid, none, &result, &err), 0);
		assert_int_equal(c.report->counts[0], i);
		tracee_release(t);
		wait_until(c.report->counts[1] > i);
		assert_int_equal(c.report->counts[0], i + 1);
	}
	c.report->stop = 1;
	kill(c.pid, SIGUSR1);
	assert_int_equal(child_end(&c), 0);
}

static void spinning(struct report *rep)
{
	for (int i = 0; i < 3; i++)
		start_thread(spin, rep);
	until_stopped(rep);
}

static void a_stopped_process_stays_stopped(void **state)
{
	struct child c = child_start(spinning, 3);
	uint64_t rounds;
	int status;

	kill(c.pid, SIGSTOP);
	assert_int_equal(waitpid(c.pid, &status, WUNTRACED), c.pid);
	assert_true(WIFSTOPPED(status));
	rounds = c.report->rounds;
	for (int i = 0; i < CYCLES; i++) {
		if (i % 2)
			borrow_once(c.pid);
		else
			hold_once(c.pid);
		wait_until(state_of(c.pid) == 'T');
		assert_int_equal(c.report->rounds, rounds);
	}
	kill(c.pid, SIGCONT);
	wait_until(c.report->rounds > rounds);
	assert_int_equal(child_end(&c), 0);
}

static void stopped_and_continued_while_held(void **state)
{
	struct child c = child_start(spinning, 3);

	for (int i = 0; i < CYCLES; i++) {
		struct tracee *t = hold(c.pid);
		struct err err;
		int64_t result;
		uint64_t rounds = c.report->rounds;

		kill(c.pid, SIGSTOP);
		if (i % 2)
			assert_int_equal(tracee_syscall(t, SYS_getpid, none, &result, &err), 0);
		tracee_release(t);
		wait_until(state_of(c.pid) == 'T');
		t = hold(c.pid);
		kill(c.pid, SIGCONT);
		if (i % 2)
			assert_int_equal(tracee_syscall(t, SYS_getpid, none, &result, &err), 0);
		tracee_release(t);
		wait_until(c.report->rounds > rounds);
	}
	assert_int_equal(child_end(&c), 0);
}

/* --- births and ends ------------------------------------------------------------------------ */

static void *outlive(void *arg)
{
	struct proc_stat stat;

	while (proc_stat_read(getpid(), getpid(), &stat) == 0 && stat.state != 'Z')
		usleep(1000);
	spin(arg);
	_exit(7);
}

static void main_gone(struct report *rep)
{
	start_thread(outlive, rep);
	pthread_exit(NULL);
}

static void without_its_main_thread(void **state)
{
	struct child c = child_start(main_gone, 1);
	int status;

	for (int i = 0; i < CYCLES; i++) {
		struct tracee *t = hold(c.pid);
		struct err err;
		int64_t fd;
		int got;
		char name[5] = { 0 };

		assert_int_equal(tracee_threads(t), 1);
		assert_int_not_equal(tracee_tid(t, 0), c.pid);
		assert_int_equal(tracee_read(t, (uintptr_t)"test", name, 5, &err), 0);
		assert_string_equal(name, "test");
		assert_int_equal(tracee_syscall(t, SYS_memfd_create, (uint64_t[6]){ (uintptr_t)"test" }, &fd, &err), 0);
		got = tracee_take_fd(t, (int)fd, &err);
		assert_true(got >= 0);
		assert_int_equal(ftruncate(got, 12345), 0);
		assert_int_equal(tracee_syscall(t, SYS_lseek, (uint64_t[6]){ (uint64_t)fd, 0, SEEK_END }, &fd, &err), 0);
		assert_int_equal(fd, 12345);
		tracee_syscall(t, SYS_close, (uint64_t[6]){ (uint64_t)got }, &fd, &err);
		close(got);
		tracee_release(t);
	}
	assert_int_equal(tracee_check(c.pid, &(struct err){ 0 }), 0);
	status = child_end(&c);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void *short_life(void *arg)
{
	own->rounds++;
	return NULL;
}

static void *spawner(void *arg)
{
	own->ready++;
	while (!own->stop) {
		pthread_t threads[8];

		for (int i = 0; i < 8; i++)
			if (pthread_create(&threads[i], NULL, short_life, NULL) != 0)
				abort();
		for (int i = 0; i < 8; i++)
			if (pthread_join(threads[i], NULL) != 0)
				own->bad++;
	}
	return NULL;
}

static void *chain(void *arg)
{
	own->counts[0]++;
	if (!own->stop)
		start_thread(chain, NULL);
	else
		own->counts[1]++;
	return NULL;
}

static void breeding(struct report *rep)
{
	own = rep;
	start_thread(spawner, NULL);
	start_thread(spawner, NULL);
	start_thread(chain, NULL);
	while (!rep->stop)
		usleep(1000);
	while (rep->counts[1] < 1)
		usleep(1000);
}

static void threads_are_born_and_end(void **state)
{
	struct child c = child_start(breeding, 2);

	for (int i = 0; i < CYCLES; i++) {
		struct tracee *t = hold(c.pid);
		uint64_t rounds = c.report->rounds, links = c.report->counts[0];
		struct err err;
		int64_t result;

		if (i % 2)
			assert_int_equal(tracee_syscall(t, SYS_getpid, none, &result, &err), 0);
		assert_int_equal(c.report->rounds, rounds);
		assert_int_equal(c.report->counts[0], links);
		tracee_release(t);
		wait_until(c.report->rounds > rounds && c.report->counts[0] > links);
	}
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(child_end(&c), 0);
}

static void hold_and_kill(pid_t pid)
{
	struct tracee *t = hold(pid);

	kill(pid, SIGKILL);
	tracee_release(t);
}

static void kill_and_call(pid_t pid)
{
	struct tracee *t = hold(pid);
	struct err err;
	int64_t result;

	kill(pid, SIGKILL);
	assert_int_equal(tracee_syscall(t, SYS_getpid, none, &result, &err), -EIO);
	assert_false(tracee_alive(t));
	tracee_release(t);
}

static void killed_in_our_hands(void **state)
{
	for (int i = 0; i < 80; i++) {
		struct child c = child_start(spinning, 3);
		int status;

		if (i % 4 > 1)
			apart(i % 2 ? kill_and_call : hold_and_kill, c.pid);
		else
			(i % 2 ? kill_and_call : hold_and_kill)(c.pid);
		assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGKILL);
		munmap(c.report, sizeof(*c.report));
	}
}

static void *ends_process(void *arg)
{
	_exit(3);
}

static void ending(struct report *rep)
{
	rep->ready = 1;
	for (int i = 0; i < 3; i++)
		start_thread(spin, rep);
	start_thread(ends_process, rep);
	for (;;)
		pause();
}

static void hold_until_it_ends(pid_t pid)
{
	struct tracee *t;
	struct err err;
	int r;

	while ((r = tracee_stop(pid, &t, &err)) == 0)
		tracee_release(t);
	if (r != -ESRCH)
		fail_msg("%d: %s", r, err.text);
}

/* Each takes long: the thread that ends it has its turn between two stops. The soak repeats all. */
#define ENDINGS 60

static void ending_while_it_is_stopped(void **state)
{
	for (int i = 0; i < ENDINGS; i++) {
		struct child c = child_start(ending, 0);
		int status;

		if (i % 2)
			apart(hold_until_it_ends, c.pid);
		else
			hold_until_it_ends(c.pid);
		assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
		assert_int_equal(status, 3 << 8);
		munmap(c.report, sizeof(*c.report));
	}
}

/* --- vfork and exec ------------------------------------------------------------------------- */

static void in_vfork(struct report *rep)
{
	if (vfork() == 0) {
		rep->ready = 1;
		while (!rep->stop)
			usleep(1000);
		_exit(0);
	}
	rep->counts[0]++;
}

static void a_vfork_parent_is_named(void **state)
{
	struct child c = child_start(in_vfork, 1);
	struct tracee *t;
	struct err err;

	assert_int_equal(tracee_stop(c.pid, &t, &err), -EBUSY);
	assert_non_null(strstr(err.text, "vfork"));
	assert_int_equal(child_end(&c), 0);
}

static void vforking(struct report *rep)
{
	rep->ready = 1;
	while (!rep->stop) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/bin/true", "true", NULL);
			_exit(9);
		}
		if (waitpid(pid, NULL, 0) != pid)
			rep->bad++;
		rep->rounds++;
	}
}

static void vfork_in_a_loop(void **state)
{
	struct child c = child_start(vforking, 1);

	for (int i = 0; i < CYCLES; i++) {
		uint64_t rounds = c.report->rounds;

		borrow_once(c.pid);
		if (i % 8 == 0)
			wait_until(c.report->rounds > rounds);
	}
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(child_end(&c), 0);
}

static int enough[2]; /* a pipe: written to when it has been executed often enough */

static void *exec_again(void *arg)
{
	char fd[16];

	snprintf(fd, sizeof(fd), "%d", *(int *)arg);
	execl("/proc/self/exe", "edges_test", "exec", fd, NULL);
	_exit(8);
}

/* This program, executed again and again by a thread that is not the main one. */
static int executes(int fd)
{
	static struct report nobody;
	struct pollfd poller = { fd, POLLIN, 0 };

	if (poll(&poller, 1, 0) != 0)
		return 5;
	for (int i = 0; i < 3; i++)
		start_thread(spin, &nobody);
	start_thread(exec_again, &fd);
	for (;;)
		pause();
}

static void executing(struct report *rep)
{
	rep->ready = 1;
	exec_again(&enough[0]);
}

static void hold_often(pid_t pid)
{
	for (int i = 0; i < 100; i++)
		hold_once(pid);
}

static void programs_are_executed_meanwhile(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct child c;
		int status;

		assert_int_equal(pipe(enough), 0);
		c = child_start(executing, 1);
		if (i)
			apart(hold_often, c.pid);
		else
			hold_often(c.pid);
		assert_int_equal(write(enough[1], "x", 1), 1);
		assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
		assert_int_equal(status, 5 << 8);
		munmap(c.report, sizeof(*c.report));
		close(enough[0]);
		close(enough[1]);
	}
}

/* --- steps, breakpoints, masks -------------------------------------------------------------- */

static bool same_mask(void)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, SIGTRAP) == 1 && sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGUSR2) == 0 &&
	       sigismember(&now, SIGSEGV) == 0;
}

static void masked(struct report *rep)
{
	struct sigaction now;
	sigset_t set;

	signal(SIGTRAP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_SETMASK, &set, NULL);
	rep->ready = 1;
	while (!rep->stop) {
		sigaction(SIGTRAP, NULL, &now);
		if (now.sa_handler != SIG_IGN || !same_mask())
			rep->bad++;
		rep->rounds++;
	}
}

static void twice(uint64_t *number)
{
	*number *= 2;
}

static void masks_and_dispositions_stay(void **state)
{
	struct child c = child_start(masked, 1);

	for (int i = 0; i < CYCLES; i++) {
		struct tracee *t = hold(c.pid);
		uint64_t rounds = c.report->rounds, result;
		struct err err;
		int64_t stack;

		assert_int_equal(tracee_syscall(t, SYS_mmap, (uint64_t[6]){ 0, 8192, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0 }, &stack, &err), 0);
		assert_int_equal(tracee_call(t, (uintptr_t)twice, (uint64_t[4]){ (uint64_t)stack }, (uint64_t)stack + 8192,
					     &result, &err), 0);
		for (int n = 0; n < i % 5; n++)
			tracee_let_run(t, (bool[]){ true }, 100000);
		assert_int_equal(tracee_syscall(t, SYS_munmap, (uint64_t[6]){ (uint64_t)stack, 8192 }, &stack, &err), 0);
		tracee_release(t);
		wait_until(c.report->rounds > rounds);
	}
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(child_end(&c), 0);
}

/* Instructions that show a debugger: pushf, a breakpoint of its own, a fault it recovers from. */
static void on_trap(int signal, siginfo_t *info, void *context)
{
	own->counts[1]++;
	if (info->si_code != SI_KERNEL)
		own->bad++;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	own->counts[3]++;
	c->uc_mcontext.gregs[REG_RIP] += 2; /* over mov (%rax), %eax */
}

static void awkward_code(struct report *rep)
{
	struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	own = rep;
	sigaction(SIGTRAP, &trap, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	rep->ready = 1;
	while (!rep->stop) {
		uint64_t flags, before = rep->counts[1], faults = rep->counts[3];

		__asm__ volatile("pushfq; pop %0" : "=r"(flags));
		if (flags & 0x100)
			rep->bad++;
		rep->counts[0]++;
		__asm__ volatile("int3");
		__asm__ volatile("xor %%eax, %%eax; mov (%%rax), %%eax" : : : "rax", "memory");
		if (rep->counts[1] != before + 1 || rep->counts[3] != faults + 1)
			rep->bad++;
		rep->rounds++;
	}
}

static void what_runs_for_a_moment_is_the_programs(void **state)
{
	struct child c = child_start(awkward_code, 1);
	unsigned done = 0;

	for (int i = 0; i < CYCLES; i++) {
		struct tracee *t = hold(c.pid);
		uint64_t rounds = c.report->rounds;

		for (int n = 0; n < 20; n++) {
			uint64_t rip = tracee_regs(t, 0)->rip;

			tracee_let_run(t, (bool[]){ true }, 100000);
			done += tracee_regs(t, 0)->rip != rip;
		}
		tracee_release(t);
		wait_until(c.report->rounds > rounds);
	}
	printf("done %u of %d\n", done, CYCLES); assert_true(done > CYCLES / 2);
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(child_end(&c), 0);
}

static __attribute__((noinline, noreturn)) void elsewhere(void)
{
	_exit(42);
}

static void loops(struct report *rep)
{
	rep->ready = 1;
	for (;;)
		__asm__ volatile("");
}

static void a_thread_goes_on_elsewhere(void **state)
{
	struct child c = child_start(loops, 1);
	struct tracee *t = hold(c.pid);
	uint64_t sp = (tracee_regs(t, 0)->rsp & ~UINT64_C(15)) - 8;
	int64_t result;
	struct err err;
	int status;

	assert_int_not_equal(sp, 0);
	tracee_set_pc(t, 0, (uintptr_t)elsewhere);
	assert_int_equal(tracee_regs(t, 0)->rip, (uintptr_t)elsewhere);
	assert_int_equal(tracee_syscall(t, SYS_getpid, none, &result, &err), 0);
	tracee_release(t);
	status = child_end(&c);
	assert_int_equal(status, 42 << 8);
}

static void endless(void)
{
	for (;;)
		__asm__ volatile("");
}

/* A thread that does not come back is fetched, and the program goes on from where it was. */
static void calls_that_do_not_return(void **state)
{
	struct child c = child_start(masked, 1);
	struct tracee *t = hold(c.pid);
	struct user_regs_struct before = *tracee_regs(t, 0);
	uint64_t rounds, result;
	int64_t stack, r;
	struct err err;

	assert_int_equal(tracee_syscall(t, SYS_pause, none, &r, &err), -EIO);
	assert_non_null(strstr(err.text, "did not come back"));
	assert_int_equal(tracee_syscall(t, SYS_mmap, (uint64_t[6]){ 0, 8192, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0 }, &stack, &err), 0);
	assert_int_equal(tracee_call(t, (uintptr_t)endless, none, (uint64_t)stack + 8192, &result, &err), -EIO);
	assert_int_equal(tracee_syscall(t, SYS_getpid, none, &r, &err), 0);
	assert_int_equal(r, c.pid);
	assert_memory_equal(&before, tracee_regs(t, 0), sizeof(before));
	rounds = c.report->rounds;
	tracee_release(t);
	wait_until(c.report->rounds > rounds);
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(child_end(&c), 0);
}

/* --- memory --------------------------------------------------------------------------------- */

static char *edge; /* a page, and nothing behind it */

static void memory_is_whole_or_not_at_all(void **state)
{
	struct child c;
	struct tracee *t;
	struct err err;
	char bytes[64], text[8];

	edge = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(edge, 'a', 4096);
	munmap(edge + 4096, (1 << 20) - 4096);
	c = child_start(spinning, 3);
	t = hold(c.pid);
	memset(bytes, 'b', sizeof(bytes));
	assert_int_equal(tracee_write(t, (uintptr_t)edge + 4096 - 32, bytes, 64, &err), -EFAULT);
	assert_int_equal(tracee_read(t, (uintptr_t)edge + 4096 - 32, bytes, 64, &err), -EFAULT);
	assert_int_equal(tracee_read(t, (uintptr_t)edge + 4096 - 32, bytes, 32, &err), 0);
	for (int i = 0; i < 32; i++)
		assert_int_equal(bytes[i], 'a');
	assert_int_equal(tracee_read(t, ~UINT64_C(0) - 8, bytes, 64, &err), -EFAULT);
	/* Its code, which it may not write itself. */
	assert_int_equal(tracee_read(t, (uintptr_t)elsewhere, text, 8, &err), 0);
	assert_memory_equal(text, (const void *)elsewhere, 8);
	assert_int_equal(tracee_write(t, (uintptr_t)elsewhere, "\x90\x90\x90", 3, &err), 0);
	assert_int_equal(tracee_read(t, (uintptr_t)elsewhere, bytes, 8, &err), 0);
	assert_memory_equal(bytes, "\x90\x90\x90", 3);
	assert_memory_equal(bytes + 3, text + 3, 5);
	tracee_release(t);
	assert_int_equal(child_end(&c), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_are_neither_lost_nor_doubled),
		cmocka_unit_test(a_signal_while_held_still_ends_the_call),
		cmocka_unit_test(a_stopped_process_stays_stopped),
		cmocka_unit_test(stopped_and_continued_while_held),
		cmocka_unit_test(without_its_main_thread),
		cmocka_unit_test(threads_are_born_and_end),
		cmocka_unit_test(killed_in_our_hands),
		cmocka_unit_test(ending_while_it_is_stopped),
		cmocka_unit_test(a_vfork_parent_is_named),
		cmocka_unit_test(vfork_in_a_loop),
		cmocka_unit_test(programs_are_executed_meanwhile),
		cmocka_unit_test(masks_and_dispositions_stay),
		cmocka_unit_test(what_runs_for_a_moment_is_the_programs),
		cmocka_unit_test(a_thread_goes_on_elsewhere),
		cmocka_unit_test(calls_that_do_not_return),
		cmocka_unit_test(memory_is_whole_or_not_at_all),
	};

	if (argc == 3 && strcmp(argv[1], "exec") == 0)
		return executes(atoi(argv[2]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
