/* Ticks slept between two times, against a count of every tick; and of more than are kept apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/sleeps.h"

#define TICKS 5000
#define KEPT 131072u

static bool asleep[TICKS];

static void add(struct sleeps *s, uint64_t last, uint64_t from, uint64_t to)
{
	sleeps_add(s, from, to);
	for (uint64_t t = from > last ? from : last; t < to; t++)
		asleep[t] = true;
}

static uint64_t counted(uint64_t begin, uint64_t end)
{
	uint64_t n = 0;

	for (uint64_t t = begin; t < end; t++)
		n += asleep[t];
	return n;
}

static void test_every_tick(void **state)
{
	struct sleeps s = { 0 };
	uint64_t t = 10;

	srandom(1);
	memset(asleep, 0, sizeof(asleep));
	assert_int_equal(sleeps_between(&s, 0, UINT64_MAX), 0);
	while (t < TICKS - 60) {
		uint64_t from = t + (uint64_t)random() % 20, to = from + (uint64_t)random() % 20;

		add(&s, t, from > 5 ? from - (uint64_t)random() % 5 : from, to); /* the clock went back a little */
		t = to > t ? to : t;
	}
	for (int i = 0; i < 100000; i++) {
		uint64_t begin = (uint64_t)random() % TICKS, end = begin + (uint64_t)random() % (TICKS - begin);

		assert_int_equal(sleeps_between(&s, begin, end), counted(begin, end));
	}
	assert_int_equal(sleeps_between(&s, 700, 600), 0);
	sleeps_free(&s);
}

static void test_fused(void **state)
{
	struct sleeps s = { 0 };

	sleeps_add(&s, 10, 20);
	sleeps_add(&s, 30, 35);
	sleeps_add(&s, 50, 51);
	sleeps_fuse(&s, 2);
	assert_int_equal(s.at.n, 2);
	assert_int_equal(sleeps_ticks(&s, 0), 15);
	assert_int_equal(sleeps_between(&s, 0, 100), 16);
	assert_int_equal(sleeps_between(&s, 10, 35), 15);
	assert_int_equal(sleeps_between(&s, 10, 20), 6);
	sleeps_drop(&s, 1);
	assert_int_equal(sleeps_between(&s, 0, 100), 1);
	assert_int_equal(sleeps_between(&s, 50, 51), 1);
	sleeps_free(&s);
}

/* Every 10 ticks 4. */
static void test_very_many(void **state)
{
	struct sleeps s = { 0 };
	const uint64_t n = 10 * KEPT;

	for (uint64_t i = 0; i < n; i++)
		sleeps_add(&s, 10 * i + 3, 10 * i + 7);
	assert_true(s.at.n <= KEPT);
	assert_int_equal(sleeps_between(&s, 0, 10 * n), 4 * n);
	for (uint64_t begin = 0; begin < 10 * n; begin += 12345) {
		uint64_t late = n - begin / 10, got = sleeps_between(&s, begin, 10 * n), want = 4 * late;
		uint64_t off = got > want ? got - want : want - got;

		assert_true(off <= 4 + late * 10 / 1024);
		assert_true(late > 1024 || off <= 4); /* exact, but for the sleep it begins in */
	}
	sleeps_free(&s);
}

/* One that sleeps rarely, and then more and more often; half of the time. */
static void test_more_and_more(void **state)
{
	struct sleeps s = { 0 };
	uint64_t t = 1000, step = UINT64_C(1) << 40, begin = 0;

	for (; step > 100000; step -= step / 16384) {
		if (!begin && step < UINT64_C(1) << 20)
			begin = t;
		sleeps_add(&s, t, t + step / 2);
		t += step;
	}
	assert_true(s.at.n <= KEPT);
	assert_in_range(sleeps_between(&s, begin, t), (t - begin) / 2 - (t - begin) / 500, (t - begin) / 2 + (t - begin) / 500);
	sleeps_free(&s);
}

/* Nothing breaks, whatever the records say. */
static void test_nonsense(void **state)
{
	struct sleeps s = { 0 };

	sleeps_add(&s, 100, 50);
	assert_int_equal(s.at.n, 0);
	sleeps_add(&s, 100, UINT64_MAX);
	sleeps_add(&s, 5, 10);
	sleeps_add(&s, UINT64_MAX, UINT64_MAX);
	sleeps_fuse(&s, 1);
	assert_int_equal(sleeps_between(&s, 90, 110), 10);
	assert_int_equal(sleeps_between(&s, 0, UINT64_MAX), UINT64_MAX - 100);
	sleeps_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_tick), cmocka_unit_test(test_fused), cmocka_unit_test(test_very_many),
		cmocka_unit_test(test_more_and_more), cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
