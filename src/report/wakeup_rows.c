/* SPDX-License-Identifier: MIT */
/* The rows of wakeup.c: counted while events come, sorted and printed after the last one. The same
 * thread calls all of it; nothing fails but the output, whose error stays in it. Times are kept in
 * ticks and converted where they are printed. */
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "report/losses.h"
#include "report/summary.h"
#include "report/wakeup_internal.h"

#define NO_FUNCTION UINT32_MAX

const char *const wakeup_way_words[WAY_N] = {
#define X(id, word) [WAY_##id] = word,
	WAKEUP_WAYS(X)
#undef X
};
const char *const wakeup_column_words[WAKEUP_COLUMNS_N] = {
#define X(id, word) [WAKEUP_##id] = word,
	WAKEUP_COLUMNS(X)
#undef X
};
const char *const wakeup_by_words[WAKEUP_BY_N] = { "thread", "way", "waker", "function" };

/* --- counting ------------------------------------------------------------------------------- */

/* The order of the tree; rows are sorted for printing later. Bytes are compared, not numbers: any
 * fixed order does for a tree. The keys have no padding. */
static int by_key(const void *a, const void *b)
{
	const struct wakeup_row *x = a, *y = b;

	return memcmp(x->key, y->key, sizeof(x->key));
}

/* The image in which the thread's functions are to be looked up. */
static uint32_t image_of(const struct wakeup *w, uint32_t thread)
{
	return w->info->threads.at[thread].image;
}

/* By function: the waker's and the wakee's innermost one, and their images. What a sort of rows
 * does not tell apart stays 0. */
static void key_of(const struct wakeup *w, const struct wakeup_wait *wait,
		   const struct wakeup_wake *wake, enum wakeup_way way, uint32_t key[4])
{
	memset(key, 0, 4 * sizeof(*key));
	if (w->by == WAKEUP_BY_FUNCTION) {
		key[0] = wake->n ? wake->functions[0] : NO_FUNCTION;
		key[1] = wake->n ? image_of(w, wake->thread) : 0;
		key[2] = wait->n ? wait->functions[0] : NO_FUNCTION;
		key[3] = wait->n ? image_of(w, wait->thread) : 0;
		return;
	}
	key[0] = (uint32_t)way;
	if (w->by != WAKEUP_BY_WAY)
		key[1] = wait->thread;
	if (w->by == WAKEUP_BY_WAKER)
		key[2] = wake->thread;
}

/* The tree holds addresses: rows are allocated one by one and stay where they are. */
static struct wakeup_row *row_of(struct wakeup *w, const struct wakeup_row *key)
{
	void *found = tfind(key, &w->rows_by_key, by_key);
	struct wakeup_row *row;

	if (found)
		return *(struct wakeup_row **)found;
	row = mem_zalloc(sizeof(*row));
	memcpy(row->key, key->key, sizeof(row->key));
	if (!tsearch(row, &w->rows_by_key, by_key))
		abort(); /* as mem_zalloc() without memory */
	*vec_add(&w->rows) = row;
	return row;
}

/* Keeps the longest wake-up of all, with both stacks; the first of equal ones. */
static void keep_worst(struct wakeup *w, const struct wakeup_wait *wait,
		       const struct wakeup_wake *wake, enum wakeup_way way, uint64_t ticks)
{
	struct wakeup_worst *x = &w->worst;

	if (x->known && ticks <= x->ticks)
		return;
	*x = (struct wakeup_worst){ true, ticks, wait->in - ticks, wait->in, way, wait->thread,
				    wake->thread, wait->cpu, wake->cpu, { 0 }, { 0 }, wait->n,
				    wake->n };
	memcpy(x->wakee_functions, wait->functions, sizeof(wait->functions));
	memcpy(x->waker_functions, wake->functions, sizeof(wake->functions));
}

/* Ticks from the wake to the switch in. 0 where the two clocks' difference would make them less. A
 * wait is counted once, when wakeup.c has decided who ended it. */
