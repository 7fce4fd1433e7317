/* SPDX-License-Identifier: MIT */
/* Two processors whose TSCs differ, and change their rates: times that are put right while pairs of
 * clocks still come. What is true is known, because the test makes the counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/live_clock.h"

#define BEGIN UINT64_C(5000000000)
#define MS UINT64_C(1000000)
#define ROUND (100 * MS)        /* between two pairs of a CPU */
#define PASS (20 * MS)          /* between two passes over the records */
#define WINDOW 400u             /* ns that a pair's reading takes */

/* rate: ticks that the second CPU gains in a million, and loses after half of the time; jump: ticks
 * that it gains then at once. */
struct machine { uint64_t length, rate, jump; };

static uint64_t tsc_on(const struct machine *m, uint16_t cpu, uint64_t ns)
{
	const uint64_t since = ns - BEGIN, half = m->length / 2;
	const uint64_t fast = since < half ? since : half;

	if (!cpu)
		return ns;
	return ns + 700000 + fast * m->rate / 1000000 - (since - fast) * m->rate / 1000000 +
	       (since >= half ? m->jump : 0);
}

struct stamp { uint64_t tsc, given; uint16_t cpu; };

struct watch {
	struct live_clock *live;
	const struct machine *machine;
	uint64_t last[2], off;
	VEC(struct stamp) seen;
};

/* A stamp is asked for once its time has come. */
static void see(struct watch *w, uint16_t cpu, uint64_t ns)
{
	const uint64_t tsc = tsc_on(w->machine, cpu, ns), given = live_clock_tsc(w->live, cpu, tsc);
	const uint64_t off = given > ns ? given - ns : ns - given;

	assert_true(given >= w->last[cpu]);
	w->last[cpu] = given;
	w->off = off > w->off ? off : w->off;
	*vec_add(&w->seen) = (struct stamp){ tsc, given, cpu };
}

/* Returns the error that was said, and in *off the greatest one. */
static uint64_t run(const struct machine *m, uint64_t *off)
{
	struct trace_info info = { .clock.hz = 1000000000 };
	struct watch w = { .live = live_clock_new(), .machine = m };
	uint64_t error;

	for (uint64_t now = BEGIN; now < BEGIN + m->length; now += PASS) {
		for (uint16_t cpu = 0; cpu < 2 && (now - BEGIN) % ROUND == 0; cpu++)
			*vec_add(&info.clock_pairs) = (struct trace_clock_pair){
				.tsc = tsc_on(m, cpu, now), .ns = now + 150, .window = WINDOW,
				.cpu = cpu };
		live_clock_add(w.live, &info, now + 30000);
		for (uint64_t ns = now; ns < now + PASS; ns += MS / 7)
			for (uint16_t cpu = 0; cpu < 2; cpu++)
				see(&w, cpu, ns);
	}
	/* What was shown once is what it is, to a tick, whatever pairs came behind it. */
	for (size_t i = 0; i < w.seen.n; i++)
		assert_in_range(live_clock_tsc(w.live, w.seen.at[i].cpu, w.seen.at[i].tsc) + 1,
				w.seen.at[i].given, w.seen.at[i].given + 2);
	assert_int_equal(live_clock_pairs(w.live), info.clock_pairs.n);
	assert_int_equal(live_clock_tsc(w.live, 7, 1234), 1234);
	error = live_clock_error(w.live);
	*off = w.off;
	live_clock_free(w.live);
	vec_free(&info.clock_pairs);
	vec_free(&w.seen);
	return error;
}

/* A pair is no more exact than its reading: its two clocks were read within the window. */
#define NEAR (2 * WINDOW)

static void steady(void **state)
{
	const struct machine m = { .length = 3000 * MS };
	uint64_t off, error = run(&m, &off);

	assert_in_range(error, 1, NEAR);
	assert_in_range(off, 0, error + NEAR);
}

/* Ten ticks of 100,000: within a round 10 us, until the rate is known, and twice that where it
 * turns. */
static void other_rate(void **state)
{
	const struct machine m = { .length = 4000 * MS, .rate = 100 };
	uint64_t off, error = run(&m, &off);

	assert_in_range(error, 10000, 25000);
	assert_in_range(off, 10000, error + NEAR + 5000);
}

/* A counter that jumps is wrong by as much until the next pair, and that is said. */
static void a_jump(void **state)
{
	const struct machine m = { .length = 2000 * MS, .jump = 3 * MS };
	uint64_t off, error = run(&m, &off);

	assert_in_range(error, 3 * MS - NEAR, 3 * MS + NEAR);
	assert_in_range(off, 3 * MS - NEAR, 3 * MS + NEAR);
}

static void present(void **state)
{
	struct trace_info info = { .clock.hz = 2000000000 };
	struct live_clock *live = live_clock_new();

	assert_int_equal(live_clock_at(live, BEGIN), 0);
	*vec_add(&info.clock_pairs) = (struct trace_clock_pair){ .tsc = 77, .ns = BEGIN };
	live_clock_add(live, &info, BEGIN);
	assert_int_equal(live_clock_at(live, BEGIN + 1000), 77 + 2000);
	live_clock_free(live);
	vec_free(&info.clock_pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steady), cmocka_unit_test(other_rate), cmocka_unit_test(a_jump),
		cmocka_unit_test(present),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
