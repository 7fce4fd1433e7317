/* A thread that begins when the process may map nothing more: the limit comes by the instruction,
 * of which brace is not told. Its calls of step() are as many as the argument says. A second
 * argument is the depth of down(), in a thread with memory for that. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static char stack[1 << 18] __attribute__((aligned(4096)));
static volatile unsigned long sum;

__attribute__((noinline)) void step(unsigned long i)
{
	sum += i;
	__asm__ volatile("" ::: "memory");
}

static long limit_space(const struct rlimit *limit)
{
	register const struct rlimit *old __asm__("r10") = NULL;
	long r = SYS_prlimit64;

	__asm__ volatile("syscall" : "+a"(r) : "D"(0L), "S"((long)RLIMIT_AS), "d"(limit), "r"(old) : "rcx", "r11", "memory");
	return r;
}

static void *worker(void *arg)
{
	for (unsigned long i = 0, n = *(unsigned long *)arg; i < n; i++)
		step(i);
	return NULL;
}

/* Frames of 32 bytes or so. */
__attribute__((noinline)) void down(unsigned long left)
{
	if (left > 1)
		down(left - 1);
	__asm__ volatile("" ::: "memory");
}

static void *diver(void *arg)
{
	down(*(unsigned long *)arg);
	return NULL;
}

static void dive(unsigned long depth)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, depth * 128 + (1 << 20)) || pthread_create(&thread, &attr, diver, &depth))
		exit(1);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	struct rlimit limit = { 1 << 20, 1 << 20 };
	pthread_attr_t attr;
	pthread_t thread;

	if (argc > 2)
		dive(strtoul(argv[2], NULL, 10));
	step(0);
	printf("%lu\n", n);
	fflush(stdout); /* the buffers of stdio and the heap are there */
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, sizeof(stack));
	if (limit_space(&limit) || pthread_create(&thread, &attr, worker, &n))
		return 1;
	pthread_join(thread, NULL);
	return sum == n * (n - 1) / 2 ? 0 : 2;
}
