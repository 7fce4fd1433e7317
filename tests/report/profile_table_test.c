/* trace_stat/functionN against the kernel: its formula, and the very lines that it printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "report/profile_table.h"

static const struct trace_clock ns_clock = { .hz = 1000000000 };

static void add(struct profile_sums *s, uint64_t ticks)
{
	s->hits++;
	s->ticks += ticks;
	s->squares += (unsigned __int128)ticks * ticks;
}

/* As kernel/trace/ftrace.c has it: s^2 = (n * sum of squares - (sum)^2) / (n * (n - 1) * 1000). */
static uint64_t kernels(const struct profile_sums *s)
{
	uint64_t n = s->hits, below = n * (n - 1) * 1000;

	return below ? (n * (uint64_t)s->squares - s->ticks * s->ticks) / below : 0;
}

static uint32_t state = 1;
static uint32_t any(void)
{
	state = state * 1664525 + 1013904223;
	return state >> 8;
}

static void as_the_kernels_formula(void **unused)
{
	for (unsigned round = 0; round < 2000; round++) {
		struct profile_sums s = { 0 };
		unsigned n = any() % 50, limit = 1u << any() % 20;

		for (unsigned i = 0; i < n; i++)
			add(&s, any() % limit);
		assert_int_equal(profile_variance(&s, &ns_clock), kernels(&s));
	}
}

/* Where its 64 bits overflow. A million calls of 1 and of 3 seconds by turns: they are 1 s from the
 * mean. */
static void without_overflow(void **unused)
{
	struct profile_sums s = { 0 };

	for (unsigned i = 0; i < 1000000; i++)
		add(&s, i % 2 ? 3000000000u : 1000000000u);
	assert_true(profile_variance(&s, &ns_clock) >= 1000000000000000);
	assert_true(profile_variance(&s, &ns_clock) < 1000001000100000);
	assert_true(kernels(&s) != profile_variance(&s, &ns_clock));
	s = (struct profile_sums){ 0 };
	add(&s, UINT64_MAX);
	add(&s, 0);
	assert_int_equal(profile_variance(&s, &ns_clock), UINT64_MAX);
}

/* 2.5 ticks a nanosecond: 100 ns and 300 ns have 20000 ns^2. */
static void in_nanoseconds(void **unused)
{
	const struct trace_clock clock = { .hz = 2500000000u };
	struct profile_sums s = { 0 };

	add(&s, 250);
	assert_int_equal(profile_variance(&s, &clock), 0);
	add(&s, 750);
	assert_in_range(profile_variance(&s, &clock), 19, 20);
}

static uint64_t ns_of(const char *us)
{
	return (uint64_t)(strtod(us, NULL) * 1000 + 0.5);
}

/* Sums of which the line says so much. */
static bool parse(char *line, struct profile_row *row)
{
	char *save = NULL, *words[8];
	unsigned n = 0;

	for (char *w = strtok_r(line, " ", &save); w && n < 8; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	if (n < 8)
		return false;
	row->name = words[0];
	row->sums.hits = strtoul(words[1], NULL, 10);
	row->sums.ticks = ns_of(words[2]);
	row->sums.squares = ((unsigned __int128)row->sums.ticks * row->sums.ticks + row->sums.hits - 1) / row->sums.hits;
	row->sums.squares += (unsigned __int128)ns_of(words[6]) * 1000 * (row->sums.hits - 1) + 1;
	return true;
}

static size_t parse_all(char *text, struct profile_row *rows, size_t max)
{
	char *save = NULL;
	size_t n = 0;

	for (char *line = strtok_r(text, "\n", &save); line && n < max; line = strtok_r(NULL, "\n", &save))
		n += parse(line, &rows[n]);
	return n;
}

static void shuffle(struct profile_row *rows, size_t n)
{
	for (size_t k = n; k > 1; k--) {
		struct profile_row other = rows[k - 1];
		size_t with = any() % k;

		rows[k - 1] = rows[with];
		rows[with] = other;
	}
}

static char *print(struct profile_row *rows, size_t n, uint64_t thresh_ns)
{
	struct text text = { 0 };
	struct out out;

	out_init(&out, text_flush, &text);
	profile_print(rows, n, &ns_clock, thresh_ns, &out);
	out_flush(&out);
	out_free(&out);
	text_end(&text);
	return text.bytes.at;
}

static char *rows_of_the_kernel(const char *name)
{
	char *path = mem_printf("%s/%s", GOLDEN, name), *text = mem_zalloc(65536);
	FILE *f = fopen(path, "r");
	char *rows;

	assert_non_null(f);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	free(path);
	rows = mem_strdup(strstr(text, "---\n") + 4);
	free(text);
	return rows;
}

static void as_the_kernel_printed(void **unused)
{
	static const char *const files[] = { "k6.12-own.trace_stat.function0.graph-time.txt",
					     "k7.2-own.trace_stat.function0.graph-time.txt" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char *want = rows_of_the_kernel(files[i]), *copy = mem_strdup(want), *got;
		struct profile_row rows[16] = { { 0 } };
		size_t n = parse_all(copy, rows, 16);

		assert_true(n > 1);
		shuffle(rows, n);
		got = print(rows, n, 0);
		assert_string_equal(got, want);
		free(got);
		free(copy);
		free(want);
	}
}

/* A row whose average is below tracing_thresh is left out, as are functions that were not called;
 * names are cut. */
static void which_rows(void **unused)
{
	struct profile_row rows[] = { { (char *)"short", { 10, 99999, 0 } }, { (char *)"never", { 0, 0, 0 } },
				      { (char *)"a_name_of_more_than_thirty_letters", { 1, 10000, 100000000 } } };
	char *got = print(rows, 3, 10000);

	assert_string_equal(got, "  a_name_of_more_than_thirty_let           1    10.000 us       10.000 us       0.000 us    \n");
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_kernels_formula), cmocka_unit_test(without_overflow), cmocka_unit_test(in_nanoseconds),
		cmocka_unit_test(as_the_kernel_printed), cmocka_unit_test(which_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
