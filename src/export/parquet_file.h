/* SPDX-License-Identifier: MIT */
/* Writes a Parquet file, of its public specification: groups of rows, a column behind the other,
 * compressed by zstd, and what is where at the end. Memory is bounded by a group. Private to
 * src/export. */
#pragma once
#include <stdbool.h>

#include "base/out.h"

enum parquet_kind {
	PARQUET_NUMBER, /* INT64 */
	PARQUET_TIME,   /* INT64: nanoseconds from the epoch, UTC */
	PARQUET_TEXT,   /* UTF-8 */
};

struct parquet_column {
	const char *name;
	enum parquet_kind kind;
	bool optional;  /* a row may have none: SQL's NULL */
};

struct parquet;

/* Begins a file whose bytes go to *o; parquet_end() it. The columns are the caller's, and stay. */
struct parquet *parquet_begin(struct out *o, const struct parquet_column *columns, size_t n);
/* Give the row's value of a column, each column once a row. Bytes that are no UTF-8 become U+FFFD,
 * as readers refuse them. */
void parquet_number(struct parquet *p, size_t column, uint64_t v);
void parquet_text(struct parquet *p, size_t column, const char *text);
void parquet_null(struct parquet *p, size_t column);
/* Ends a row. */
void parquet_row(struct parquet *p);
/* Writes what waits, and the footer; frees. by: who made it. */
void parquet_end(struct parquet *p, const char *by);
