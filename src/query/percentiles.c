/* SPDX-License-Identifier: MIT */
/* Exact percentiles: the value of rank ceil(n * p / 100) of a group's numbers; NULLs and texts do
 * not count. The numbers of one group are kept until it ends. SQLite calls all of it. On the thread
 * that has the query. */
#include "query/percentiles.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"

/* The values of one group. Whole numbers are kept as they are, and all of them as doubles once one
 * is not whole; doubles as whole numbers of the same order. */
struct group {
	VEC(int64_t) values;
	double percent;
	bool real; /* not all were whole numbers */
};

/* The bits of doubles above zero are ordered as whole numbers are; those below the other way round.
 * Each of the two undoes the other. */
static int64_t turn_negative(int64_t bits)
{
	return bits < 0 ? bits ^ INT64_MAX : bits;
}

/* Whole numbers of all groups are selected by one function, so doubles become such numbers. */
static int64_t keep_double(double v)
{
	int64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return turn_negative(bits);
}

/* The inverse of keep_double(), for the one number that was selected. */
static double kept_double(int64_t kept)
{
	int64_t bits = turn_negative(kept);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* The first value that is not whole turns all before it into doubles. Whole numbers beyond 2^53
 * lose digits by that, as in SQLite's own avg(). */
static void make_real(struct group *g)
{
	for (size_t i = 0; i < g->values.n && !g->real; i++)
		g->values.at[i] = keep_double((double)g->values.at[i]);
	g->real = true;
}

/* A text is no number here, also if it looks like one: SQLite's sum() would take it for one. */
static void add_value(struct group *g, sqlite3_value *v)
{
	int type = sqlite3_value_type(v);

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return;
	if (type == SQLITE_FLOAT)
		make_real(g);
	*vec_add(&g->values) = g->real ? keep_double(sqlite3_value_double(v))
				       : sqlite3_value_int64(v);
}

/* False: not a number, or none from 0 to 100. */
static bool read_percent(sqlite3_value *v, double *out)
{
	int type = sqlite3_value_numeric_type(v);

	*out = sqlite3_value_double(v);
	return (type == SQLITE_INTEGER || type == SQLITE_FLOAT) && *out >= 0 && *out <= 100;
}

/* The percentage is the function's own, or its second argument. SQLite zeroes a group's context
 * at its first row. */
static void step_group(sqlite3_context *c, int n, sqlite3_value **values)
{
	struct group *g = sqlite3_aggregate_context(c, sizeof(*g));
	const double *own = sqlite3_user_data(c);

	if (!g) {
		sqlite3_result_error_nomem(c);
		return;
	}
	if (own)
		g->percent = *own;
	else if (!read_percent(values[1], &g->percent)) {
		sqlite3_result_error(c, "the percentage is a number from 0 to 100", -1);
		return;
	}
	add_value(g, values[0]);
}

/* Moves values around until the one of that rank stands in its place (Hoare's FIND). rank is from
 * 0 and less than n, which is not 0. Linear on average; sorting would be n log n for one value. */
int64_t percentiles_select(int64_t *v, size_t n, size_t rank)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		int64_t pivot = v[low + (high - low) / 2];
		size_t i = low, k = high;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (pivot < v[k])
				k--;
			if (i >= k)
				break;
			int64_t kept = v[i];

			v[i++] = v[k];
			v[k--] = kept;
		}
		if (rank <= k)
			high = k;
		else
			low = k + 1;
	}
	return v[rank];
}

/* A percentage such as 86.4 has no double of its own: rank 648 of 750 is not 649 for that. */
size_t percentiles_rank(size_t n, double percent)
{
	double rank = ceil((double)n * percent / 100 * (1 - 4 * DBL_EPSILON));

	return rank < 1 ? 0 : (size_t)rank - 1;
}

/* Also called for a group that ended by an error: what is kept is freed in any case. */
static void finish_group(sqlite3_context *c)
{
	struct group *g = sqlite3_aggregate_context(c, 0);
	int64_t value;

	/* A group without numbers has no result, which is NULL. */
	if (!g || !g->values.n)
		return;
	value = percentiles_select(g->values.at, g->values.n,
				   percentiles_rank(g->values.n, g->percent));
	if (g->real)
		sqlite3_result_double(c, kept_double(value));
	else
		sqlite3_result_int64(c, value);
	vec_free(&g->values);
}

/* DETERMINISTIC lets SQLite factor calls out; INNOCUOUS allows them in views. */
int percentiles_create(sqlite3 *db)
{
	static double percent[] = { 50, 90, 95, 99 };
	static const char *const names[] = { "p50", "p90", "p95", "p99" };
	const int how = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int r = sqlite3_create_function_v2(db, "percentile", 2, how, NULL, NULL, step_group, finish_group, NULL);

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && r == SQLITE_OK; i++)
		r = sqlite3_create_function_v2(db, names[i], 1, how, &percent[i], NULL, step_group,
					       finish_group, NULL);
	return r;
}
