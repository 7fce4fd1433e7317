/* A thread's sleep comes between the right two of its records, whatever runs they come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/pending_sleeps.h"
#include "shared/record.h"
#include "trace/unpack.h"

#define BASE (UINT64_C(1) << 45)

static uint64_t entry(uint64_t at)
{
	return record_word(BASE + at, 7, RECORD_ENTRY);
}

/* Its records, as "AT" and "(FROM LENGTH)"; as weaving leaves them. */
static char *merged(struct pending_sleeps *p, const uint64_t *words, size_t n, uint64_t near)
{
	static char text[256];
	record_words out = { 0 };
	const struct drain_run run = { .near_tsc = BASE + near, .words = words, .n = n };
	bool changed = pending_merge(p, &run, &out);
	struct unpack u = { .at = changed ? out.at : words, .end = changed ? out.at + out.n : words + n, .tsc = BASE + near };
	struct event e;
	size_t at = 0;

	text[0] = '\0';
	while (unpack_next(&u, &e)) {
		if (e.kind == EVENT_SLEPT)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "(%ld %ld)", (long)(e.begin - BASE), (long)e.count);
		else
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%ld ", (long)(e.tsc - BASE));
	}
	vec_free(&out);
	return text;
}

static void sleep_from(struct pending_sleeps *p, uint64_t from, uint64_t to)
{
	pending_stop(p, BASE + from);
	pending_go_on(p, BASE + to);
}

static void test_between(void **state)
{
	struct pending_sleeps p = { 0 };
	uint64_t words[] = { entry(100), entry(200), entry(300) };

	assert_string_equal(merged(&p, words, 3, 0), "100 200 300 ");
	sleep_from(&p, 50, 60);
	sleep_from(&p, 210, 240);
	sleep_from(&p, 250, 260);
	sleep_from(&p, 310, 320);
	assert_string_equal(merged(&p, words, 3, 0), "(50 10)100 200 (210 30)(250 10)300 ");
	words[0] = entry(400);
	assert_string_equal(merged(&p, words, 1, 300), "(310 10)400 ");
	assert_string_equal(merged(&p, words, 1, 300), "400 ");
	pending_free(&p);
}

/* The end was stamped a little later than the record that followed it: clocks are compared, not the
 * same. */
static void test_late(void **state)
{
	struct pending_sleeps p = { 0 };
	const uint64_t words[] = { entry(100), entry(200) };

	sleep_from(&p, 150, 201);
	assert_string_equal(merged(&p, words, 2, 0), "100 (150 51)200 ");
	pending_go_on(&p, BASE + 900);
	pending_stop(&p, BASE + 1000);
	pending_stop(&p, BASE + 1001);
	assert_string_equal(merged(&p, words, 2, 0), "100 200 ");
	pending_free(&p);
}

static void test_payload(void **state)
{
	struct pending_sleeps p = { 0 };
	const uint64_t words[] = { entry(100), record_word(BASE + 150, record_event_id(2, RECORD_EVENT_AT), RECORD_EVENT),
				   record_word(BASE + 5, 1, RECORD_EXIT), record_word(BASE + 9, 1, RECORD_EXIT), entry(200) };

	sleep_from(&p, 110, 120);
	sleep_from(&p, 160, 170);
	assert_string_equal(merged(&p, words, 5, 0), "100 (110 10)150 (160 10)200 ");
	pending_free(&p);
}

/* Longer than the 40 bits of a stamp. */
static void test_long(void **state)
{
	const uint64_t long_time = UINT64_C(5) << 40;
	struct pending_sleeps p = { 0 };
	const uint64_t words[] = { entry(long_time + 100) };
	char want[64];

	sleep_from(&p, 100, long_time);
	snprintf(want, sizeof(want), "(100 %ld)%ld ", (long)(long_time - 100), (long)(long_time + 100));
	assert_string_equal(merged(&p, words, 1, long_time), want);
	pending_free(&p);
}

static void test_forgotten(void **state)
{
	struct pending_sleeps p = { 0 };
	const uint64_t words[] = { entry(500) };

	for (uint64_t i = 0; i < 10; i++)
		sleep_from(&p, 100 + 10 * i, 105 + 10 * i);
	sleep_from(&p, 400, 450);
	pending_forget_before(&p, BASE + 300);
	assert_int_equal(p.sleeps.at.n, 2);
	assert_string_equal(merged(&p, words, 1, 0), "(145 50)(400 50)500 ");
	pending_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_between), cmocka_unit_test(test_late), cmocka_unit_test(test_payload),
		cmocka_unit_test(test_long), cmocka_unit_test(test_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
