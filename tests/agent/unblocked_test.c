/* The agent's calls outside of slow paths (src/agent/unblocked.c): who comes with a filter waits
 * for those of other threads that have looked before, and for no others. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/no_tls.h"
#include "agent/unblocked.h"

#define THREADS 4
#define FILTERS 200

struct agent agent;
uint32_t agent_no_tls;

static unsigned inside, leave, over;
static unsigned installed, killed, calls;

static unsigned get(const unsigned *at)
{
	return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

static void set(unsigned *at, unsigned value)
{
	__atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}

/* Is inside until it is told to leave. */
static void *stay(void *result)
{
	*(bool *)result = unblocked_begin(NEED_COPY);

	set(&inside, 1);
	while (!get(&leave))
		sched_yield();
	unblocked_end();
	return NULL;
}

static void others(void **state)
{
	pthread_t t;
	bool begun = false;

	(void)state;
	set(&inside, 0);
	set(&leave, 0);
	assert_false(unblocked_others());
	assert_int_equal(pthread_create(&t, NULL, stay, &begun), 0);
	while (!get(&inside))
		sched_yield();
	assert_true(unblocked_others());
	set(&leave, 1);
	pthread_join(t, NULL);
	assert_true(begun);
	assert_false(unblocked_others());
}

/* A handler that interrupts a copy, and installs a filter, does not wait for its own thread. */
static void itself(void **state)
{
	(void)state;
	assert_true(unblocked_begin(NEED_COPY));
	assert_true(unblocked_begin(NEED_THREADS));
	assert_false(unblocked_others());
	unblocked_end();
	unblocked_end();
}

static void forbidden(void **state)
{
	(void)state;
	agent.forbidden = NEED_COPY;
	assert_false(unblocked_begin(NEED_COPY));
	assert_false(unblocked_others());
	assert_true(unblocked_begin(NEED_CPU));
	unblocked_end();
	agent.forbidden = NEED_THREADS;
	assert_int_equal(unblocked_call0(39 /* getpid */), 0);
	agent.forbidden = 0;
	assert_true(unblocked_call0(39) > 0);
}

/* A thread that ended inside is forgotten, and another's late end brings nobody out of count. */
static void forgotten(void **state)
{
	pthread_t t;
	bool begun;

	(void)state;
	set(&inside, 0);
	set(&leave, 0);
	assert_int_equal(pthread_create(&t, NULL, stay, &begun), 0);
	while (!get(&inside))
		sched_yield();
	unblocked_forget();
	assert_false(unblocked_others());
	set(&leave, 1);
	pthread_join(t, NULL);
	assert_false(unblocked_others());
	unblocked_forget();
}

/* Makes calls that a filter kills for from the moment it is installed. */
static void *call(void *arg)
{
	while (!get(&over)) {
		if (!unblocked_begin(NEED_COPY)) {
			sched_yield();
			continue;
		}
		__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
		if (get(&installed))
			set(&killed, 1);
		unblocked_end();
	}
	return arg;
}

static void filters(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call, NULL), 0);
	for (int i = 0; i < FILTERS; i++) {
		unsigned before = get(&calls);

		while (get(&calls) == before)
			sched_yield();
		__atomic_fetch_or(&agent.forbidden, NEED_COPY, __ATOMIC_SEQ_CST);
		while (unblocked_others())
			sched_yield();
		set(&installed, 1);
		sched_yield();
		set(&installed, 0);
		__atomic_fetch_and(&agent.forbidden, ~(uint32_t)NEED_COPY, __ATOMIC_SEQ_CST);
	}
	set(&over, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(killed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others), cmocka_unit_test(itself), cmocka_unit_test(forbidden),
		cmocka_unit_test(forgotten), cmocka_unit_test(filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
