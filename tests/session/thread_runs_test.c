/* Records that come by CPU become runs of threads: in order, at the right CPU and time, and every
 * record that was made is in a run or in the losses of one. The runs are read by the reader of all
 * records (trace/unpack.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/thread_runs.h"
#include "trace/unpack.h"

#define BASE (UINT64_C(1) << 45)
#define FIRST_SLOT (1u << 26)
enum { EVENT = 3, THREADS = 4 };

static void add(struct thread_runs *r, uint32_t thread, uint64_t at, uint16_t cpu)
{
	const uint64_t payload[2] = { at, cpu };

	thread_runs_add(r, &(struct cpu_record){
		.tsc = BASE + at, .thread = thread, .type = RECORD_EVENT_TRACE + EVENT, .cpu = cpu, .payload = payload, .n = 2 });
}

/* The records of each thread: "AT@CPU " for each record, "-N " for N lost before. */
struct seen {
	char text[THREADS][4096];
	uint64_t position[THREADS];
	size_t runs, records;
	uint64_t lost;
};

static void say(struct seen *s, uint32_t thread, const char *format, ...)
{
	size_t n = strlen(s->text[thread]);
	va_list args;

	va_start(args, format);
	vsnprintf(s->text[thread] + n, sizeof(s->text[thread]) - n, format, args);
	va_end(args);
}

static int take(void *context, const struct drain_run *run, struct err *err)
{
	struct seen *s = context;
	uint32_t thread = run->slot - FIRST_SLOT;
	struct unpack u = { .at = run->words, .end = run->n ? run->words + run->n : run->words, .tsc = run->near_tsc, .cpu = run->cpu };
	struct event e;
	uint64_t records = 0;

	assert_in_range(thread, 0, THREADS - 1);
	assert_int_equal(run->position, s->position[thread]);
	if (run->lost)
		say(s, thread, "-%d ", (int)run->lost);
	while (unpack_next(&u, &e)) {
		/* The payload says where and when the record was made. */
		assert_int_equal(e.kind, EVENT_TRACE);
		assert_int_equal(e.count, 16);
		assert_int_equal(e.payload[1], e.cpu);
		say(s, thread, "%ld@%d ", (long)(e.tsc - BASE), e.cpu);
		records++;
	}
	assert_int_equal(records, run->records);
	s->position[thread] += run->records + run->lost;
	s->runs++;
	s->records += run->records;
	s->lost += run->lost;
	return 0;
}

static void pass(struct thread_runs *r, struct seen *s)
{
	thread_run_list runs;
	struct err err;

	thread_runs_take(r, FIRST_SLOT, &runs);
	assert_int_equal(thread_runs_give(&runs, take, s, &err), 0);
}

static void test_moves_between_cpus(void **state)
{
	struct thread_runs r = { 0 };
	struct seen s = { 0 };

	add(&r, 0, 100, 2);
	add(&r, 1, 110, 2);
	add(&r, 0, 120, 2);
	add(&r, 0, 130, 5);
	add(&r, 1, 140, 2);
	pass(&r, &s);
	assert_int_equal(s.runs, 2);
	add(&r, 0, 150, 5);
	add(&r, 0, 160, 2);
	pass(&r, &s);
	assert_string_equal(s.text[0], "100@2 120@2 130@5 150@5 160@2 ");
	assert_string_equal(s.text[1], "110@2 140@2 ");
	assert_int_equal(s.runs, 3);
	assert_int_equal(thread_runs_first(&r, 0), BASE + 100);
	assert_int_equal(thread_runs_first(&r, 3), 0);
	pass(&r, &s);
	assert_int_equal(s.runs, 3);
	thread_runs_free(&r);
}

static void test_times_never_go_back(void **state)
{
	struct thread_runs r = { 0 };
	struct seen s = { 0 };

	add(&r, 0, 200, 0);
	add(&r, 0, 150, 0);
	add(&r, 1, 150, 0);
	pass(&r, &s);
	add(&r, 0, 190, 1);
	pass(&r, &s);
	assert_string_equal(s.text[0], "200@0 200@0 200@1 ");
	assert_string_equal(s.text[1], "150@0 ");
	thread_runs_free(&r);
}

/* Runs may wait for hours (PASS_KEEP), and a record has 40 bits of its time. */
static void test_long_silence(void **state)
{
	const uint64_t hours = UINT64_C(1) << 44;
	struct thread_runs r = { 0 };
	struct seen s = { 0 };
	char want[64];

	add(&r, 0, 1, 0);
	add(&r, 0, hours, 1);
	add(&r, 0, hours + 1, 1);
	pass(&r, &s);
	snprintf(want, sizeof(want), "1@0 %ld@1 %ld@1 ", (long)hours, (long)hours + 1);
	assert_string_equal(s.text[0], want);
	thread_runs_free(&r);
}

