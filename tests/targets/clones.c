/* Threads that no library started: the system call clone, by hand, in the way its argument says.
 * Parent and child compute at once. `shared`: the child has its parent's thread pointer; `zero`:
 * none; `own`: one of its own, with nothing behind it that anybody set up; `process`: a process of
 * its own in the same memory; `libc`: the same by libc's function; `vfork`: the parent waits;
 * `storm`: many, of all kinds; `beside`: while threads of the library's compute, which have begun
 * before; `none`: no such thread at all, though the program could make one. */
#include <asm/unistd.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "truth.h"

enum { STEPS = 50000, STACK = 65536, STORM = 300 };
#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID)

struct child {
	uint32_t tid;       /* 0 when it has ended */
	int steps;
	unsigned result;
	uint64_t tls[512];  /* its thread pointer leads into the middle, the first word of which is its own address */
	char *stack;
};

TRACED static unsigned step(unsigned n)
{
	BARRIER();
	return n * 1103515245u + 12345u;
}

TRACED static unsigned work(int steps)
{
	unsigned n = 1;

	for (int i = 0; i < steps; i++)
		n = step(n);
	return n;
}

TRACED static int run(void *arg)
{
	struct child *c = arg;

	c->result = work(c->steps);
	return 0;
}

static long raw(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return result;
}

/* The child goes on at the top of its own stack, where its argument stands, and never returns. */
static long clone_by_hand(unsigned long flags, struct child *c, void *tls)
{
	register void *r10 __asm__("r10") = &c->tid;
	register void *r8 __asm__("r8") = tls;
	void **top = (void **)(c->stack + STACK) - 2;
	long result;

	top[0] = c;
	__asm__ volatile("syscall; test %%rax, %%rax; jnz 1f; xor %%ebp, %%ebp; pop %%rdi; add $8, %%rsp; call *%[run];"
			 "xor %%edi, %%edi; mov %[exit], %%eax; syscall; hlt; 1:"
			 : "=a"(result)
			 : "a"(__NR_clone), "D"(flags), "S"(top), "d"(&c->tid), "r"(r10), "r"(r8), [run] "r"(run), [exit] "i"(__NR_exit)
			 : "rcx", "r11", "memory");
	return result;
}

static struct child *begin(int steps)
{
	struct child *c = calloc(1, sizeof(*c));

	c->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c->tid = 1;
	c->steps = steps;
	return c;
}

static unsigned end(struct child *c)
{
	unsigned result;
	uint32_t tid;

	while ((tid = __atomic_load_n(&c->tid, __ATOMIC_ACQUIRE)))
		raw(__NR_futex, (long)&c->tid, FUTEX_WAIT, tid, 0);
	result = c->result;
	munmap(c->stack, STACK);
	free(c);
	return result;
}

static unsigned waited(long pid, struct child *c)
{
	int status = -1;

	require(pid > 0, "clone");
	require(waitpid((pid_t)pid, &status, __WALL) == pid && status == 0, "the child's end");
	c->tid = 0;
	return end(c);
}

static unsigned thread(unsigned long flags, int has_tls, int steps)
{
	struct child *c = begin(steps);
	unsigned mine;

	c->tls[256] = (uint64_t)&c->tls[256];
	require(clone_by_hand(THREAD | flags, c, has_tls ? &c->tls[256] : NULL) > 0, "clone");
	mine = work(steps);
	return mine ^ (end(c) << 1);
}

static unsigned shared(int steps) { return thread(CLONE_PARENT_SETTID, 0, steps); }
static unsigned zero(int steps) { return thread(CLONE_SETTLS, 0, steps); }
static unsigned own(int steps) { return thread(CLONE_SETTLS, 1, steps); }

static unsigned process(int steps)
{
	struct child *c = begin(steps);
	long pid = clone_by_hand(CLONE_VM | CLONE_FILES | SIGCHLD, c, NULL);
	unsigned mine = work(steps);

	return mine ^ (waited(pid, c) << 1);
}

static unsigned vfork_way(int steps)
{
	struct child *c = begin(steps);
	long pid = clone_by_hand(CLONE_VM | CLONE_VFORK | SIGCHLD, c, NULL);
	unsigned mine = work(steps);

	return mine ^ (waited(pid, c) << 1);
}

static unsigned libc(int steps)
{
	struct child *c = begin(steps);
	long pid = clone(run, c->stack + STACK, CLONE_VM | CLONE_FILES | SIGCHLD, c);
	unsigned mine = work(steps);

	return mine ^ (waited(pid, c) << 1);
}

static unsigned storm(int steps)
{
	unsigned sum = 0;

	for (int i = 0; i < STORM; i += 6)
		sum = sum * 31 + shared(steps / STORM) + zero(steps / STORM) + own(steps / STORM) + process(steps / STORM) +
		       vfork_way(steps / STORM) + libc(steps / STORM);
	return sum;
}

static unsigned none(int steps)
{
	return work(steps) ^ (work(steps) << 1);
}

enum { BESIDE = 4 };
static uint32_t working;

static void *work_beside(void *arg)
{
	unsigned first = work(STEPS / 2);

	__atomic_fetch_add(&working, 1, __ATOMIC_SEQ_CST);
	*(unsigned *)arg = first ^ work(STEPS);
	return arg;
}

static unsigned beside(int steps)
{
	pthread_t threads[BESIDE];
	unsigned results[BESIDE], sum = 0;

	for (int i = 0; i < BESIDE; i++)
		require(pthread_create(&threads[i], NULL, work_beside, &results[i]) == 0, "pthread_create");
	while (__atomic_load_n(&working, __ATOMIC_SEQ_CST) < BESIDE)
		raw(__NR_sched_yield, 0, 0, 0, 0);
	sum = shared(steps) + zero(steps);
	for (int i = 0; i < BESIDE; i++) {
		require(pthread_join(threads[i], NULL) == 0, "pthread_join");
		sum = sum * 31 + results[i];
	}
	return sum;
}

static const struct { const char *name; unsigned (*way)(int); unsigned steps, runs; } ways[] = {
	{ "shared", shared, 2 * STEPS, 1 }, { "zero", zero, 2 * STEPS, 1 }, { "own", own, 2 * STEPS, 1 },
	{ "process", process, 2 * STEPS, 1 }, { "vfork", vfork_way, 2 * STEPS, 1 }, { "libc", libc, 2 * STEPS, 1 },
	{ "storm", storm, 2 * STORM * (STEPS / STORM), STORM }, { "none", none, 2 * STEPS, 0 },
	{ "beside", beside, 4 * STEPS + BESIDE * (STEPS / 2 + STEPS), 2 },
};

int main(int argc, char **argv)
{
	unsigned i = 0;

	while (i < sizeof(ways) / sizeof(*ways) && strcmp(ways[i].name, argc > 1 ? argv[1] : ""))
		i++;
	require(i < sizeof(ways) / sizeof(*ways), "the argument");
	printf("%s %x\n", ways[i].name, ways[i].way(STEPS));
	truth("step", ways[i].steps);
	truth("run", ways[i].runs);
	return 0;
}
