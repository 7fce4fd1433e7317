/* steady THREADS: computes, until SIGTERM, what it knows the result of, in plain C so that it can
 * be linked with any libc: recursion, longjmp, a timer's signals, threads that sleep. Prints its
 * threads' number when all run, at the end "right" or what was wrong. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TRACED __attribute__((noinline, used))

static volatile sig_atomic_t ending, ticks;
static unsigned long rounds;

static void wrong(const char *what)
{
	fprintf(stderr, "wrong: %s\n", what);
	_exit(99);
}

TRACED unsigned long steady_step(unsigned long x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 6364136223846793005ul + 1442695040888963407ul;
}

TRACED unsigned long steady_depth(unsigned long n)
{
	return n ? steady_depth(n - 1) + 1 : 0;
}

TRACED double steady_float(double a, double b, double c)
{
	return a * b + c;
}

TRACED void steady_jump(jmp_buf env, int n)
{
	if (!n)
		longjmp(env, 7);
	steady_jump(env, n - 1);
	__asm__ volatile("");
}

TRACED int steady_jumps(int n)
{
	jmp_buf env;
	int r = setjmp(env);

	if (!r)
		steady_jump(env, n);
	return r;
}

TRACED static void steady_round(void)
{
	unsigned long x = 1;
	double f = 0;

	for (int i = 0; i < 1000; i++)
		x = steady_step(x);
	for (int i = 0; i < 100; i++)
		f = steady_float(f, 1.0, 3.0);
	if (x != 0xf517ff66df0cbea9ul || f != 300.0 || steady_depth(100) != 100 || steady_jumps(9) != 7)
		wrong("round");
	__atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
}

TRACED static void *work(void *arg)
{
	while (!ending)
		steady_round();
	return arg;
}

TRACED static void *nap(void *arg)
{
	while (!ending) {
		struct timespec left = { 0, 10000000 };

		while (nanosleep(&left, &left) < 0)
			if (errno != EINTR)
				wrong("nanosleep");
	}
	return arg;
}

static void end(int signal) { ending = 1; }
static void tick(int signal) { ticks++; }

int main(int argc, char **argv)
{
	const struct itimerval every = { { 0, 3000 }, { 0, 3000 } };
	int n = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t threads[64];

	signal(SIGTERM, end);
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < n && i < 64; i++)
		pthread_create(&threads[i], NULL, i % 2 ? nap : work, NULL);
	printf("%d threads\n", n);
	fflush(stdout);
	while (!ending)
		steady_round();
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(threads[i], NULL);
	if (!ticks)
		wrong("timer");
	printf("right\n");
	return rounds ? 0 : 98;
}
