/* SPDX-License-Identifier: MIT Threads that are renamed at known points: each calls as_NAME while
 * it bears NAME, and stops running now and then. They rename themselves; `other`: then one is
 * renamed by another, and calls again when a line comes in. `spin N`: N renames of one thread, a
 * call behind each. `later`: the first thread renames itself after a line, and calls again after a
 * second one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define CALLS 40

static volatile long work;
static pthread_barrier_t met;

#define NAME(name) NOINLINE void as_##name(void) { work++; __asm__ volatile("nop; nop; nop; nop; nop" : : : "memory"); }
NAME(renames) NAME(second) NAME(third) NAME(worker) NAME(idle) NAME(mine) NAME(given) NAME(child) NAME(odd) NAME(even)

static void stop(void)
{
	const struct timespec moment = { .tv_nsec = 200000 };

	nanosleep(&moment, NULL);
}

static void call(void (*f)(void))
{
	for (int i = 0; i < CALLS; i++) {
		f();
		if (i % 10 == 5)
			stop();
	}
}

static void become(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}

static void *works(void *arg)
{
	call(as_renames);
	become("worker");
	call(as_worker);
	become("idle");
	call(as_idle);
	return NULL;
}

static void *is_named(void *arg)
{
	become("mine");
	call(as_mine);
	pthread_barrier_wait(&met);
	pthread_barrier_wait(&met);
	call(as_given);
	if (arg) {
		getchar();
		call(as_given);
	}
	return NULL;
}

static void fork_one(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		call(as_third);
		become("child");
		call(as_child);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void spin(long n)
{
	for (long i = 0; i < n; i++) {
		become(i % 2 ? "odd" : "even");
		(i % 2 ? as_odd : as_even)();
	}
}

static void rename_later(void)
{
	puts("ready");
	fflush(stdout);
	getchar();
	become("second");
	call(as_second);
	getchar();
	call(as_second);
}

int main(int argc, char **argv)
{
	int other = argc > 1 && !strcmp(argv[1], "other");
	pthread_t a, b;

	if (argc > 2) {
		spin(atol(argv[2]));
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "later")) {
		rename_later();
		return 0;
	}
	pthread_barrier_init(&met, NULL, 2);
	call(as_renames);
	pthread_create(&a, NULL, works, NULL);
	pthread_join(a, NULL);
	become("second");
	call(as_second);
	prctl(PR_SET_NAME, "third");
	call(as_third);
	fork_one();
	pthread_create(&b, NULL, is_named, other ? argv : NULL);
	pthread_barrier_wait(&met);
	pthread_setname_np(b, "given");
	pthread_barrier_wait(&met);
	pthread_join(b, NULL);
	return 0;
}
