/* SPDX-License-Identifier: MIT */
/* The records of a trace as rows: calls and events, by time. Private to src/query. */
#pragma once
#include "query/array_file.h"
#include "store/store.h"
#include "trace/overloads.h"
#include "trace/trace_processes.h"
#include "trace/track_ends.h"

#define ROW_NONE UINT32_MAX /* no row */

enum slice_end {
	SLICE_OPEN,        /* while the trace is read */
	SLICE_RETURNED,
	SLICE_UNWOUND,     /* longjmp, exception */
	SLICE_UNFINISHED,  /* open at the end of the trace */
	SLICE_UNKNOWN,     /* its return is not followed: it has no duration */
	SLICE_ENDS
};
extern const char *const slice_end_words[SLICE_ENDS];

/* A call. Times in ns; ts of CLOCK_MONOTONIC. */
struct slice {
	uint64_t ts, dur, self, value;
	uint32_t function; /* row of functions */
	uint32_t track;    /* row of tracks */
	uint32_t parent;   /* row of slices, or ROW_NONE */
	/* has_args: call_records.h has something of it */
	uint32_t depth : 24, ended : 3, valued : 1, doubtful : 1, has_args : 1;
};

/* A record of an event. */
struct query_event {
	uint64_t ts, payload, bytes; /* its payload: from that word of `payloads` on */
	uint32_t event;              /* row of info->events */
	uint32_t thread, cpu;
};

struct query_function {
	char *text;
	int length;         /* of the text, up to its NUL */
	uint32_t name;      /* a number that equal texts share */
	const char *module; /* info's, or "" */
	uint32_t image, id; /* of info */
};

/* A stack: a thread's own, or a coroutine's. */
struct query_track {
	uint32_t thread; /* row of info->threads: the first that ran on it */
	uint32_t number; /* 0: the thread's own; else as coroutines are numbered in a process */
	VEC(uint32_t) open;  /* while the trace is read: rows of its open calls */
};

struct load {
	const struct excerpt_spec *part; /* what is read; NULL: all */
	struct store_reader *reader;
	const struct trace_info *info;
	struct trace_processes processes;
	bool done;                     /* the records are read: */
	struct array_file slices, events, payloads;
	/* of call_records.h; sorted by slice at the end */
	struct array_file call_records, call_words;
	VEC(struct query_function) functions;
	VEC(const char *) names;       /* a function's text, by its number; sorted */
	VEC(struct query_track) tracks;
	/* while the trace is read: */
	struct overloads overloads;
	struct number_map function_rows; /* image << 32 | id, + 1 -> row */
	struct number_map track_rows; /* process << 32 | number, or thread << 32 | UINT32_MAX */
	struct track_ends ends;
	bool unordered;                /* a row is earlier than the one before it */
	bool spans;                    /* calls were recorded at their ends; short ones were not */
	struct err *err;               /* set with failed */
	int failed;                    /* -errno */
};

/* Makes *l empty but for the processes, which info names. r is the caller's, and outlives it. */
void load_init(struct load *l, struct store_reader *r);
/* Frees what is in *l, which load_init() may then fill again. */
void load_free(struct load *l);
/* Reads the trace, the first time. 0, or -errno and *err; after a failure it is tried again. */
int load_records(struct load *l, struct err *err);

/* The rows of calls and of events, each with its number. Loading more rows moves them: addresses
 * hold only until then. NULL and 0 where nothing is loaded. */
static inline struct slice *load_slices(const struct load *l) { return l->slices.at; }
static inline size_t load_slices_n(const struct load *l)
{
	return l->slices.bytes / sizeof(struct slice);
}
static inline struct query_event *load_events(const struct load *l) { return l->events.at; }
static inline size_t load_events_n(const struct load *l)
{
	return l->events.bytes / sizeof(struct query_event);
}
