/* SPDX-License-Identifier: MIT */
/* Computes groups of calls: each thread goes through a part of the rows in their order, which
 * needs no index, and keeps sums by group; for percentiles the values are then laid down by group,
 * and the threads take group after group. What comes out does not depend on the number of threads.
 * Begins threads and waits for them, on the query's thread. */
#include "query/groups.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "query/percentiles.h"

#define GROUPS_MOST 65536u       /* possible ones: each thread has sums of all */
#define THREADS_MOST 8u
#define ROWS_FOR_THREADS 10000u  /* with fewer rows threads would only cost */
#define ROWS_AT_ONCE ((size_t)1 << 18) /* after so many their memory is let go */
/* Below it SQLite's avg(), which adds doubles, has added without rounding. */
#define EXACT_IN_DOUBLES (UINT64_C(1) << 53)

/* The state that the workers of one computation share. */
struct groups_work {
	struct query *q;
	const struct groups_spec *w;
	const struct slice *rows;
	size_t sizes[GROUPS_KEYS_MAX], n_groups;
	bool uses[GROUPS_COLUMNS];
	enum groups_column ranked;   /* the column whose values are laid down */
	uint64_t *begins;            /* by group: its place among the values; one more */
	int64_t *values;
	struct groups_cell *cells;   /* of all possible groups */
	atomic_size_t taken;         /* groups, so far */
};

/* A thread's part of it. */
struct groups_part {
	struct groups_work *work;
	size_t from, to;
	uint64_t *rows;              /* by group */
	struct groups_sum *sums;     /* by group and column */
	uint64_t *cursors;           /* by group: where its next value goes */
};

/* --- keys and columns --------------------------------------------------------------------- */

/* Keys are numbers from 0: a group is a place in an array, and needs no hash. */
static size_t key_size(const struct query *q, enum groups_key k)
{
	const struct load *l = &q->load;

	return k == GROUPS_THREAD  ? l->info->threads.n
	       : k == GROUPS_TRACK ? l->tracks.n
				   : l->names.n;
}

static size_t key_of(const struct load *l, const struct slice *s, enum groups_key k)
{
	return k == GROUPS_THREAD  ? l->tracks.at[s->track].thread
	       : k == GROUPS_TRACK ? s->track
				   : l->functions.at[s->function].name;
}

/* The numbers are those of groups.of, out of which a division gets both keys back. */
static size_t group_of(const struct groups_work *w, const struct slice *s)
{
	size_t g = key_of(&w->q->load, s, w->w->keys[0]);

	return w->w->n_keys < 2 ? g
				: key_of(&w->q->load, s, w->w->keys[1]) * w->sizes[0] + g;
}

/* False: NULL, as in slice_column() of tables.c. */
static bool value_of(const struct slice *s, enum groups_column c, uint64_t *v)
{
	*v = c == GROUPS_DUR    ? s->dur
	     : c == GROUPS_SELF ? s->self
	     : c == GROUPS_TS   ? s->ts
				: s->depth;
	return c >= GROUPS_TS || (s->ended != SLICE_UNKNOWN && s->ended != SLICE_OPEN);
}

/* A sum that overflows makes fill_cell() leave the statement to SQLite, which then tells the
 * overflow. */
static void add_to_sum(struct groups_sum *to, uint64_t v)
{
	to->min = !to->n || v < to->min ? v : to->min;
	to->max = v > to->max ? v : to->max;
	to->overflow |= __builtin_add_overflow(to->sum, v, &to->sum);
	to->n++;
}

/* --- threads ------------------------------------------------------------------------------ */

static void sum_rows(struct groups_part *p, size_t from, size_t to)
{
	const struct groups_work *w = p->work;

	for (size_t i = from; i < to; i++) {
		const struct slice *s = &w->rows[i];
		size_t g = group_of(w, s);
		uint64_t v;

		p->rows[g]++;
		for (unsigned c = 0; c < GROUPS_COLUMNS; c++)
			if (w->uses[c] && value_of(s, c, &v))
				add_to_sum(&p->sums[g * GROUPS_COLUMNS + c], v);
	}
}

/* Each part has a stretch of each group's values to itself, whose beginning rank_column() has
 * computed: no two threads write one place. */
