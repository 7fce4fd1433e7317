/* SPDX-License-Identifier: MIT */
/* Sorts and prints the rows and circles of locks.c, after its last event. The command calls, on its
 * thread; nothing fails but the output, whose error stays in it. Times are kept in ticks and
 * converted where they are printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/locks_internal.h"
#include "report/losses.h"
#include "report/location.h"
#include "report/summary.h"

/* A mean of nothing is 0. Means are of all that were acquired, also of those that did not wait. */
static uint64_t number_in(const struct lock_row *r, enum locks_column c)
{
	const struct lock_sums *s = &r->sums;

	switch (c) {
	case LOCKS_ACQUIRED: return s->acquired;
	case LOCKS_CONTENDED: return s->contended;
	case LOCKS_WAIT: return s->wait;
	case LOCKS_WAIT_MEAN: return s->acquired ? s->wait / s->acquired : 0;
	case LOCKS_WAIT_MAX: return s->wait_max;
	case LOCKS_HOLD: return s->hold;
	case LOCKS_HOLD_MEAN: return s->held ? s->hold / s->held : 0;
	default: return s->hold_max;
	}
}

/* Columns from LOCKS_WAIT on are ticks, those before are counts. */
static bool is_time(enum locks_column c)
{
	return c >= LOCKS_WAIT;
}

/* Whether the column has a meaning in the row: nobody holds a semaphore. "-" stands there: 0 would
 * be a holding that took no time. */
static bool has_number(const struct lock_row *r, enum locks_column c)
{
	return c < LOCKS_HOLD || r->sums.held;
}

/* Equal rows by address, so that the order does not depend on that of the records. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct lock_row *x = *(const struct lock_row *const *)a;
	const struct lock_row *y = *(const struct lock_row *const *)b;
	enum locks_column c = *(const enum locks_column *)arg;
	uint64_t p = number_in(x, c), q = number_in(y, c);

	if (p != q)
		return p > q ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Rows of locks that were taken at all; the caller frees the array. *n: at most that many, 0:
 * all. */
static const struct lock_row **sorted_rows(const struct locks *l, enum locks_by by,
					   enum locks_column column, size_t *n)
{
	const struct lock_row *at = by == LOCKS_BY_LOCK ? l->locks.at : l->sites.at;
	size_t all = by == LOCKS_BY_LOCK ? l->locks.n : l->sites.n, kept = 0;
	const struct lock_row **rows = mem_realloc(NULL, all + 1, sizeof(*rows));

	for (size_t i = 0; i < all; i++)
		if (at[i].sums.acquired)
			rows[kept++] = &at[i];
	qsort_r(rows, kept, sizeof(*rows), compare_rows, &column);
	*n = *n && *n < kept ? *n : kept;
	return rows;
}

static uint64_t ns_of(const struct locks *l, uint64_t ticks)
{
	return trace_clock_delta_ns(&l->info->clock, ticks);
}

/* The function behind whose call the address is, and how far in. The byte before the address is the
 * call's own: the function is looked up there, since the address behind a last call may be another
 * function's. */
static void print_site(struct locks *l, uint32_t site, struct out *o)
{
	const struct lock_row *r = site < l->sites.n ? &l->sites.at[site] : NULL;
	struct location p;

	if (!r || !r->address) {
		out_char(o, '?');
		return;
	}
	p = location_at(l->info, r->image, r->address, r->address - 1, r->tsc);
	location_print(o, &l->names, r->image, &p, true, false);
}

/* print_site() writes to an output: here it is one that ends in memory, because a string of JSON
 * is escaped as a whole. */
static void print_json_site(struct locks *l, uint32_t site, struct out *o)
{
	struct out_text t = { NULL, 0 };
	struct out to;

	out_init_raw(&to, out_keep_text, &t);
	print_site(l, site, &to);
	json_string(o, out_text_end(&to));
	free(t.at);
}

/* A lock has no name that a program could have given it: its kind and address are what gdb shows,
 * too. */
static void print_lock(const struct locks *l, uint32_t lock, struct out *o)
{
	out_printf(o, "%s 0x%" PRIx64, locks_kind_words[l->locks.at[lock].kind],
		   l->locks.at[lock].address);
}

/* --- table ---------------------------------------------------------------------------------- */

/* Widths are those of `brace report`. */
static void print_titles(enum locks_by by, struct out *o)
{
	static const char *const titles[LOCKS_COLUMNS_N] = {
		"ACQUIRED", "CONTENDED", "WAIT", "MEAN", "MAX", "HOLD", "MEAN", "MAX"
	};

	for (unsigned c = 0; c < LOCKS_COLUMNS_N; c++)
		out_printf(o, "%*s", SUMMARY_COLUMN, titles[c]);
	out_str(o, by == LOCKS_BY_LOCK ? "  LOCK, FIRST TAKEN IN\n" : "  TAKEN IN\n");
}

static void print_row(struct locks *l, enum locks_by by, const struct lock_row *r, struct out *o)
{
	for (unsigned c = 0; c < LOCKS_COLUMNS_N; c++)
		if (!has_number(r, c))
			out_printf(o, "%*s", SUMMARY_COLUMN, "-");
		else if (is_time(c))
			summary_print_time(o, ns_of(l, number_in(r, c)));
		else
			out_u64(o, number_in(r, c), SUMMARY_COLUMN, ' ');
	out_str(o, "  ");
	if (by == LOCKS_BY_LOCK) {
		print_lock(l, (uint32_t)(r - l->locks.at), o);
		out_str(o, " ");
		print_site(l, r->site, o);
	} else {
		print_site(l, (uint32_t)(r - l->sites.at), o);
		out_printf(o, " (%s)", locks_kind_words[r->kind]);
	}
	out_char(o, '\n');
}

