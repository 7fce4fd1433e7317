/* Binds itself by seccomp in the way its argument says, and goes on computing. Filters that let
 * through only what a sandbox of four calls needs must not kill it for what a tracer does in its
 * name.
 * The only function to be traced is step(): its count is known whatever is lost. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

#define ROUNDS 30000
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(number, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, yes, no)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

static unsigned long steps;

TRACED static unsigned step(unsigned n)
{
	BARRIER();
	return n * 1103515245u + 12345u;
}

/* One place calls step(), before a filter and after. */
TRACED static unsigned work(unsigned n)
{
	for (int i = 0; i < ROUNDS; i++)
		n = step(n);
	steps += ROUNDS;
	return n;
}

/* Without libc's buffers: only write and exit are sure to be allowed. */
static void say(const char *what, unsigned n)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%s %u\n", what, n);

	if (write(1, line, (size_t)length) != length)
		_exit(98);
}

static int by_seccomp(unsigned flags, struct sock_filter *filter, size_t n)
{
	struct sock_fprog program = { (unsigned short)n, filter };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int by_prctl(struct sock_filter *filter, size_t n)
{
	struct sock_fprog program = { (unsigned short)n, filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static struct sock_filter four_calls[] = {
	LOAD(nr), IF(SYS_write, 4, 0), IF(SYS_read, 3, 0), IF(SYS_exit_group, 2, 0), IF(SYS_rt_sigreturn, 1, 0),
	RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW),
};

/* All but one, or but those that make code. */
static int forbid(int number, unsigned flags)
{
	struct sock_filter one[] = {
		LOAD(nr), IF((unsigned)number, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW),
	};

	return by_seccomp(flags, one, LENGTH(one));
}

/* As systemd's MemoryDenyWriteExecute does: mprotect with PROT_EXEC. */
static int forbid_exec_pages(void)
{
	struct sock_filter args[] = {
		LOAD(nr), IF(SYS_mprotect, 0, 3), LOAD(args[2]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1),
		RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW),
	};

	return by_seccomp(0, args, LENGTH(args));
}

static void strict(void)
{
	say("strict", (unsigned)prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
}

static void prctl_four(void) { say("prctl", (unsigned)by_prctl(four_calls, LENGTH(four_calls))); }
static void seccomp_four(void) { say("seccomp", (unsigned)by_seccomp(0, four_calls, LENGTH(four_calls))); }
static void twice(void)
{
	say("first", (unsigned)forbid(SYS_mprotect, 0));
	say("second", (unsigned)by_seccomp(0, four_calls, LENGTH(four_calls)));
}
static void no_pages(void) { say("no exec pages", (unsigned)forbid_exec_pages()); }
static void no_mprotect(void) { say("no mprotect", (unsigned)forbid(SYS_mprotect, 0)); }
static void no_futex(void) { say("no futex", (unsigned)forbid(SYS_futex, 0)); }
static void no_prctl(void) { say("no prctl", (unsigned)forbid(SYS_prctl, 0)); }
static void no_socket(void) { say("no socket", (unsigned)forbid(SYS_socket, 0)); }

static int forbid_copies(long (*install)(struct sock_fprog *))
{
	struct sock_filter one[] = {
		LOAD(nr), IF(SYS_process_vm_readv, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW),
	};

	return (int)install(&(struct sock_fprog){ LENGTH(one), one });
}

/* By the program's own instruction; the number is in a register that is loaded long before. */
static long by_register(long flags, struct sock_fprog *program)
{
	long number = SYS_seccomp, result;

	BARRIER();
	__asm__ volatile("mov %1, %0\n\tnop\n\tnop\n\tsyscall" : "=&a"(result)
			 : "r"(number), "D"(SECCOMP_SET_MODE_FILTER), "S"(flags), "d"(program)
			 : "rcx", "r11", "memory");
	return result;
}

static long without_libc(struct sock_fprog *program) { return by_register(0, program); }
static long all_without_libc(struct sock_fprog *program) { return by_register(SECCOMP_FILTER_FLAG_TSYNC, program); }
static long all_with_libc(struct sock_fprog *program)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program);
}

static long with_libc(struct sock_fprog *program)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
}

/* Calls whose arguments lead to memory, under the filter. */
static void name_files(void)
{
	for (int i = 0; i < 100; i++)
		access("/missing", F_OK);
}

static void no_copies(void)
{
	say("no copies", (unsigned)forbid_copies(without_libc));
	name_files();
}

/* When it is asked to, so that it can be attached to before. */
static void asked(void)
{
	char c;

	require(read(0, &c, 1) == 1, "the question");
	say("asked", (unsigned)forbid_copies(with_libc));
	name_files();
}

/* A call that installs no filter changes nothing. */
static void questions(void)
{
	say("strict with flags", (unsigned)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL));
	say("no filter", (unsigned)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL));
	say("a filter nowhere", (unsigned)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (void *)8));
	say("unknown flags", (unsigned)by_seccomp(1u << 20, four_calls, LENGTH(four_calls)));
	say("no instruction", (unsigned)by_seccomp(0, four_calls, 0));
	say("mode", (unsigned)prctl(PR_GET_SECCOMP));
}

/* A forbidden call that is answered by a signal: the handler goes on. */
static volatile int trapped;
static void on_sys(int sig) { trapped += (int)step(0) != 0; }
static void trap(void)
{
	struct sock_filter one[] = {
		LOAD(nr), IF(SYS_getppid, 0, 1), RETURN(SECCOMP_RET_TRAP), RETURN(SECCOMP_RET_ALLOW),
	};

	signal(SIGSYS, on_sys);
	say("trap", (unsigned)by_seccomp(0, one, LENGTH(one)));
	for (int i = 0; i < 10; i++)
		syscall(SYS_getppid);
	steps += 10;
	say("trapped", (unsigned)trapped);
}