static void lay_down_rows(struct groups_part *p, size_t from, size_t to)
{
	const struct groups_work *w = p->work;
	uint64_t v;

	for (size_t i = from; i < to; i++)
		if (value_of(&w->rows[i], w->ranked, &v))
			w->values[p->cursors[group_of(w, &w->rows[i])]++] = (int64_t)v;
}

/* Goes through a part's rows, and lets go of the memory of those that it has passed. */
static void pass_rows(struct groups_part *p,
		      void (*pass)(struct groups_part *p, size_t from, size_t to))
{
	const struct array_file *rows = &p->work->q->load.slices;

	for (size_t at = p->from; at < p->to; at += ROWS_AT_ONCE) {
		size_t to = p->to - at < ROWS_AT_ONCE ? p->to : at + ROWS_AT_ONCE;

		pass(p, at, to);
		array_file_rest(rows, at * sizeof(struct slice), to * sizeof(struct slice));
	}
}

/* A thread's function, as the two below. It reads rows that no longer change and writes its own
 * part; no lock is needed. */
static void *sum_part(void *arg)
{
	pass_rows(arg, sum_rows);
	return NULL;
}

static void *lay_down_part(void *arg)
{
	pass_rows(arg, lay_down_rows);
	return NULL;
}

/* Takes group after group; values of one group are only this thread's. */
static void *rank_groups(void *arg)
{
	struct groups_part *p = arg;
	struct groups_work *w = p->work;
	size_t g;

	/* Relaxed: only the number counts; what is read was there before the threads began. */
	while ((g = atomic_fetch_add_explicit(&w->taken, 1, memory_order_relaxed)) < w->n_groups) {
		size_t n = (size_t)(w->begins[g + 1] - w->begins[g]);

		for (size_t i = 0; n && i < w->w->n_values; i++) {
			const struct groups_value *v = &w->w->values[i];
			struct groups_cell *to = &w->cells[g * w->w->n_values + i];

			if (v->function != GROUPS_RANK || v->column != w->ranked)
				continue;
			to->null = false;
			to->number = percentiles_select(w->values + w->begins[g], n,
							percentiles_rank(n, v->percent));
		}
	}
	return NULL;
}

/* The processors that this process may use, not those that there are: taskset or a cpuset may
 * leave fewer. */
static size_t count_threads(const struct query *q, size_t n)
{
	cpu_set_t cpus;
	size_t threads;

	if (q->alone || n < ROWS_FOR_THREADS || sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	threads = (size_t)CPU_COUNT(&cpus);
	return threads < THREADS_MOST ? threads : THREADS_MOST;
}

/* Runs the function for each part. A thread that cannot be begun has its part done here. */
static void run_parts(struct groups_part *parts, size_t n, void *(*run)(void *arg))
{
	pthread_t threads[THREADS_MOST];
	bool begun[THREADS_MOST] = { false };

	for (size_t i = 1; i < n; i++)
		begun[i] = pthread_create(&threads[i], NULL, run, &parts[i]) == 0;
	run(&parts[0]);
	for (size_t i = 1; i < n; i++) {
		if (begun[i])
			pthread_join(threads[i], NULL);
		else
			run(&parts[i]);
	}
}

/* --- from parts to groups ------------------------------------------------------------------ */

/* One element more than is needed everywhere: an allocation of nothing has no address. */
static struct groups_part *parts_new(struct groups_work *w, size_t rows, size_t n)
{
	struct groups_part *parts = mem_zalloc(n * sizeof(*parts));

	for (size_t i = 0; i < n; i++) {
		parts[i] = (struct groups_part){ .work = w, .from = rows * i / n,
						 .to = rows * (i + 1) / n };
		parts[i].rows = mem_zalloc((w->n_groups + 1) * sizeof(uint64_t));
		parts[i].cursors = mem_zalloc((w->n_groups + 1) * sizeof(uint64_t));
		parts[i].sums = mem_zalloc((w->n_groups * GROUPS_COLUMNS + 1) *
					   sizeof(struct groups_sum));
	}
	return parts;
}

static void parts_free(struct groups_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(parts[i].rows);
		free(parts[i].cursors);
		free(parts[i].sums);
	}
	free(parts);
}

