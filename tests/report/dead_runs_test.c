/* Calls that an unwinder has left (trace/dead_runs.h): the runs of a stack against a flag for each
 * of its calls, and how long many short unwindings take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "shared/record.h"
#include "trace/dead_runs.h"
#include "trace/loops.h"

#define STACK_MAX 64

struct stack { bool dead[STACK_MAX]; size_t n; struct dead_runs runs; };

/* What the runs say of each call, and of the call below each. */
static void compare(const struct stack *s)
{
	size_t high = s->n;

	assert_int_equal(dead_runs_on_top(&s->runs, s->n), s->n && s->dead[s->n - 1]);
	for (size_t k = s->runs.n; k-- > 0;) {
		assert_true(s->runs.at[k].high <= high);
		high = s->runs.at[k].low;
		assert_true(high < s->runs.at[k].high);
		high -= k > 0; /* they do not touch */
	}
	for (size_t i = 0, run = 0; i < s->n; i++) {
		run += run < s->runs.n && s->runs.at[run].high <= i;
		assert_int_equal(s->dead[i], run < s->runs.n && s->runs.at[run].low <= i);
	}
}

/* Marks `groups` groups of up to three calls below `from`, as an unwinder leaves them. */
static void unwind(struct stack *s, size_t from, unsigned groups)
{
	while (groups--) {
		size_t k = s->runs.n, high = dead_runs_pass(&s->runs, &k, from), low = high;
		size_t i = from;

		while (i && s->dead[i - 1])
			i--;
		assert_int_equal(high, i);
		if (!high)
			return;
		do
			s->dead[--low] = true;
		while (low && !s->dead[low - 1] && rand() % 3);
		dead_runs_add(&s->runs, low, high);
		from = low;
		compare(s);
	}
}

static void runs_are_the_flags(void **state)
{
	struct stack s = { .n = 0 };

	(void)state;
	srand(1);
	for (unsigned i = 0; i < 200000; i++) {
		switch (rand() % 4) {
		case 0:
		case 1:
			if (s.n < STACK_MAX)
				s.dead[s.n++] = false;
			break;
		case 2:
			s.n -= s.n > 0;
			dead_runs_end(&s.runs, s.n);
			break;
		default:
			/* The unwinder's own calls are on top; runs that are there lie below. */
			if (s.n > 2 && !s.dead[s.n - 1])
				unwind(&s, s.n - 1, (unsigned)(rand() % 4));
		}
		compare(&s);
	}
	vec_free(&s.runs);
}

/* One call after another below an unwinder that stays: a walk down from the unwinder for each would
 * take 10^12 steps. */
static void many_unwindings_are_linear(void **state)
{
	enum { CALLS = 1 << 20 };
	const uint64_t gone[] = {
		record_word(0, record_event_id(1, RECORD_EVENT_SWITCH), RECORD_EVENT),
		RECORD_SWITCH_UNWINDS, record_word(0, 7, RECORD_ENTRY)
	};
	const uint64_t one[] = { record_word(0, record_event_id(1, RECORD_EVENT_UNWIND),
					     RECORD_EVENT), 1 };
	struct loops l = { 0 };

	(void)state;
	for (uint32_t i = 0; i < CALLS; i++)
		loops_enter(&l, i & 1023, false);
	assert_int_equal(loops_follow(&l, gone, 3), 0);
	for (uint32_t i = 0; i < CALLS - 1; i++)
		loops_follow(&l, one, 2);
	loops_return(&l);
	assert_int_equal(loops_follow(&l, one, 0), 0);
	/* The next record ends what was left: the outermost call alone is on the stack. */
	loops_follow(&l, (const uint64_t[]){ record_word(0, 0, RECORD_TAIL) }, 1);
	assert_true(loops_on_top(&l, 0));
	assert_int_equal(l.open.n, 1);
	loops_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_the_flags),
		cmocka_unit_test(many_unwindings_are_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
