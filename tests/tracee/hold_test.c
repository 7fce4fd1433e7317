/* Holding and letting go: the program must not notice. Each case is a program that would. */
#include "child.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 20
#define CYCLES 100

/* --- threads that compute ------------------------------------------------------------------- */

static uint64_t checksum(uint64_t seed)
{
	double x = (double)(seed % 97) + 1.5;
	uint64_t h = seed;

	for (unsigned i = 0; i < 20000; i++) {
		h = (h ^ (h >> 29)) * UINT64_C(0x9e3779b97f4a7c15) + i;
		x = x * 1.0000001 + (double)(h & 3);
	}
	return h ^ (uint64_t)x;
}

static void *compute(void *arg)
{
	struct report *rep = arg;
	uint64_t want = checksum(12345);

	rep->ready++;
	while (!rep->stop) {
		if (checksum(12345) != want)
			rep->bad++;
		rep->rounds++;
	}
	return NULL;
}

static void run_threads(struct report *rep, void *(*body)(void *), unsigned n)
{
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, body, rep);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void computing(struct report *rep)
{
	run_threads(rep, compute, THREADS);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void threads_compute_the_same(void **state)
{
	struct child c = child_start(computing, THREADS);
	uint64_t pauses[CYCLES], before = c.report->rounds;

	for (int i = 0; i < CYCLES; i++)
		pauses[i] = hold_once(c.pid);
	wait_until(c.report->rounds > before + THREADS);
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(child_end(&c), 0);
	qsort(pauses, CYCLES, sizeof(pauses[0]), compare);
	print_message("pause of %d threads: median %llu us, 99%% %llu us, longest %llu us\n", THREADS + 1,
		      (unsigned long long)pauses[CYCLES / 2] / 1000, (unsigned long long)pauses[CYCLES * 99 / 100] / 1000,
		      (unsigned long long)pauses[CYCLES - 1] / 1000);
}

static void threads_stand_while_held(void **state)
{
	struct child c = child_start(computing, THREADS);

	for (int i = 0; i < 20; i++) {
		struct tracee *t;
		struct err err;
		uint64_t rounds;

		assert_int_equal(tracee_stop(c.pid, &t, &err), 0);
		assert_int_equal(tracee_threads(t), THREADS + 1);
		rounds = c.report->rounds;
		usleep(2000);
		assert_int_equal(c.report->rounds, rounds);
		tracee_release(t);
		wait_until(c.report->rounds > rounds);
	}
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(child_end(&c), 0);
}

/* --- calls made in its name ----------------------------------------------------------------- */

static uint64_t sum(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return a + 10 * b + 100 * c + 1000 * d;
}

static uint64_t crash(uint64_t address)
{
	return *(volatile uint64_t *)(uintptr_t)address;
}

static uint64_t asks(void)
{
	return (uint64_t)syscall(SYS_getppid) + (uint64_t)syscall(SYS_gettid);
}

static void system_calls_are_the_processs(void **state)
{
	struct child c = child_start(computing, THREADS);
	const uint64_t none[6] = { 0 };
	struct tracee *t;
	struct err err;
	int64_t result;

	for (int i = 0; i < CYCLES; i++) {
		assert_int_equal(tracee_stop(c.pid, &t, &err), 0);
		assert_int_equal(tracee_syscall(t, SYS_getpid, none, &result, &err), 0);
		assert_int_equal(result, c.pid);
		assert_int_equal(tracee_syscall(t, SYS_close, (uint64_t[6]){ 999 }, &result, &err), 0);
		assert_int_equal(result, -EBADF);
		tracee_release(t);
	}
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(child_end(&c), 0);
}

static void functions_are_called(void **state)
{
	struct child c = child_start(computing, THREADS);
	const uint64_t args[4] = { 1, 2, 3, 4 };
	struct tracee *t;
	struct err err;
	int64_t stack;
	uint64_t result;

	for (int i = 0; i < CYCLES; i++) {
		assert_int_equal(tracee_stop(c.pid, &t, &err), 0);
		assert_int_equal(tracee_syscall(t, SYS_mmap, (uint64_t[6]){ 0, 65536, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0 }, &stack, &err), 0);
		assert_int_equal(tracee_call(t, (uintptr_t)sum, args, (uint64_t)stack + 65536, &result, &err), 0);
		assert_int_equal(result, 4321);
		assert_int_equal(tracee_call(t, (uintptr_t)asks, args, (uint64_t)stack + 65536, &result, &err), 0);
		assert_in_range(result, getpid() + c.pid, getpid() + c.pid + THREADS);
		assert_int_equal(tracee_call(t, (uintptr_t)checksum, args, (uint64_t)stack + 65536, &result, &err), 0);
		assert_int_equal(result, checksum(1));
		assert_int_equal(tracee_call(t, (uintptr_t)crash, args, (uint64_t)stack + 65536, &result, &err), -EIO);
		assert_non_null(strstr(err.text, "SEGV"));
		assert_int_equal(tracee_syscall(t, SYS_munmap, (uint64_t[6]){ (uint64_t)stack, 65536 }, &stack, &err), 0);
		assert_int_equal(stack, 0);
		tracee_release(t);
	}
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(child_end(&c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_compute_the_same),
		cmocka_unit_test(threads_stand_while_held),
		cmocka_unit_test(system_calls_are_the_processs),
		cmocka_unit_test(functions_are_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
