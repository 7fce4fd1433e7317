/* SPDX-License-Identifier: MIT */
/* Sorts and prints the rows of syscalls.c, after its last event. The command calls, on its thread;
 * nothing fails but the output, whose error stays in it. Times are kept in ticks and converted
 * where they are printed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/losses.h"
#include "report/summary.h"
#include "report/syscalls_internal.h"

size_t syscalls_rows(const struct syscalls *s)
{
	return s->rows.n;
}

/* A percentile is the middle of a bucket: it must not leave the range of real durations. In ticks.
 * The caller has looked that there is a timed call. */
static uint64_t percentile(const struct syscalls_row *r, unsigned percent)
{
	uint64_t v = histogram_percentile(&r->durations, r->timed, percent);

	return v < r->value[SYSCALLS_MIN]   ? r->value[SYSCALLS_MIN]
	       : v > r->value[SYSCALLS_MAX] ? r->value[SYSCALLS_MAX]
					    : v;
}

/* The column's number: calls, errors, or ticks. The mean is that of the calls that returned. */
static uint64_t number_in(const struct syscalls_row *r, enum syscalls_column c)
{
	if (c == SYSCALLS_CALLS || c == SYSCALLS_ERRORS)
		return r->value[c];
	/* No return was seen in this row: nothing to divide by. */
	if (!r->timed)
		return 0;
	switch (c) {
	case SYSCALLS_MEAN: return r->value[SYSCALLS_TOTAL] / r->timed;
	case SYSCALLS_P50: return percentile(r, 50);
	case SYSCALLS_P99: return percentile(r, 99);
	default: return r->value[c];
	}
}

/* The columns of numbers are counts up to TOTAL, and times from there on. */
static bool is_time(enum syscalls_column c)
{
	return c >= SYSCALLS_TOTAL;
}

/* --- order ------------------------------------------------------------------------------- */

struct syscalls_order { enum syscalls_column by; bool reverse; };

/* Equal rows by name, so that the order does not depend on that of the records. The largest number
 * comes first; among threads of one name the number decides. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct syscalls_row *x = *(struct syscalls_row *const *)a;
	const struct syscalls_row *y = *(struct syscalls_row *const *)b;
	const struct syscalls_order *o = arg;
	uint64_t p = o->by == SYSCALLS_NAME ? 0 : number_in(x, o->by);
	uint64_t q = o->by == SYSCALLS_NAME ? 0 : number_in(y, o->by);
	int c = p > q ? -1 : p < q;

	if (!c)
		c = strcmp(x->name, y->name);
	if (!c)
		c = x->thread < y->thread ? -1 : x->thread > y->thread;
	return o->reverse ? -c : c;
}

void syscalls_sort(struct syscalls *s, enum syscalls_column by, bool reverse)
{
	struct syscalls_order o = { by, reverse };

	if (s->rows.n)
		qsort_r(s->rows.at, s->rows.n, sizeof(*s->rows.at), compare_rows, &o);
}

/* --- table ------------------------------------------------------------------------------- */

/* n 0: all of them. The sum below the table is of all rows in any case. */
static size_t rows_shown(const struct syscalls *s, size_t n)
{
	return n && n < s->rows.n ? n : s->rows.n;
}

static void print_titles(const struct syscalls *s, struct out *o)
{
	static const char *const titles[SYSCALLS_NUMBERS] = { "CALLS", "ERRORS", "TOTAL", "MIN",
							      "MEAN",  "P50",	 "P99",	  "MAX" };
	static const char *const rows[SYSCALLS_BY_N] = {
		[SYSCALLS_BY_CALL] = "SYSCALL", [SYSCALLS_BY_THREAD] = "THREAD",
		[SYSCALLS_BY_FILE] = "FILE", [SYSCALLS_BY_ERROR] = "ERROR",
	};

	for (unsigned c = 0; c < SYSCALLS_NUMBERS; c++)
		out_printf(o, "%*s", SUMMARY_COLUMN, titles[c]);
	out_printf(o, "  %s\n", rows[s->by]);
}

/* Names of threads and files are the program's to choose. */
static void print_row_name(const struct syscalls *s, const struct syscalls_row *r, struct out *o)
{
	const struct trace_thread *t;

	if (s->by != SYSCALLS_BY_THREAD) {
		out_name(o, r->name, strlen(r->name));
		return;
	}
	t = &s->info->threads.at[r->thread];
	out_name(o, trace_thread_name(t), TRACE_COMM);
	out_printf(o, "-%" PRIu32, t->tid);
}