/* Sums of one group and column, of all parts. */
static struct groups_sum sum_of(const struct groups_part *parts, size_t n, size_t g,
				enum groups_column c)
{
	struct groups_sum all = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct groups_sum *s = &parts[i].sums[g * GROUPS_COLUMNS + c];

		if (!s->n)
			continue;
		all.min = !all.n || s->min < all.min ? s->min : all.min;
		all.max = s->max > all.max ? s->max : all.max;
		all.overflow |= s->overflow || __builtin_add_overflow(all.sum, s->sum, &all.sum);
		all.n += s->n;
	}
	return all;
}

static uint64_t rows_of(const struct groups_part *parts, size_t n, size_t g)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < n; i++)
		rows += parts[i].rows[g];
	return rows;
}

/* Fills a value that needs no order. False: SQLite's is another. */
static bool fill_cell(struct groups_cell *to, const struct groups_value *v,
		      const struct groups_sum *s, uint64_t rows)
{
	bool exact = !s->overflow && s->sum <= INT64_MAX;

	to->null = !s->n && v->function != GROUPS_COUNT && v->function != GROUPS_ROWS;
	switch (v->function) {
	case GROUPS_ROWS:
		to->number = (int64_t)rows;
		return true;
	case GROUPS_COUNT:
		to->number = (int64_t)s->n;
		return true;
	case GROUPS_SUM:
		to->number = (int64_t)s->sum;
		return exact; /* else it is an error, which SQLite tells */
	case GROUPS_MIN:
		to->number = (int64_t)s->min;
		return true;
	case GROUPS_MAX:
		to->number = (int64_t)s->max;
		return true;
	case GROUPS_AVG:
		to->real = true;
		to->value = s->n ? (double)s->sum / (double)s->n : 0;
		return exact && s->sum < EXACT_IN_DOUBLES;
	default: /* GROUPS_RANK: by rank_groups() */
		to->null = true;
		return true;
	}
}

/* False: one of the values would differ from SQLite's; then the whole statement is SQLite's. */
static bool fill_cells(struct groups_work *w, const struct groups_part *parts, size_t n)
{
	for (size_t g = 0; g < w->n_groups; g++) {
		uint64_t rows = rows_of(parts, n, g);

		for (size_t i = 0; rows && i < w->w->n_values; i++) {
			const struct groups_value *v = &w->w->values[i];
			struct groups_sum s = sum_of(parts, n, g, v->column);

			if (!fill_cell(&w->cells[g * w->w->n_values + i], v, &s, rows))
				return false;
		}
	}
	return true;
}

/* Lays a column's values down by group, and finds those of the ranks. */
static int rank_column(struct groups_work *w, struct groups_part *parts, size_t n,
		       enum groups_column c)
{
	struct array_file *values = &w->q->groups.values;
	uint64_t at = 0;
	int r;

	w->ranked = c;
	for (size_t g = 0; g < w->n_groups; g++) {
		w->begins[g] = at;
		for (size_t i = 0; i < n; i++) {
			parts[i].cursors[g] = at;
			at += parts[i].sums[g * GROUPS_COLUMNS + c].n;
		}
	}
	w->begins[w->n_groups] = at;
	values->bytes = 0;
	r = array_file_reserve(values, (size_t)(at + 1) * sizeof(int64_t), &w->q->err);
	if (r)
		return r;
	w->values = values->at;
	run_parts(parts, n, lay_down_part);
	/* Relaxed: the threads that take begin after this. */
	atomic_store_explicit(&w->taken, 0, memory_order_relaxed);
	run_parts(parts, n, rank_groups);
	return 0;
}

/* One column after the other, since all of them use one array. */
static int rank_all(struct groups_work *w, struct groups_part *parts, size_t n)
{
	int r = 0;

	for (unsigned c = 0; c < GROUPS_COLUMNS && !r; c++) {
		bool ranked = false;

		for (size_t i = 0; i < w->w->n_values; i++)
			ranked |= w->w->values[i].function == GROUPS_RANK &&
				  w->w->values[i].column == c;
		if (ranked)
			r = rank_column(w, parts, n, c);
	}
	return r;
}