void wakeup_rows_add(struct wakeup *w, const struct wakeup_wait *wait,
		     const struct wakeup_wake *wake, enum wakeup_way way)
{
	uint64_t from = wakeup_time(wake, wait->out);
	uint64_t ticks = wait->in > from ? wait->in - from : 0;
	struct wakeup_row key = { 0 }, *row;

	key_of(w, wait, wake, way, key.key);
	row = row_of(w, &key);
	row->count++;
	row->total += ticks;
	row->max = ticks > row->max ? ticks : row->max;
	histogram_add(&row->times, &w->pool, ticks);
	w->woken++;
	w->ticks += ticks;
	keep_worst(w, wait, wake, way, ticks);
	if (w->found)
		w->found(w->found_arg, &(struct wakeup_found){ wait->in - ticks, wait->in,
							       wait->thread, wake->thread,
							       wait->cpu, wake->cpu,
							       wait->functions,
							       wake->functions, wait->n,
							       wake->n });
}

/* tdestroy() wants a function. */
static void keep_node(void *node)
{
}

/* Also before any row was made. */
void wakeup_rows_free(struct wakeup *w)
{
	tdestroy(w->rows_by_key, keep_node); /* the rows are in w->rows */
	for (size_t i = 0; i < w->rows.n; i++) {
		histogram_free(&w->rows.at[i]->times);
		free(w->rows.at[i]->name);
		free(w->rows.at[i]);
	}
	vec_free(&w->rows);
	histogram_pool_free(&w->pool);
}

/* --- names ---------------------------------------------------------------------------------- */

/* Threads and functions have the names that programs gave them: printed by out_foreign(). */
static void write_thread(const struct wakeup *w, uint32_t thread, FILE *to)
{
	const struct trace_thread *t = &w->info->threads.at[thread];

	fprintf(to, "%.*s-%" PRIu32, TRACE_COMM, trace_thread_name(t), t->tid);
}

/* "?": no recorded function was open. */
static void write_function(struct wakeup *w, uint32_t image, uint32_t fn, FILE *to)
{
	const struct name n = fn == NO_FUNCTION ? (struct name){ "?", 1, false }
						: names_of(&w->names, image, fn);

	fprintf(to, "%.*s", (int)n.n, n.text);
}

/* The row's name, for free(): WAKER -> WOKEN and the way, as far as the rows tell them. */
static char *name_of(struct wakeup *w, const struct wakeup_row *r)
{
	char *text;
	size_t bytes;
	FILE *to = mem_stream(&text, &bytes);

	if (w->by == WAKEUP_BY_FUNCTION) {
		write_function(w, r->key[1], r->key[0], to);
		fputs(" -> ", to);
		write_function(w, r->key[3], r->key[2], to);
	} else {
		if (w->by == WAKEUP_BY_WAKER) {
			write_thread(w, r->key[2], to);
			fputs(" -> ", to);
		}
		if (w->by != WAKEUP_BY_WAY) {
			write_thread(w, r->key[1], to);
			fputs("  ", to);
		}
		fputs(wakeup_way_words[r->key[0]], to);
	}
	mem_stream_close(to, &text);
	return text;
}

/* --- order ---------------------------------------------------------------------------------- */

/* A percentile is the middle of a bucket: it must not leave the range of real times. The least time
 * is not kept, so that the upper end alone is held. A row has a wake-up at least, so that count is
 * not 0. */
static uint64_t number_in(const struct wakeup_row *r, enum wakeup_column c)
{
	uint64_t v = r->max;

	if (c == WAKEUP_COUNT)
		return r->count;
	if (c == WAKEUP_MEAN)
		return r->total / r->count;
	if (c == WAKEUP_P50 || c == WAKEUP_P99)
		v = histogram_percentile(&r->times, r->count, c == WAKEUP_P50 ? 50 : 99);
	return v > r->max ? r->max : v;
}

struct wakeup_order { enum wakeup_column by; bool reverse; };

/* Equal rows by name, so that the order does not depend on that of the records. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct wakeup_row *x = *(struct wakeup_row *const *)a;
	const struct wakeup_row *y = *(struct wakeup_row *const *)b;
	const struct wakeup_order *o = arg;
	uint64_t p = o->by == WAKEUP_NAME ? 0 : number_in(x, o->by);
	uint64_t q = o->by == WAKEUP_NAME ? 0 : number_in(y, o->by);
	int c = p > q ? -1 : p < q;

	if (!c)
		c = strcmp(x->name, y->name);
	return o->reverse ? -c : c;
}

/* Names are made here, and made anew by a second call: those of threads may have come since. */
void wakeup_sort(struct wakeup *w, enum wakeup_column by, bool reverse)
{
	struct wakeup_order o = { by, reverse };

	for (size_t i = 0; i < w->rows.n; i++) {
		free(w->rows.at[i]->name);
		w->rows.at[i]->name = name_of(w, w->rows.at[i]);
	}
	if (w->rows.n)
		qsort_r(w->rows.at, w->rows.n, sizeof(*w->rows.at), compare_rows, &o);
}

