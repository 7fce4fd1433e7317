/* SPDX-License-Identifier: MIT */
/* Several runs of one program as one side of a comparison: means, how far single runs are from
 * them, and whether two sides differ by more than that. */
#pragma once
#include "report/summary.h"

struct run_group {
	struct summary mean;     /* rows of all runs; a run that lacks a row counts as 0 */
	size_t runs;
	char *const *files;      /* their names; the maker's, for what prints */
	double *values;          /* of the column, in ns or calls: runs of them for each row */
	double *sums;            /* the column's sum over all rows, for each run */
};

/* A number of a group's runs. */
struct group_spread { double mean, deviation; };

/* Rows of the runs are matched as compare_make() matches two. The runs' infos outlive *g;
 * group_free() frees it. */
void group_make(struct run_group *g, const struct summary *const *runs, size_t n,
		enum summary_column column);
void group_free(struct run_group *g);

/* The values of one of g->mean's rows. */
const double *group_values(const struct run_group *g, const struct summary_row *row);
/* Mean and sample standard deviation of n > 1 values. */
struct group_spread group_spread(const double *values, size_t n);
/* The probability that two such sets of numbers, or ones farther apart, come from runs of the same
 * mean: Welch's t-test, two-sided (B. L. Welch, Biometrika 34, 1947). Sets without any spread are
 * the same (1) or not (0). Each has more than one number. */
double group_probability(const double *a, size_t n_a, const double *b, size_t n_b);
#define GROUP_SIGNIFICANT 0.05
