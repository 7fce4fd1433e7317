/* SPDX-License-Identifier: MIT */
/* Two summaries side by side: which rows came, went, or changed. */
#pragma once
#include "report/summary.h"

/* NULL: the trace does not have the row. */
struct compared_row { const struct summary_row *a, *b; };

struct comparison {
	const struct summary *a, *b;
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
/* The row that grew by the largest part of A's sum, and that part in hundredths of a percent; NULL:
 * none grew. */
const struct compared_row *compare_worst(const struct comparison *c, uint64_t *part);
/* Growth from a to b in hundredths of a percent of a; INT64_MAX: from nothing to something. */
int64_t compare_growth(uint64_t a, uint64_t b);

/* Print at most n rows (0: all). names: of the two files. */
void compare_print(const struct comparison *c, const char *const names[2], size_t n,
		   struct out *out);
void compare_print_json(const struct comparison *c, const char *const names[2], size_t n,
			struct out *out);