/* --- table ---------------------------------------------------------------------------------- */

/* A length of ticks in ns. */
static uint64_t ns_of(const struct wakeup *w, uint64_t ticks)
{
	return trace_clock_delta_ns(&w->info->clock, ticks);
}

/* In the columns of `brace report`. */
static void print_time(const struct wakeup *w, uint64_t ticks, struct out *o)
{
	summary_print_time(o, ns_of(w, ticks));
}

/* COMM-TID, as in a trace. The name is the program's: out_name() escapes it. */
static void print_name(struct wakeup *w, uint32_t thread, struct out *o)
{
	out_name(o, trace_thread_name(&w->info->threads.at[thread]), TRACE_COMM);
	out_printf(o, "-%" PRIu32, w->info->threads.at[thread].tid);
}

/* The innermost one stands last, as in a graph. */
static void print_functions(struct wakeup *w, uint32_t thread, const uint32_t *ids, unsigned n,
			    struct out *o)
{
	for (unsigned i = n; i-- > 0;) {
		const struct name name = names_of(&w->names, image_of(w, thread), ids[i]);

		out_str(o, i + 1 == n ? " in " : " > ");
		out_foreign(o, name.text, name.n);
	}
}

/* Two lines that read as a story: who wakes, and how much later who runs. */
static void print_worst(struct wakeup *w, struct out *o)
{
	const struct wakeup_worst *x = &w->worst;
	uint64_t ns = ns_of(w, x->enter > w->first ? x->enter - w->first : 0);

	out_printf(o, "\nThe longest (%s), %" PRIu64 ".%06" PRIu64 " s after the first record:\n",
		   wakeup_way_words[x->way], ns / 1000000000, ns / 1000 % 1000000);
	summary_print_time(o, 0);
	out_str(o, "  ");
	print_name(w, x->waker, o);
	print_functions(w, x->waker, x->waker_functions, x->waker_n, o);
	out_printf(o, ", on CPU %u, wakes\n", x->waker_cpu);
	print_time(w, x->ticks, o);
	out_str(o, "  ");
	print_name(w, x->wakee, o);
	print_functions(w, x->wakee, x->wakee_functions, x->wakee_n, o);
	out_printf(o, ", which runs on CPU %u\n", x->wakee_cpu);
}

/* The heading. */
static void print_titles(const struct wakeup *w, struct out *o)
{
	static const char *const titles[] = { "COUNT", "MEAN", "P50", "P99", "MAX" };
	static const char *const rows[WAKEUP_BY_N] = { "WOKEN BY", "WAY", "WAKER -> WOKEN BY",
						       "WAKER -> WOKEN" };

	for (unsigned c = 0; c < WAKEUP_NAME; c++)
		out_printf(o, "%*s", SUMMARY_COLUMN, titles[c]);
	out_printf(o, "  %s\n", rows[w->by]);
}

/* The columns of times, then the name. */
static void print_row(struct wakeup *w, const struct wakeup_row *r, struct out *o)
{
	out_u64(o, r->count, SUMMARY_COLUMN, ' ');
	for (unsigned c = WAKEUP_MEAN; c < WAKEUP_NAME; c++)
		print_time(w, number_in(r, c), o);
	out_str(o, "  ");
	out_name(o, r->name, strlen(r->name));
	out_char(o, '\n');
}

/* n 0: all of them. The sum below the table is of all rows in any case. */
static size_t rows_shown(const struct wakeup *w, size_t n)
{
	return n && n < w->rows.n ? n : w->rows.n;
}

