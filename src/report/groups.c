/* SPDX-License-Identifier: MIT */
/* Joins the rows of runs, and Welch's t-test. Called by cmd/diff.c, on its thread; nothing fails.
 * The test is Welch's, not Mann and Whitney's: of three runs on each side no order of ranks is
 * rarer than one in ten, so that ranks could never tell a change. */
#include "report/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/compare.h"

/* --- rows --------------------------------------------------------------------------------- */

/* A row of one run. */
struct group_row { struct compare_key key; size_t run; };

/* Then by run, so that a function's rows come in the order of the runs. */
static int by_name(const void *p, const void *q)
{
	const struct group_row *x = p, *y = q;
	int c = compare_keys(&x->key, &y->key);

	return c ? c : x->run > y->run ? 1 : x->run < y->run ? -1 : 0;
}

/* All rows of all runs, equal ones behind each other; free() it. */
static struct group_row *sorted_rows(const struct summary *const *runs, size_t n, size_t *total)
{
	struct group_row *rows;

	*total = 0;
	for (size_t r = 0; r < n; r++)
		*total += runs[r]->rows.n;
	rows = mem_realloc(NULL, *total + 1, sizeof(*rows));
	*total = 0;
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < runs[r]->rows.n; i++)
			rows[(*total)++] = (struct group_row){
				compare_key_of(runs[r], &runs[r]->rows.at[i]), r };
	qsort(rows, *total, sizeof(*rows), by_name);
	return rows;
}

/* The program's file is called as in the first run. */
static const char *module_of(const struct summary *first, const struct group_row *row)
{
	return *row->key.module ? row->key.row->module : compare_program(first);
}

/* Rounded means of n equal rows of `runs` runs. Durations are those of the runs that have any. */
static struct summary_row mean_row(const struct group_row *rows, size_t n, size_t runs)
{
	struct summary_row mean = *rows[0].key.row;

	mean.name = mem_strdup(mean.name);
	for (unsigned c = 0; c < SUMMARY_NUMBERS; c++) {
		const size_t of = c <= SUMMARY_SELF ? runs : n;
		double sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += (double)rows[i].key.row->value[c];
		mean.value[c] = (uint64_t)llround(sum / (double)of);
	}
	return mean;
}

/* A function that a run lacks counts as 0 in it: the mean is over all runs. Rows of one function
 * are neighbours after sorting. */
void group_make(struct run_group *g, const struct summary *const *runs, size_t n,
		enum summary_column column)
{
	size_t total;
	struct group_row *rows = sorted_rows(runs, n, &total);

	*g = (struct run_group){ .runs = n, .mean = *runs[0] };
	memset(&g->mean.rows, 0, sizeof(g->mean.rows));
	g->values = mem_realloc(NULL, total * n + 1, sizeof(*g->values));
	g->sums = mem_realloc(NULL, n, sizeof(*g->sums));
	memset(g->sums, 0, n * sizeof(*g->sums));
	for (size_t r = 0; r < n; r++)
		g->mean.cut |= runs[r]->cut;
	for (size_t i = 0, first = 0; i < total; i++) {
		double *values = g->values + g->mean.rows.n * n;

		if (i == first)
			memset(values, 0, n * sizeof(*values));
		values[rows[i].run] += (double)rows[i].key.row->value[column];
		g->sums[rows[i].run] += (double)rows[i].key.row->value[column];
		if (i + 1 < total && !compare_keys(&rows[i].key, &rows[i + 1].key))
			continue;
		*vec_add(&g->mean.rows) = mean_row(rows + first, i + 1 - first, n);
		g->mean.rows.at[g->mean.rows.n - 1].module = module_of(runs[0], &rows[first]);
		first = i + 1;
	}
	free(rows);
}

void group_free(struct run_group *g)
{
	summary_free(&g->mean);
	free(g->values);
	free(g->sums);
}

/* A row's values lie at its own index: `row` must be one of the group's. */
const double *group_values(const struct run_group *g, const struct summary_row *row)
{
	return g->values + (size_t)(row - g->mean.rows.at) * g->runs;
}

/* --- statistics --------------------------------------------------------------------------- */

/* The deviation of a sample, divided by n - 1: a single run has none. */
struct group_spread group_spread(const double *values, size_t n)
{
	struct group_spread s = { 0 };
	double squares = 0;

	for (size_t i = 0; i < n; i++)
		s.mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	s.deviation = sqrt(squares / (double)(n - 1));
	return s;
}

#define FRACTIONS 300      /* more than any number of runs needs */
#define PRECISION 1e-14
#define TINY 1e-300        /* in the place of 0 in a denominator */

/* Lentz's method divides by its terms, any of which may be 0. */
static double not_zero(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

/* The continued fraction of the incomplete beta function, by Lentz's method (Abramowitz and Stegun,
 * 26.5.8). It converges fast where x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), result = d;

	for (int m = 1; m <= FRACTIONS; m++) {
		const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		result *= d * c;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		result *= d * c;
		if (fabs(d * c - 1) < PRECISION)
			break;
	}
	return result;
}

/* The regularised incomplete beta function. */
static double beta_part(double a, double b, double x)
{
	double front;
	int ignored;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma_r(a + b, &ignored) - lgamma_r(a, &ignored) - lgamma_r(b, &ignored) +
		    a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Deviations that are only rounding are none. */
static bool is_steady(struct group_spread s)
{
	return s.deviation <= 1e-12 * fabs(s.mean);
}

/* Welch's t-test, two-sided: the two groups may differ in size and spread. Groups without any
 * spread are equal or not, and no t can be had of them. */
double group_probability(const double *a, size_t n_a, const double *b, size_t n_b)
{
	const struct group_spread x = group_spread(a, n_a), y = group_spread(b, n_b);
	const double v = x.deviation * x.deviation / (double)n_a,
		     w = y.deviation * y.deviation / (double)n_b;
	double freedom, t;

	if (is_steady(x) && is_steady(y))
		return fabs(x.mean - y.mean) <= 1e-9 * fmax(fabs(x.mean), fabs(y.mean));
	t = (x.mean - y.mean) / sqrt(v + w);
	freedom = (v + w) * (v + w) / (v * v / (double)(n_a - 1) + w * w / (double)(n_b - 1));
	return beta_part(freedom / 2, 0.5, freedom / (freedom + t * t));
}
