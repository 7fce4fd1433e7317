/* The TSC's frequency: what is measured, and what is told and believed, or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "collect/clock.h"

struct instant { double s, tsc; };

/* The tightest of many brackets: the machine may take the processor away between two clocks. */
static struct instant instant(void)
{
	uint64_t best = UINT64_MAX;
	struct instant at = { 0 };

	for (int i = 0; i < 1000; i++) {
		uint64_t a = clock_tsc(), b;
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		b = clock_tsc();
		if (b - a >= best)
			continue;
		best = b - a;
		at = (struct instant){ (double)t.tv_sec + (double)t.tv_nsec / 1e9, (double)a };
	}
	return at;
}

/* An independent figure, from another clock over a longer time. */
static double measured_hz(void)
{
	struct instant from = instant(), to;

	do {
		to = instant();
	} while (to.s - from.s < 0.05);
	return (to.tsc - from.tsc) / (to.s - from.s);
}

static void is_true(const struct trace_clock *clock)
{
	double true_hz = measured_hz();

	assert_true((double)clock->hz > 0.98 * true_hz && (double)clock->hz < 1.02 * true_hz);
}

static void found(void **state)
{
	struct trace_clock out = { 0 };
	struct clock c;

	clock_begin(&c);
	clock_measure_end(&c, &out);
	is_true(&out);
	clock_refine(&c, &out);
	is_true(&out);
	assert_true(out.from[0]);
}

/* A virtual machine whose CPUID has the frequency of the machine that it was moved from. */
static void told_by_a_liar(void **state)
{
	struct trace_clock out = { 0 }, refined;
	struct clock c;

	clock_begin(&c);
	c.told_hz = (uint64_t)(measured_hz() * 1.5);
	clock_measure_end(&c, &out);
	assert_string_equal(out.from, "measured");
	is_true(&out);
	refined = out;
	clock_refine(&c, &refined);
	assert_string_equal(refined.from, "measured");
	is_true(&refined);
}

static void told_truly(void **state)
{
	struct trace_clock out = { 0 };
	uint64_t told = (uint64_t)(measured_hz() * 1.0001);
	struct clock c;

	clock_begin(&c);
	c.told_hz = told;
	clock_measure_end(&c, &out);
	assert_string_equal(out.from, "cpuid");
	assert_int_equal(out.hz, told);
	clock_end(&c);
}

/* On a clock that counts one by one no two readings are as close as on one that counts in steps. */
static void a_step_is_what_is_told_apart(void **state)
{
	uint64_t step = clock_step(), last = clock_tsc(), now;

	assert_in_range(step, 1, (uintmax_t)(measured_hz() / 5e7));
	for (int i = 0; i < 100000; i++, last = now) {
		now = clock_tsc();
		assert_true(now > last);
		if (step == 1)
			assert_true(now - last > 2);
		else
			assert_true(now - last == 1 || now - last + 2 >= step);
	}
}

/* Where the TSC is not steady, how far processors are apart is measured from each of them. */
static void apart(void **state)
{
	struct trace_clock out = { 0 };
	cpu_set_t before, after;
	struct clock c;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	clock_begin(&c);
	c.steady = true;
	clock_measure_end(&c, &out);
	assert_int_equal(c.apart_ns, 0);
	c.steady = false;
	clock_refine(&c, &out);
	/* No two clocks can be read at once, and here they do not differ by a second. */
	assert_in_range(c.apart_ns, 1, 1000000000);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found), cmocka_unit_test(told_by_a_liar), cmocka_unit_test(told_truly),
		cmocka_unit_test(a_step_is_what_is_told_apart),
		cmocka_unit_test(apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
