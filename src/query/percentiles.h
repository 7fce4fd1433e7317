/* SPDX-License-Identifier: MIT */
/* Percentiles as SQL's aggregates. Private to src/query. */
#pragma once
#include <sqlite3.h>

/* Adds p50, p90, p95, p99 and percentile(x, p). Returns SQLite's result. */
int percentiles_create(sqlite3 *db);
