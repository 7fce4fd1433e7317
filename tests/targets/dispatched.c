/* Dispatches system calls itself (PR_SET_SYSCALL_USER_DISPATCH), as Wine does for code that makes
 * Windows' calls: a selector says whether calls go to the kernel, one range of addresses may make
 * them in any case, and the handler of SIGSYS answers all others. It prints what its handler saw:
 * that must be the same when a tracer's code lies beside its own. */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "truth.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define ON 1
#define OFF 0
#define ROUNDS 30000

struct range { uint64_t start, bytes; };

static __thread volatile char selector; /* 1: calls are dispatched */
static unsigned long steps, dispatched, wrong;

TRACED static unsigned step(unsigned n)
{
	BARRIER();
	return n * 1103515245u + 12345u;
}

TRACED static unsigned work(unsigned n)
{
	for (int i = 0; i < ROUNDS; i++)
		n = step(n);
	__atomic_fetch_add(&steps, ROUNDS, __ATOMIC_RELAXED);
	return n;
}

/* A place that has not called step() before. */
TRACED static unsigned elsewhere(unsigned n)
{
	__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
	return step(n) + 1;
}

/* The only calls that the narrow range allows: a handler's return, and one by hand. */
__asm__(".text\nallowed:\n\tmov $15, %eax\nreturns:\n\tsyscall\nallowed_end:\n"
	"own_call:\n\tmov %rdi, %rax\n\tsyscall\n\tret\n");
extern const uint8_t allowed[], allowed_end[];
long own_call(long number);

/* Answers as no kernel does. */
static void on_sys(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	__atomic_fetch_add(&dispatched, 1, __ATOMIC_RELAXED);
	if (info->si_syscall != SYS_getppid)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	elsewhere(1);
	c->uc_mcontext.gregs[REG_RAX] = info->si_syscall * 1000 + 7;
}

/* libc's own restorer would return from outside of the narrow range. */
static void handle(void)
{
	struct { void *handler; unsigned long flags; const void *restorer; uint64_t mask; } act = {
		(void *)on_sys, SA_SIGINFO | 0x04000000 /* SA_RESTORER */, allowed, 0,
	};

	require(!syscall(SYS_rt_sigaction, SIGSYS, &act, NULL, 8), "the handler");
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *to)
{
	struct range *r = to;

	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			*r = (struct range){ info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, info->dlpi_phdr[i].p_memsz };
	return 1;
}

static int set(int mode, struct range r)
{
	return prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, r.start, r.bytes, mode == ON ? &selector : NULL);
}

/* The kernel looks behind the instruction. */
static struct range narrow(void)
{
	return (struct range){ (uint64_t)allowed, (uint64_t)(allowed_end - allowed) + 1 };
}

/* Returns how often the handler answered, or -1: something else did. */
static int make_calls(int by_libc, int by_hand)
{
	unsigned long before = dispatched;
	long pid;

	selector = 1;
	for (int i = 0; i < by_libc; i++) {
		pid = syscall(SYS_getppid);
		work((unsigned)pid);
	}
	for (int i = 0; i < by_hand; i++)
		if (own_call(SYS_getppid) != SYS_getppid * 1000 + 7)
			wrong++;
	selector = 0;
	return wrong ? -1 : (int)(dispatched - before);
}

/* All calls but a handler's return are dispatched. */
static void all(void)
{
	require(!set(ON, narrow()), "the dispatch");
	printf("dispatched %d\n", make_calls(3, 5));
	require(!set(OFF, (struct range){ 0 }), "its end");
}

/* The calls that libc makes are not. */
static void but_libc(void)
{
	struct range libc = { 0 };
	unsigned long before = dispatched;
	struct rlimit limit;
	int r;

	dl_iterate_phdr(find_libc, &libc);
	require(libc.bytes > 0, "libc");
	struct sigaction act = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
	require(!sigaction(SIGSYS, &act, NULL), "the handler"); /* its restorer is libc's */
	require(!set(ON, libc), "the dispatch");
	printf("dispatched %d\n", make_calls(3, 5));
	selector = 1;
	r = prctl(PR_GET_DUMPABLE); /* led through the agent as long as there is no dispatch */
	if (setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1) || prlimit(0, RLIMIT_NOFILE, NULL, &limit) || syscall(SYS_getppid) != getppid() || fork() == 0)
		_exit(3);
	selector = 0;
	require(wait(&(int){ 0 }) > 0, "a child");
	printf("dumpable %d, dispatched %lu\n", r, dispatched - before);
	errno = 0;
	r = (int)syscall(SYS_close, -1); /* errors come as they do */
	printf("close %d %d\n", r, errno);
	if (vfork() == 0)
		_exit(0);
	require(system("echo executed") == 0, "a program");
	require(!set(OFF, (struct range){ 0 }), "its end");
}

static void *thread(void *to)
{
	require(!set(ON, narrow()), "the dispatch of a thread");
	*(int *)to = make_calls(0, 5);
	require(!set(OFF, (struct range){ 0 }), "its end");
	return NULL;
}

static void threads(void)
{
	pthread_t t[3];
	int n[3];

	for (int i = 0; i < 3; i++)
		require(!pthread_create(&t[i], NULL, thread, &n[i]), "a thread");
	work(1);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("dispatched %lu, wrong %lu\n", dispatched, wrong);
}

/* On from now on. */
static void stays_on(void)
{
	require(!set(ON, narrow()), "the dispatch");
	printf("dispatched %d\n", make_calls(0, 5));
}

/* The kernel refuses: nothing has changed. */
static void refused(void)
{
	printf("refused %d\n", set(ON, (struct range){ 1, 0 }));
}

static const struct { const char *name; void (*go)(void); int counted; } ways[] = {
	{ "all", all, 0 }, { "but-libc", but_libc, 0 }, { "threads", threads, 0 }, { "refused", refused, 1 },
	{ "stays-on", stays_on, 0 },
};

static void wait_for_word(const char *what)
{
	char c;

	printf("%s 0\n", what);
	fflush(stdout);
	require(read(0, &c, 1) >= 0, "the word");
}

int main(int argc, char **argv)
{
	unsigned i = 0, n = work(42);
	int waits = argc > 2 && !strcmp(argv[2], "waits");

	while (i < sizeof(ways) / sizeof(*ways) && strcmp(ways[i].name, argc > 1 ? argv[1] : ""))
		i++;
	require(i < sizeof(ways) / sizeof(*ways), "the argument");
	handle();
	if (waits)
		wait_for_word("ready");
	ways[i].go();
	n = work(n);
	printf("result %u\n", n);
	if (waits) {
		wait_for_word("bound");
		printf("after %u\n", work(n));
	}
	if (ways[i].counted)
		truth("step", steps);
	return 0;
}