static void test_losses(void **state)
{
	struct thread_runs r = { 0 };
	struct seen s = { 0 };

	/* Nobody bears them yet. */
	r.lost = 5;
	pass(&r, &s);
	assert_int_equal(s.runs, 0);
	r.lost += 2;
	add(&r, 1, 100, 0);
	add(&r, 2, 110, 0);
	pass(&r, &s);
	assert_string_equal(s.text[1], "-7 100@0 ");
	assert_string_equal(s.text[2], "110@0 ");
	add(&r, 1, 120, 0);
	pass(&r, &s);
	assert_string_equal(s.text[1], "-7 100@0 120@0 ");
	assert_int_equal(r.lost, 0);
	thread_runs_free(&r);
}

/* A loss stands before the thread's next record, in a run that begins there, and other threads'
 * go on. */
static void test_losses_with_a_place(void **state)
{
	struct thread_runs r = { 0 };
	struct seen s = { 0 };

	add(&r, 1, 100, 0);
	add(&r, 2, 110, 0);
	thread_runs_lose(&r, 2, 5);
	add(&r, 2, 120, 0);
	add(&r, 1, 130, 1);
	thread_runs_lose(&r, 2, 3);
	/* Nothing came of it yet. */
	pass(&r, &s);
	assert_string_equal(s.text[1], "100@0 130@1 ");
	assert_string_equal(s.text[2], "110@0 -5 120@0 ");
	thread_runs_lose(&r, 2, 1);
	add(&r, 2, 140, 0);
	pass(&r, &s);
	assert_string_equal(s.text[2], "110@0 -5 120@0 -4 140@0 ");
	assert_int_equal(s.lost, 9);
	assert_int_equal(r.lost, 0);
	thread_runs_free(&r);
}

static void test_losses_at_the_end(void **state)
{
	struct thread_runs r = { 0 };
	struct seen s = { 0 };
	thread_run_list runs = { 0 };
	struct err err;

	add(&r, 0, 100, 0);
	pass(&r, &s);
	r.lost = 9;
	for (int again = 0; again < 2; again++) {
		thread_runs_take_losses(&r, FIRST_SLOT, BASE + 200, &runs);
		assert_int_equal(runs.n, again ? 0 : 1);
		assert_int_equal(thread_runs_give(&runs, take, &s, &err), 0);
	}
	assert_string_equal(s.text[0], "100@0 -9 ");
	assert_int_equal(s.position[0], 10);
	thread_runs_free(&r);
}

/* Kept and lost together are what was made, however passes fall. */
static void test_adds_up(void **state)
{
	enum { MADE = 200000 };
	struct thread_runs r = { 0 };
	struct seen *s = mem_zalloc(sizeof(*s));
	uint64_t random = 1, lost = 0;

	for (uint64_t i = 0; i < MADE; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		if (random >> 60 == 0)
			r.lost++, lost++;
		else if (random >> 60 == 1)
			thread_runs_lose(&r, random >> 40 & (THREADS - 1), 1), lost++;
		else
			add(&r, random >> 40 & (THREADS - 1), i, random >> 50 & 3);
		if ((random >> 20) % 50000 == 0 || i == MADE / 2)
			pass(&r, s);
	}
	/* A loss with a place has a record behind it. */
	for (uint32_t thread = 0; thread < THREADS; thread++)
		add(&r, thread, MADE, 0);
	pass(&r, s);
	assert_int_equal(s->records + s->lost, MADE + THREADS);
	assert_int_equal(s->lost, lost);
	assert_true(s->runs > 2 * THREADS); /* a long run is begun anew */
	free(s);
	thread_runs_free(&r);
}

static int refuse(void *context, const struct drain_run *run, struct err *err)
{
	++*(int *)context;
	return err_set(err, EIO, "no more");
}

static void test_refused(void **state)
{
	struct thread_runs r = { 0 };
	thread_run_list runs;
	struct err err;
	int calls = 0;

	add(&r, 0, 1, 0);
	add(&r, 1, 2, 0);
	thread_runs_take(&r, FIRST_SLOT, &runs);
	assert_int_equal(thread_runs_give(&runs, refuse, &calls, &err), -EIO);
	assert_int_equal(calls, 1);
	assert_int_equal(runs.n, 0);
	thread_runs_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves_between_cpus), cmocka_unit_test(test_times_never_go_back),
		cmocka_unit_test(test_long_silence), cmocka_unit_test(test_losses), cmocka_unit_test(test_losses_with_a_place),
		cmocka_unit_test(test_losses_at_the_end), cmocka_unit_test(test_adds_up),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