/* A row without a time has dashes, not zeros: a call that lasted 0 ns was seen to return. */
static void print_row(const struct syscalls *s, const struct syscalls_row *r, struct out *o)
{
	for (unsigned c = 0; c < SYSCALLS_NUMBERS; c++) {
		uint64_t v = number_in(r, c);

		if (!is_time(c))
			out_u64(o, v, SUMMARY_COLUMN, ' ');
		else if (r->timed)
			summary_print_time(o, trace_clock_delta_ns(&s->info->clock, v));
		else
			out_printf(o, "%*s", SUMMARY_COLUMN, "-");
	}
	out_str(o, "  ");
	print_row_name(s, r, o);
	out_char(o, '\n');
}

/* Figures of all rows, shown or not; wall_ns: from the first record to the last. Ticks of several
 * threads add up, and may be more than wall_ns. */
struct syscalls_sum { uint64_t calls, errors, ticks, wall_ns; };

static struct syscalls_sum sum_of(const struct syscalls *s)
{
	struct syscalls_sum sum = { 0 };

	for (size_t i = 0; i < s->rows.n; i++) {
		sum.calls += s->rows.at[i]->value[SYSCALLS_CALLS];
		sum.errors += s->rows.at[i]->value[SYSCALLS_ERRORS];
		sum.ticks += s->rows.at[i]->value[SYSCALLS_TOTAL];
	}
	sum.wall_ns = trace_clock_delta_ns(&s->info->clock, s->last - s->first);
	return sum;
}

/* Losses first: whoever reads the table should know that it is not whole. */
void syscalls_print_table(const struct syscalls *s, size_t n, struct out *o)
{
	const struct syscalls_sum sum = sum_of(s);

	losses_print(s->info, o);
	print_titles(s, o);
	for (size_t i = 0; i < rows_shown(s, n); i++)
		print_row(s, s->rows.at[i], o);
	out_u64(o, sum.calls, SUMMARY_COLUMN, ' ');
	out_u64(o, sum.errors, SUMMARY_COLUMN, ' ');
	summary_print_time(o, trace_clock_delta_ns(&s->info->clock, sum.ticks));
	out_str(o, "  in all; from the first record to the last");
	summary_print_time(o, sum.wall_ns);
	out_char(o, '\n');
}

/* --- JSON -------------------------------------------------------------------------------- */

static void print_json_key(const struct syscalls *s, const struct syscalls_row *r, struct out *o)
{
	static const char *const keys[SYSCALLS_BY_N] = {
		[SYSCALLS_BY_CALL] = "name", [SYSCALLS_BY_THREAD] = "comm",
		[SYSCALLS_BY_FILE] = "file", [SYSCALLS_BY_ERROR] = "error",
	};
	/* A name that fills its array has no NUL. */
	char comm[TRACE_COMM + 1] = "";
	const struct trace_thread *t = NULL;

	if (s->by == SYSCALLS_BY_THREAD) {
		t = &s->info->threads.at[r->thread];
		memcpy(comm, trace_thread_name(t), strnlen(trace_thread_name(t), TRACE_COMM));
	}
	out_printf(o, "{\"%s\":", keys[s->by]);
	json_string(o, t ? comm : r->name);
	if (t)
		out_printf(o, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, t->pid, t->tid);
}

/* One object a line: the whole first, which names the schema, then one for each row. Times are in
 * ns, and null where no return was seen. */
void syscalls_print_json(const struct syscalls *s, size_t n, struct out *o)
{
	const struct syscalls_sum sum = sum_of(s);

	out_str(o, "{\"schema\":\"brace-syscalls\",\"version\":1");
	losses_print_json(s->info, o);
	out_printf(o, ",\"calls\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"total_ns\":%" PRIu64
		   ",\"wall_ns\":%" PRIu64 "}\n", sum.calls, sum.errors,
		   trace_clock_delta_ns(&s->info->clock, sum.ticks), sum.wall_ns);
	for (size_t i = 0; i < rows_shown(s, n); i++) {
		const struct syscalls_row *r = s->rows.at[i];

		print_json_key(s, r, o);
		for (unsigned c = 0; c < SYSCALLS_NUMBERS; c++) {
			out_printf(o, ",\"%s%s\":", syscalls_column_words[c],
				   is_time(c) ? "_ns" : "");
			if (is_time(c) && !r->timed)
				out_str(o, "null");
			else
				out_u64(o, is_time(c) ? trace_clock_delta_ns(&s->info->clock,
									     number_in(r, c))
						      : number_in(r, c), 0, ' ');
		}
		out_str(o, "}\n");
	}
}
