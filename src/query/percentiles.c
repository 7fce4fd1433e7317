/* SPDX-License-Identifier: MIT */
/* Exact percentiles: the value of rank ceil(n * p / 100) of a group's numbers; NULLs and texts do
 * not count. The numbers of one group are kept until it ends. SQLite calls all of it. */
#include "query/percentiles.h"

#include <math.h>
#include <stdbool.h>

#include "base/vec.h"

/* One group. Doubles hold times of a hundred days in ns exactly. */
struct group {
	VEC(double) values;
	double percent;
	bool real; /* not all were whole numbers */
};

static void add_value(struct group *g, sqlite3_value *v)
{
	int type = sqlite3_value_type(v);

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return;
	g->real |= type == SQLITE_FLOAT;
	*vec_add(&g->values) = sqlite3_value_double(v);
}

/* The percentage is the function's own, or its second argument. */
static void step(sqlite3_context *c, int n, sqlite3_value **values)
{
	struct group *g = sqlite3_aggregate_context(c, sizeof(*g));
	const double *own = sqlite3_user_data(c);

	if (!g) {
		sqlite3_result_error_nomem(c);
		return;
	}
	g->percent = own ? *own : sqlite3_value_double(values[1]);
	/* Asked so that a NaN is refused, too. */
	if (!(g->percent >= 0 && g->percent <= 100))
		sqlite3_result_error(c, "the percentage is from 0 to 100", -1);
	else
		add_value(g, values[0]);
}

/* Moves values around until the one of that rank (from 0) stands in its place (Hoare's FIND). */
static double select_rank(double *v, size_t n, size_t rank)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		double pivot = v[low + (high - low) / 2];
		size_t i = low, k = high;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (pivot < v[k])
				k--;
			if (i >= k)
				break;
			double kept = v[i];

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

static void finish(sqlite3_context *c)
{
	struct group *g = sqlite3_aggregate_context(c, 0);
	double rank, value;

	/* A group without numbers has no result, which is NULL. */
	if (!g || !g->values.n)
		return;
	rank = ceil((double)g->values.n * g->percent / 100);
	value = select_rank(g->values.at, g->values.n, rank < 1 ? 0 : (size_t)rank - 1);
	if (g->real)
		sqlite3_result_double(c, value);
	else
		sqlite3_result_int64(c, (sqlite3_int64)value);
	vec_free(&g->values);
}

int percentiles_create(sqlite3 *db)
{
	static double percent[] = { 50, 90, 95, 99 };
	static const char *const names[] = { "p50", "p90", "p95", "p99" };
	const int how = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int r = sqlite3_create_function_v2(db, "percentile", 2, how, NULL, NULL, step, finish, NULL);

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && r == SQLITE_OK; i++)
		r = sqlite3_create_function_v2(db, names[i], 1, how, &percent[i], NULL, step,
					       finish, NULL);
	return r;
}
