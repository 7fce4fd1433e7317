/* SPDX-License-Identifier: MIT */
/* Puts rows that did not come in the order of time into it. Private to src/query. */
#pragma once
#include "query/load.h"

/* Sorts slices and events by ts. Slices that were recorded at their ends get their parents. 0, or
 * -errno and *err (no room for the copy). */
int order_rows(struct load *l, struct err *err);
