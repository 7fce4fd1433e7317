/* SPDX-License-Identifier: MIT */
/* Percentiles as SQL's aggregates. Private to src/query. */
#pragma once
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Adds p50, p90, p95, p99 and percentile(x, p). Returns SQLite's result. */
int percentiles_create(sqlite3 *db);

/* Returns the value of that rank, from 0, of n numbers, which it moves around; n is not 0. */
int64_t percentiles_select(int64_t *v, size_t n, size_t rank);
/* Returns the rank, from 0, of a percentage of n numbers; n is not 0. */
size_t percentiles_rank(size_t n, double percent);