/* As a program without a C library does: the number stands right before the instruction. */
static int by_hand(unsigned flags, struct sock_filter *filter, size_t n)
{
	struct sock_fprog program = { (unsigned short)n, filter };
	long result;

	__asm__ volatile("mov %1, %%eax\n\tsyscall" : "=&a"(result)
			 : "i"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"((long)flags), "d"(&program)
			 : "rcx", "r11", "memory");
	return (int)result;
}

static void hand_four(void) { say("by hand", (unsigned)by_hand(0, four_calls, LENGTH(four_calls))); }

static unsigned running;

static void *hot(void *arg)
{
	unsigned n = 0;

	__atomic_fetch_add(&running, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 20; i++)
		n = work(n);
	__atomic_store_n((unsigned *)arg, n, __ATOMIC_RELEASE);
	for (;;) /* under the filter a thread cannot even end */
		__asm__ volatile("pause");
	return NULL;
}

/* The filter comes over threads that are in the midst of recording. */
static void bind_threads(int (*install)(unsigned flags, struct sock_filter *filter, size_t n))
{
	pthread_t t;
	unsigned n[4] = { 0 };

	for (int i = 0; i < 4; i++)
		require(!pthread_create(&t, NULL, hot, &n[i]), "a thread");
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) < 4)
		work(1);
	say("threads", (unsigned)install(SECCOMP_FILTER_FLAG_TSYNC, four_calls, LENGTH(four_calls)));
	for (int i = 0; i < 4; i++)
		while (!__atomic_load_n(&n[i], __ATOMIC_ACQUIRE))
			work(1);
	say("all", n[0] == n[1] && n[1] == n[2] && n[2] == n[3]);
}

static void threads(void) { bind_threads(by_seccomp); }
static void hand_threads(void) { bind_threads(by_hand); }

static void *naming(void *arg)
{
	name_files();
	__atomic_fetch_add(&running, 1, __ATOMIC_RELEASE);
	for (;;)
		name_files();
	return arg;
}

/* The filter comes over threads whose arguments are being copied. */
static void bind_naming(long (*install)(struct sock_fprog *))
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		require(!pthread_create(&t, NULL, naming, NULL), "a thread");
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) < 4)
		sched_yield();
	say("copies of threads", (unsigned)forbid_copies(install));
	for (int i = 0; i < 20; i++)
		name_files();
}

static void copies_threads(void) { bind_naming(all_with_libc); }
static void copies_hand_threads(void) { bind_naming(all_without_libc); }

static void children(void)
{
	int status;
	pid_t pid;

	no_mprotect();
	pid = fork();
	if (!pid) {
		by_seccomp(0, four_calls, LENGTH(four_calls));
		say("child", work(5));
		_exit(7);
	}
	require(waitpid(pid, &status, 0) == pid, "the child");
	say("its status", (unsigned)status);
}

/* exec under a filter that the next program's agent could not start with. */
static void executes(void)
{
	char *argv[] = { "sh", "-c", "echo executed", NULL };

	no_socket();
	say("steps", work(1));
	execv("/bin/sh", argv);
}

/* Nothing but one call is forbidden, to whom it executes. */
static void without(uint32_t number, char **argv)
{
	struct sock_filter filter[] = {
		LOAD(nr), IF(number, 0, 1), RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW),
	};

	require(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	require(!by_prctl(filter, LENGTH(filter)), "a filter");
	execv(argv[0], argv);
}

static const struct { const char *name; void (*bind)(void); int counted; } ways[] = {
	{ "strict", strict, 0 }, { "prctl", prctl_four, 0 }, { "seccomp", seccomp_four, 0 }, { "twice", twice, 0 },
	{ "no-pages", no_pages, 1 }, { "no-mprotect", no_mprotect, 1 }, { "no-futex", no_futex, 1 },
	{ "no-prctl", no_prctl, 1 }, { "no-socket", no_socket, 1 }, { "questions", questions, 1 },
	{ "by-hand", hand_four, 0 }, { "by-hand-threads", hand_threads, 0 },
	{ "no-copies", no_copies, 1 }, { "asked", asked, 1 },
	{ "copies-threads", copies_threads, 1 }, { "copies-hand-threads", copies_hand_threads, 1 },
	{ "trap", trap, 1 }, { "threads", threads, 0 }, { "children", children, 0 }, { "executes", executes, 0 },
};

/* Waits to be attached to, changed or left; an end is an answer, too. */
static void wait_for_word(const char *what)
{
	char c;

	say(what, 0);
	require(read(0, &c, 1) >= 0, "the word");
}

int main(int argc, char **argv)
{
	unsigned n = work(42), i = 0;
	int waits = argc > 2 && !strcmp(argv[2], "waits");

	if (argc > 2 && !strcmp(argv[1], "no-ptrace"))
		without(SYS_ptrace, argv + 2);
	if (argc > 2 && !strcmp(argv[1], "no-perf"))
		without(SYS_perf_event_open, argv + 2);
	while (i < LENGTH(ways) && strcmp(ways[i].name, argc > 1 ? argv[1] : ""))
		i++;
	require(i < LENGTH(ways), "the argument");
	require(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	if (waits) {
		wait_for_word("ready");
		n = work(n);
	}
	ways[i].bind();
	n = work(n);
	say("result", n);
	if (waits) {
		wait_for_word("bound");
		say("after", work(n));
	}
	if (ways[i].counted)
		truth("step", steps);
	if (!strcmp(ways[i].name, "strict"))
		syscall(SYS_exit, 0);
	_exit(0);
}
