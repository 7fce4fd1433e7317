/* SPDX-License-Identifier: MIT */
/* Perfetto's tables `counter` and `thread_counter_track`: what the trace's events count. Private to
 * src/query. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/array_file.h"

struct query;
struct sqlite3_context;

/* A count of a thread, and its value at the latest event that was read. */
struct counter_track { uint32_t kind, thread, value; };

struct counters {
	struct array_file rows;                /* of counters.c, sorted by time */
	VEC(struct counter_track) tracks; /* in the order of their first events */
	bool made;
};

/* Frees what counters_need() made; nothing, if it was not called or failed. */
void counters_free(struct counters *c);

#define COUNTER_COLUMNS "id INTEGER, ts INTEGER, track_id INTEGER, value REAL"
#define COUNTER_TRACK_COLUMNS "id INTEGER, name TEXT, utid INTEGER, unit TEXT"

/* The members of struct query_table, of both tables. */
int counters_need(struct query *q);
size_t counters_n(const struct query *q);
void counters_column(struct query *q, size_t row, int column, struct sqlite3_context *to);
uint64_t counters_ts(const struct query *q, size_t row);
size_t counters_tracks_n(const struct query *q);
void counters_track_column(struct query *q, size_t row, int column, struct sqlite3_context *to);
