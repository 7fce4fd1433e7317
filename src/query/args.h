/* SPDX-License-Identifier: MIT */
/* Perfetto's table `args`: the fields of events, and what calls took and returned. A set of an
 * event has the event's number; those of calls come behind, in the order of calls. Private to
 * src/query. */
#pragma once
#include "query/table.h"

#define ARGS_COLUMNS                                                                         \
	"id INTEGER, arg_set_id INTEGER, flat_key TEXT, key TEXT, int_value INTEGER, "       \
	"string_value TEXT, real_value REAL, value_type TEXT, display_value"
/* In the order of ARGS_COLUMNS. */
enum args_column {
	ARGS_ID, ARGS_SET, ARGS_FLAT, ARGS_KEY, ARGS_INT, ARGS_STRING, ARGS_REAL, ARGS_TYPE,
	ARGS_DISPLAY,
};

/* The members of struct query_table. */
int args_need(struct query *q);
size_t args_n(const struct query *q);
void args_column(struct query *q, size_t row, int column, sqlite3_context *to);
uint64_t args_set(const struct query *q, size_t row);

/* The number of the set of the call in that row; it may be empty. The records are loaded. */
uint64_t args_set_of_call(const struct query *q, size_t slice);
/* Gives the value of that key in a set; nothing: there is none. After args_need(). */
void args_give(struct query *q, int64_t set, const char *key, sqlite3_context *to);
