/* A chunk's records of some processors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/vec.h"
#include "instance/ring.h"
#include "shared/record.h"

typedef VEC(uint64_t) words;

static void entry(words *w, uint32_t fn)
{
	*vec_add(w) = record_word(1000, fn, RECORD_ENTRY);
}

static void call(words *w, uint32_t fn)
{
	*vec_add(w) = record_word(1000, record_event_id(1, RECORD_EVENT_CALL), RECORD_EVENT);
	*vec_add(w) = fn;
}

static void move(words *w, uint16_t cpu)
{
	*vec_add(w) = record_word(1000, record_event_id(1, RECORD_EVENT_CPU), RECORD_EVENT);
	*vec_add(w) = cpu;
}

/* Begins on CPU 3: two there, two on CPU 1, one on CPU 3 again, and one lost before. */
static struct chunk *sample(void)
{
	struct drain_run run = { .cpu = 3, .near_tsc = 1000, .lost = 1 };
	struct chunk *c;
	words w = { 0 };

	entry(&w, 1);
	entry(&w, 2);
	move(&w, 1);
	entry(&w, 3);
	call(&w, 4);
	move(&w, 3);
	entry(&w, 5);
	run.words = w.at;
	run.n = w.n;
	c = chunk_new(&run);
	vec_free(&w);
	return c;
}

static void check(unsigned cpus, uint64_t records, size_t n)
{
	const struct cpumask mask = { .n = 4, .group = { cpus } };
	struct chunk *c = sample(), *some = chunk_on_cpus(c, &mask);

	assert_non_null(some);
	assert_int_equal(some->records, records);
	assert_int_equal(some->n, n);
	assert_int_equal(some->lost, 1);
	assert_int_equal(some->cpu, 3);
	chunk_put(some);
	chunk_put(c);
}

static void by_processor(void **state)
{
	check(0xf, 5, 10);
	check(1 << 3, 3, 3 + 4);
	check(1 << 1, 2, 3 + 4);
	check(0, 0, 4);
}

static void nothing_is_no_chunk(void **state)
{
	const struct cpumask none = { .n = 4 };
	struct chunk *c = sample();

	c->lost = 0;
	assert_null(chunk_on_cpus(c, &none));
	chunk_put(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_processor),
		cmocka_unit_test(nothing_is_no_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