/* Losses first: whoever reads the table should know that it is not whole. */
void wakeup_print_table(struct wakeup *w, size_t n, struct out *o)
{
	losses_print(w->info, o);
	print_titles(w, o);
	for (size_t i = 0; i < rows_shown(w, n); i++)
		print_row(w, w->rows.at[i], o);
	out_u64(o, w->woken, SUMMARY_COLUMN, ' ');
	print_time(w, w->woken ? w->ticks / w->woken : 0, o);
	out_printf(o, "  in all; besides, %" PRIu64 " waits ended by a timer, and %" PRIu64
		   " by nobody who is in the trace\n", w->timers, w->unseen);
	if (w->worst.known)
		print_worst(w, o);
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* One object for each thread, with numbers as numbers: the text COMM-TID cannot be taken apart
 * safely. */
static void print_json_thread(const struct wakeup *w, const char *key, uint32_t thread,
			      struct out *o)
{
	const struct trace_thread *t = &w->info->threads.at[thread];
	/* A name that fills its array has no NUL. */
	char comm[TRACE_COMM + 1] = "";

	memcpy(comm, trace_thread_name(t), strnlen(trace_thread_name(t), TRACE_COMM));
	out_printf(o, ",\"%s\":{\"comm\":", key);
	json_string(o, comm);
	out_printf(o, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 "}", t->pid, t->tid);
}

/* null: no recorded function was open. */
static void print_json_function(struct wakeup *w, uint32_t image, uint32_t fn, struct out *o)
{
	char *text;
	size_t bytes;
	FILE *to = mem_stream(&text, &bytes);

	write_function(w, image, fn, to);
	mem_stream_close(to, &text);
	json_string(o, fn == NO_FUNCTION ? NULL : text);
	free(text);
}

/* The innermost first: a reader that wants one function takes the first. The table has them the
 * other way round, as people read a stack. */
static void print_json_functions(struct wakeup *w, const char *key, uint32_t thread,
				 const uint32_t *ids, unsigned n, struct out *o)
{
	out_printf(o, ",\"%s\":[", key);
	for (unsigned i = 0; i < n; i++) {
		out_str(o, i ? "," : "");
		print_json_function(w, image_of(w, thread), ids[i], o);
	}
	out_char(o, ']');
}

/* The row's key, by members of their own; the text's arrow is for people. */
static void print_json_key(struct wakeup *w, const struct wakeup_row *r, struct out *o)
{
	if (w->by == WAKEUP_BY_FUNCTION) {
		out_str(o, ",\"waker_function\":");
		print_json_function(w, r->key[1], r->key[0], o);
		out_str(o, ",\"wakee_function\":");
		print_json_function(w, r->key[3], r->key[2], o);
		return;
	}
	out_printf(o, ",\"way\":\"%s\"", wakeup_way_words[r->key[0]]);
	if (w->by != WAKEUP_BY_WAY)
		print_json_thread(w, "wakee", r->key[1], o);
	if (w->by == WAKEUP_BY_WAKER)
		print_json_thread(w, "waker", r->key[2], o);
}

/* Times count from the first record on, as those of `replay` do. */
static void print_json_worst(struct wakeup *w, struct out *o)
{
	const struct wakeup_worst *x = &w->worst;

	out_printf(o, "{\"longest_ns\":%" PRIu64 ",\"at_ns\":%" PRIu64 ",\"way\":\"%s\","
		   "\"waker_cpu\":%u,\"wakee_cpu\":%u", ns_of(w, x->ticks),
		   ns_of(w, x->enter > w->first ? x->enter - w->first : 0),
		   wakeup_way_words[x->way], x->waker_cpu, x->wakee_cpu);
	print_json_thread(w, "waker", x->waker, o);
	print_json_thread(w, "wakee", x->wakee, o);
	print_json_functions(w, "waker_functions", x->waker, x->waker_functions, x->waker_n, o);
	print_json_functions(w, "wakee_functions", x->wakee, x->wakee_functions, x->wakee_n, o);
	out_str(o, "}\n");
}

/* One object a line: the whole first, which names the schema, then one for each row, and the
 * longest wake-up. Functions stand the innermost first. */
void wakeup_print_json(struct wakeup *w, size_t n, struct out *o)
{
	out_str(o, "{\"schema\":\"brace-wakeup\",\"version\":1");
	losses_print_json(w->info, o);
	out_printf(o, ",\"count\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"timers\":%" PRIu64
		   ",\"unseen\":%" PRIu64 "}\n", w->woken, ns_of(w, w->ticks), w->timers, w->unseen);
	for (size_t i = 0; i < rows_shown(w, n); i++) {
		const struct wakeup_row *r = w->rows.at[i];

		out_printf(o, "{\"count\":%" PRIu64, r->count);
		for (unsigned c = WAKEUP_MEAN; c < WAKEUP_NAME; c++)
			out_printf(o, ",\"%s_ns\":%" PRIu64, wakeup_column_words[c],
				   ns_of(w, number_in(r, c)));
		print_json_key(w, r, o);
		out_str(o, "}\n");
	}
	if (w->worst.known)
		print_json_worst(w, o);
}
