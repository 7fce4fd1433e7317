/* A restartable sequence that is stopped in the middle, and its thread borrowed, begins again:
 * counters of each CPU, added to without a lock by four threads, come out right. */
#include "child.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 4
#define CPUS 64
#define CYCLES 400

/* counter += 1 on this CPU, slowly; false if it was to begin again. */
static bool add_here(struct rseq *area, volatile uint64_t *counters, uint32_t cpu)
{
	volatile uint64_t *counter = counters + cpu;

	__asm__ goto(".pushsection .data.rel, \"aw\"\n"
		     ".balign 32\n"
		     "3: .long 0, 0\n"
		     ".quad 1f, 2f - 1f, 4f\n"
		     ".popsection\n"
		     "lea 3b(%%rip), %%rax\n"
		     "mov %%rax, %[cs]\n"
		     "1: cmp %[cpu], %[cpu_id]\n"
		     "jne %l[again]\n"
		     "mov (%[counter]), %%rcx\n"
		     "mov $2000, %%edx\n"
		     "5: dec %%edx\n"
		     "jnz 5b\n"
		     "inc %%rcx\n"
		     "mov %%rcx, (%[counter])\n"
		     "2: jmp 6f\n"
		     ".byte 0x0f, 0xb9, 0x3d\n" /* with the signature an instruction, for disassemblers */
		     ".long %c[signature]\n"
		     "4: jmp %l[again]\n"
		     "6:\n"
		     :
		     : [cs] "m"(area->rseq_cs), [cpu_id] "m"(area->cpu_id), [cpu] "r"(cpu), [counter] "r"(counter),
		       [signature] "i"(RSEQ_SIG)
		     : "rax", "rcx", "rdx", "memory", "cc"
		     : again);
	return true;
again:
	return false;
}

static void *adder(void *arg)
{
	struct report *rep = arg;
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	uint64_t done = 0;

	rep->ready++;
	while (!rep->stop)
		done += add_here(area, (volatile uint64_t *)rep->counts, *(volatile uint32_t *)&area->cpu_id_start);
	rep->rounds += done;
	return NULL;
}

static void adding(struct report *rep)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, adder, rep);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	rep->ready = 100;
	for (;;)
		pause();
}

static uint64_t sum(const struct report *rep)
{
	uint64_t all = 0;

	for (int i = 0; i < CPUS; i++)
		all += rep->counts[i];
	return all;
}

static void sequences_begin_again(void **state)
{
	const uint64_t none[6] = { 0 };
	struct child c;

	if (__rseq_size == 0 || sysconf(_SC_NPROCESSORS_CONF) > CPUS)
		skip();
	c = child_start(adding, THREADS);
	for (int i = 0; i < CYCLES; i++) {
		uint64_t before = sum(c.report);
		struct tracee *t;
		struct err err;
		int64_t result;

		assert_int_equal(tracee_stop(c.pid, &t, &err), 0);
		if (i % 4)
			assert_int_equal(tracee_syscall(t, SYS_getpid, none, &result, &err), 0);
		tracee_release(t);
		wait_until(sum(c.report) > before);
	}
	c.report->stop = 1;
	child_wait_ready(&c, 100);
	assert_int_equal(sum(c.report), c.report->rounds);
	child_kill(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences_begin_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