/* Keeps the groups that have rows. */
static void keep_groups(struct groups_work *w, const struct groups_part *parts, size_t n)
{
	struct groups *to = &w->q->groups;

	to->spec = *w->w;
	to->of.n = to->cells.n = 0;
	for (size_t g = 0; g < w->n_groups; g++) {
		if (!rows_of(parts, n, g))
			continue;
		*vec_add(&to->of) = g;
		for (size_t i = 0; i < w->w->n_values; i++)
			*vec_add(&to->cells) = w->cells[g * w->w->n_values + i];
	}
}

/* False: there may be too many groups, or self times are asked for that nobody knows, because short
 * calls are not in the trace. */
static bool plan_groups(struct groups_work *w)
{
	w->n_groups = 1;
	for (size_t i = 0; i < w->w->n_keys; i++) {
		w->sizes[i] = key_size(w->q, w->w->keys[i]);
		if (w->sizes[i] > GROUPS_MOST || w->n_groups * w->sizes[i] > GROUPS_MOST)
			return false;
		w->n_groups *= w->sizes[i];
	}
	for (size_t i = 0; i < w->w->n_values; i++)
		w->uses[w->w->values[i].column] |= w->w->values[i].function != GROUPS_ROWS;
	return !(w->uses[GROUPS_SELF] && w->q->load.spans);
}

/* 1: the table brace_groups has the answer; 0: the statement is not for this file; -errno and
 * q->err. Which of the first two it is never depends on the machine. */
int groups_make(struct query *q, const struct groups_spec *spec)
{
	struct groups_work w = { .q = q, .w = spec };
	struct groups_part *parts;
	size_t n;
	int r = load_records(&q->load, &q->err);

	if (r)
		return r;
	if (!plan_groups(&w))
		return 0;
	w.rows = load_slices(&q->load);
	n = count_threads(q, load_slices_n(&q->load));
	parts = parts_new(&w, load_slices_n(&q->load), n);
	w.cells = mem_zalloc((w.n_groups * spec->n_values + 1) * sizeof(*w.cells));
	w.begins = mem_zalloc((w.n_groups + 1) * sizeof(*w.begins));
	run_parts(parts, n, sum_part);
	r = fill_cells(&w, parts, n);
	if (r) {
		int e = rank_all(&w, parts, n);

		r = e ? e : 1;
	}
	if (r == 1)
		keep_groups(&w, parts, n);
	parts_free(parts, n);
	free(w.cells);
	free(w.begins);
	return r;
}

void groups_free(struct groups *g)
{
	vec_free(&g->of);
	vec_free(&g->cells);
	array_file_free(&g->values);
}

/* --- the table ---------------------------------------------------------------------------- */

static size_t groups_n(const struct query *q)
{
	return q->groups.of.n;
}

/* Columns after the row's number: the keys, then the values. */
static void give_key(const struct query *q, size_t row, size_t i, sqlite3_context *to)
{
	const struct groups *g = &q->groups;
	size_t first = key_size(q, g->spec.keys[0]), key;

	if (i >= g->spec.n_keys)
		return;
	key = i ? g->of.at[row] / first : g->of.at[row];
	if (!i && g->spec.n_keys > 1)
		key %= first;
	if (g->spec.keys[i] == GROUPS_NAME)
		sqlite3_result_text(to, q->load.names.at[key], -1, SQLITE_STATIC);
	else
		sqlite3_result_int64(to, (sqlite3_int64)key);
}

/* Columns that the spec does not have are NULL; no statement that groups_read() writes asks for
 * them. */
static void group_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const struct groups *g = &q->groups;
	size_t i = (size_t)column - 1;
	const struct groups_cell *c;

	if (i < GROUPS_KEYS_MAX) {
		give_key(q, row, i, to);
		return;
	}
	i -= GROUPS_KEYS_MAX;
	if (i >= g->spec.n_values)
		return;
	c = &g->cells.at[row * g->spec.n_values + i];
	if (c->null)
		return;
	if (c->real)
		sqlite3_result_double(to, c->value);
	else
		sqlite3_result_int64(to, c->number);
}

const struct query_table groups_table = {
	"brace_groups",
	"id, k0, k1, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15",
	NULL, groups_n, group_column, 0, NULL, NULL, NULL,
};
