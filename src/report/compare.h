/* SPDX-License-Identifier: MIT */
/* Two summaries side by side: which rows came, went, or changed. */
#pragma once
#include "report/summary.h"

struct run_group;

/* The key that tells a row of a summary from others. */
struct compare_key { const struct summary_row *row; const char *module; };
/* The program's own functions have the module "": two builds have two names. */
struct compare_key compare_key_of(const struct summary *s, const struct summary_row *r);
/* As strcmp() does: 0: the same row of two summaries. */
int compare_keys(const struct compare_key *a, const struct compare_key *b);
/* The program's file name, "" if there is none. */
const char *compare_program(const struct summary *s);

/* NULL: the trace does not have the row. */
struct compared_row { const struct summary_row *a, *b; };

struct comparison {
	const struct summary *a, *b;
	/* groups of runs, of which a and b are the means; NULL: one run each */
	const struct run_group *groups[2];
	enum summary_column column;   /* that is looked at; not name, not module */
	VEC(struct compared_row) rows;
};

/* Rows of both are matched by name and module, the programs being one. The summaries must outlive
 * *c. compare_free() frees it. */
void compare_make(struct comparison *c, const struct summary *a, const struct summary *b,
		  enum summary_column column);
void compare_free(struct comparison *c);
/* The greatest change of the column first, up or down; `reverse`: the smallest. */
void compare_sort(struct comparison *c, bool reverse);

/* The column's sum over all rows of one side. */
uint64_t compare_sum(const struct summary *s, enum summary_column column);
/* The probability that runs of the same mean differ so much in this row, or, with r NULL, in the
 * sum of all; 0 without groups. */
double compare_probability(const struct comparison *c, const struct compared_row *r);
/* The row that grew by the largest part of A's sum, and that part in hundredths of a percent; NULL:
 * none grew. Of groups, a row that grew significantly. */
const struct compared_row *compare_worst(const struct comparison *c, uint64_t *part);
/* Growth from a to b in hundredths of a percent of a; INT64_MAX: from nothing to something. */
int64_t compare_growth(uint64_t a, uint64_t b);

/* Print at most n rows (0: all). names: of the two files, or of two groups as text. */
void compare_print(const struct comparison *c, const char *const names[2], size_t n,
		   struct out *out);
void compare_print_json(const struct comparison *c, const char *const names[2], size_t n,
			struct out *out);