/* Each line is one order of the circle; the first lock of a line is the second one of the line
 * before. */
static void print_circle(struct locks *l, const struct lock_circle *c, struct out *o)
{
	out_str(o, "\nCould deadlock, though it did not: locks that are taken in orders that make a circle\n");
	for (unsigned i = 0; i < c->n; i++) {
		const struct lock_order *order = &l->orders.at[c->orders[i]];
		const struct trace_thread *t = &l->info->threads.at[order->thread];

		out_str(o, "  ");
		print_lock(l, order->from, o);
		out_str(o, " taken in ");
		print_site(l, order->from_site, o);
		out_str(o, ", then ");
		print_lock(l, order->to, o);
		out_str(o, " in ");
		print_site(l, order->site, o);
		out_printf(o, ": %" PRIu64 " times, first by ", order->count);
		out_name(o, trace_thread_name(t), TRACE_COMM);
		out_printf(o, "-%" PRIu32 "\n", t->tid);
	}
}

/* By locks, whatever the rows are: places would give the same. */
static struct lock_sums sum_of(const struct locks *l)
{
	struct lock_sums sum = { 0 };

	for (size_t i = 0; i < l->locks.n; i++) {
		sum.acquired += l->locks.at[i].sums.acquired;
		sum.contended += l->locks.at[i].sums.contended;
		sum.wait += l->locks.at[i].sums.wait;
		sum.hold += l->locks.at[i].sums.hold;
	}
	return sum;
}

/* Losses first: whoever reads the table should know that it is not whole. */
void locks_print_table(struct locks *l, enum locks_by by, enum locks_column column, size_t n,
		       struct out *o)
{
	const struct lock_row **rows = sorted_rows(l, by, column, &n);
	const struct lock_sums sum = sum_of(l);

	losses_print(l->info, o);
	print_titles(by, o);
	for (size_t i = 0; i < n; i++)
		print_row(l, by, rows[i], o);
	out_u64(o, sum.acquired, SUMMARY_COLUMN, ' ');
	out_u64(o, sum.contended, SUMMARY_COLUMN, ' ');
	summary_print_time(o, ns_of(l, sum.wait));
	out_printf(o, "  in all, %zu locks\n", l->locks.n);
	for (size_t i = 0; i < l->circles.n; i++)
		print_circle(l, &l->circles.at[i], o);
	if (l->orders_left_out)
		out_printf(o, "# %" PRIu64 " orders were not looked at: there are too many\n",
			   l->orders_left_out);
	free(rows);
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void print_json_row(struct locks *l, enum locks_by by, const struct lock_row *r,
			   struct out *o)
{
	out_printf(o, "{\"kind\":\"%s\"", locks_kind_words[r->kind]);
	if (by == LOCKS_BY_LOCK)
		out_printf(o, ",\"pid\":%" PRIu32 ",\"lock\":\"0x%" PRIx64 "\",\"first_site\":",
			   r->pid, r->address);
	else
		out_str(o, ",\"site\":");
	print_json_site(l, by == LOCKS_BY_LOCK ? r->site : (uint32_t)(r - l->sites.at), o);
	for (unsigned c = 0; c < LOCKS_COLUMNS_N; c++) {
		out_printf(o, ",\"%s%s\":", locks_column_words[c], is_time(c) ? "_ns" : "");
		if (has_number(r, c))
			out_u64(o, is_time(c) ? ns_of(l, number_in(r, c)) : number_in(r, c), 0,
				' ');
		else
			out_str(o, "null");
	}
	out_str(o, "}\n");
}

/* In the order of the circle, as the table prints it. */
static void print_json_circle(struct locks *l, const struct lock_circle *c, struct out *o)
{
	out_str(o, "{\"could_deadlock\":[");
	for (unsigned i = 0; i < c->n; i++) {
		const struct lock_order *order = &l->orders.at[c->orders[i]];

		out_printf(o, "%s{\"held\":\"0x%" PRIx64 "\",\"taken\":\"0x%" PRIx64 "\",\"held_site\":",
			   i ? "," : "", l->locks.at[order->from].address,
			   l->locks.at[order->to].address);
		print_json_site(l, order->from_site, o);
		out_str(o, ",\"taken_site\":");
		print_json_site(l, order->site, o);
		out_printf(o, ",\"tid\":%" PRIu32 ",\"count\":%" PRIu64 "}",
			   l->info->threads.at[order->thread].tid, order->count);
	}
	out_str(o, "]}\n");
}

/* One object a line: the whole first, which names the schema, then one for each row, then one for
 * each circle of orders. */
void locks_print_json(struct locks *l, enum locks_by by, enum locks_column column, size_t n,
		      struct out *o)
{
	const struct lock_row **rows = sorted_rows(l, by, column, &n);
	const struct lock_sums sum = sum_of(l);

	out_str(o, "{\"schema\":\"brace-locks\",\"version\":1");
	losses_print_json(l->info, o);
	out_printf(o, ",\"locks\":%zu,\"acquired\":%" PRIu64 ",\"contended\":%" PRIu64 ",\"wait_ns\":%"
		   PRIu64 ",\"hold_ns\":%" PRIu64 ",\"foreign\":%" PRIu64 ",\"orders_left_out\":%" PRIu64
		   "}\n", l->locks.n, sum.acquired, sum.contended, ns_of(l, sum.wait),
		   ns_of(l, sum.hold), l->foreign, l->orders_left_out);
	for (size_t i = 0; i < n; i++)
		print_json_row(l, by, rows[i], o);
	for (size_t i = 0; i < l->circles.n; i++)
		print_json_circle(l, &l->circles.at[i], o);
	free(rows);
}
