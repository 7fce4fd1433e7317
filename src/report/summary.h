/* SPDX-License-Identifier: MIT */
/* `brace report`: a row a function, made by all cores from the threads' records.
 *
 * A thread's records are one job. A thread that holds more than a core's share is decoded by
 * one core while another adds it up. What each number says:
 *   calls  all calls, also those that had not ended and those whose end is not followed
 *   total  time inside the function; calls of itself further in are not counted again
 *   self   the part of it that was not spent in functions it called (that were traced)
 *   min, mean, p50, p99, max  of the single calls' durations; p50 and p99 are the values of
 *          rank ceil(n/2) and ceil(99n/100), within 1 %. All 0 when no call's end is known.
 * An event of the program's is a row too, SYSTEM:NAME, with the number of its records as calls.
 * A call that is open at the end of the trace lasted until its thread's last record. */
#pragma once
#include "trace/calls.h"
#include "base/out.h"

/* Where a thread's events come from. Everything but `open` is asked from several threads at
 * the same time, each with a cursor of its own. */
struct summary_input {
	const struct trace_info *info; /* must not change meanwhile */
	void *of;
	void *(*open)(void *of, uint32_t thread); /* NULL: no records */
	int (*next)(void *cursor, struct event *out, size_t n, struct err *err); /* as store_cursor_next */
	void (*close)(void *cursor);
};

struct store_reader;
struct summary_input summary_from_store(struct store_reader *r);

#define SUMMARY_COLUMNS(X)   \
	X(CALLS, "calls")    \
	X(TOTAL, "total")    \
	X(SELF, "self")      \
	X(MIN, "min")        \
	X(MEAN, "mean")      \
	X(P50, "p50")        \
	X(P99, "p99")        \
	X(MAX, "max")        \
	X(NAME, "name")      \
	X(MODULE, "module")

enum summary_column {
#define X(id, word) SUMMARY_##id,
	SUMMARY_COLUMNS(X)
#undef X
	SUMMARY_COLUMNS_N
};
extern const char *const summary_column_words[SUMMARY_COLUMNS_N];
/* SUMMARY_COLUMNS_N: no column has this name. */
enum summary_column summary_column_find(const char *word);

#define SUMMARY_NUMBERS SUMMARY_NAME
struct summary_row {
	uint64_t value[SUMMARY_NUMBERS]; /* by column; times in ns */
	char *name;                      /* as trace_function_name has it */
	const char *module;              /* last component of its path, of a PLT entry that of the library it leads to; "" = unknown. info's */
	bool symbol;                     /* name is a symbol, not module+offset */
};

struct summary {
	VEC(struct summary_row) rows;    /* functions that were called */
	struct calls_counts counts;
	bool cut;                        /* short calls are missing (a threshold): no self time is known, and all are 0 */
	const struct trace_info *info;   /* the input's */
};

/* workers: 0 = as many as there are cores. 0, or -errno and *err of an input. */
int summary_make(const struct summary_input *in, unsigned workers, struct summary *out, struct err *err);
void summary_free(struct summary *s);
/* Biggest first, names A to Z, or the other way about; equal ones by name. */
void summary_sort(struct summary *s, enum summary_column by, bool reverse);

/* n: rows at most; 0 = all. What was lost is said first. */
void summary_print_table(const struct summary *s, size_t n, struct out *out);
/* {"schema":"brace-report","version":1,...} with what was lost, then an object a line. */
void summary_print_json(const struct summary *s, size_t n, struct out *out);
