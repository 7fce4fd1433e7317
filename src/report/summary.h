/* SPDX-License-Identifier: MIT */
/* `brace report`: a row for each function, made by all cores from the threads' records.
 *
 * A thread's records are one job. If a thread holds more than a core's share, one core decodes it
 * while another adds it up. A process that has threads and coroutines is one job (gathered.h). The
 * columns:
 *   calls  all calls, also those that had not ended and those whose end is not followed
 *   total  time inside the function; recursive calls on one stack are not counted again
 *   self   the part of it that was not spent in traced functions it called
 *   min, mean, p50, p99, max  of the single calls' durations; p50 and p99 are the values of
 *          rank ceil(n/2) and ceil(99n/100), within 1 %. All 0 when no call's end is known.
 * By thread, a row is of all calls of one, total and self are the time that it spent in them, and
 * threads without calls have none.
 * An event of the program's is a row too, SYSTEM:NAME, with the number of its records as calls. A
 * call that is open at the end of the trace lasts until its thread's last record: a coroutine's, of
 * the thread that ran it last. */
#pragma once
#include "trace/calls.h"
#include "base/out.h"

/* A source of threads' events. All functions but `open` are called from several threads at the same
 * time, each with a cursor of its own. */
struct kernel_times;
struct thread_counters;
struct unpack;
struct summary_input {
	const struct trace_info *info; /* must not change until the summary is made */
	void *of;
	void *(*open)(void *of, uint32_t thread); /* NULL: no records */
	/* as store_cursor_next */
	int (*next)(void *cursor, struct event *out, size_t n, struct err *err);
	void (*close)(void *cursor);
	/* as store_cursor_words(), in place of next(), which is slower; or NULL */
	int (*words)(void *cursor, struct unpack **out, struct err *err);
	/* One of `parts` parts of a thread's events, as store_cursor_open_part(); NULL: there are
	 * none, or it is not known what is open there. The function may be NULL */
	void *(*open_part)(void *of, uint32_t thread, unsigned part, unsigned parts, bool bare,
			   size_t *told);
	/* The events of all threads by time; closed before the reader of `of`. NULL and *err: it
	 * failed. The function may be NULL */
	struct source *(*all)(void *of, struct err *err);
	struct summary_input *inner;   /* the one that this one reads; NULL: none (gathered.h) */
	bool gathers;                  /* a thread may give events of others, too */
	bool by_thread;                /* a row for each thread, not for each function */
	bool at_once;                  /* events are gone when the next ones are asked for */
	/* Rows are no functions: the name of the one that events call by this number; the caller
	 * frees it. NULL: functions (report/regroup.h) */
	char *(*group_name)(void *of, uint32_t group);
	/* Functions' times in the kernel are wanted: of which they are; or NULL */
	const struct kernel_times *kernel;
	/* Functions' counters are wanted: of which they are; or NULL */
	const struct thread_counters *counters;
	const char *nobody;            /* names a function that nothing defines; or NULL */
	const char *title;             /* of the column of names; NULL: the usual one */
};

struct store_reader;
/* The input that reads a trace file; r must outlive it. */
struct summary_input summary_from_store(struct store_reader *r);
struct excerpt;
/* The input that reads an excerpt of r; both must outlive it. */
struct summary_input summary_from_excerpt(struct excerpt *x, struct store_reader *r);

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
	X(MODULE, "module")  \
	X(KERNEL, "kernel")  \
	X(BLOCKED, "blocked")

enum summary_column {
#define X(id, word) SUMMARY_##id,
	SUMMARY_COLUMNS(X)
#undef X
	SUMMARY_COLUMNS_N
};
extern const char *const summary_column_words[SUMMARY_COLUMNS_N];
/* Finds a column by name; SUMMARY_COLUMNS_N: there is none. */
enum summary_column summary_column_find(const char *word);

#define SUMMARY_NUMBERS SUMMARY_NAME

/* Columns of --counters. */
#define SUMMARY_COUNTER_COLUMNS(X)                                                       \
	X(CPU, "cpu", "CPU", true)                                                       \
	X(ASLEEP, "asleep", "ASLEEP", true)                                              \
	X(SWITCHES, "switches", "SWITCHES", false)                                       \
	X(FAULTS, "faults", "FAULTS", false)

enum summary_counter {
#define X(id, word, title, time) SUMMARY_COUNTER_##id,
	SUMMARY_COUNTER_COLUMNS(X)
#undef X
	SUMMARY_COUNTERS
};
/* Finds one by its word; SUMMARY_COUNTERS: there is none. */
enum summary_counter summary_counter_find(const char *word);

struct summary_row {
	uint64_t value[SUMMARY_NUMBERS]; /* by column; times in ns */
	/* summary.kernel: of its total, in ns, what it was in the kernel, and blocked */
	uint64_t in_kernel, blocked;
	/* summary.counters: of its total, in ns, what it was on a processor, and asleep; how often
	 * the thread left the processor; page faults */
	uint64_t counter[SUMMARY_COUNTERS];
	char *name;                      /* the text of trace_function_name */
	/* last component of its path; for a PLT entry that of the library it leads to; "": unknown.
	 * Owned by info */
	const char *module;
	bool symbol;                     /* name is a symbol, not module+offset */
	bool timed;                      /* any of its calls has a duration */
	uint32_t thread;                 /* by thread: index into info->threads */
};

struct summary {
	VEC(struct summary_row) rows;    /* functions that were called, or threads that called */
	bool by_thread;
	bool kernel;                     /* rows have in_kernel and blocked */
	bool counters;                   /* rows have counters */
	const char *title;               /* as the input's */
	struct calls_counts counts;
	/* short calls are missing (a threshold): self times are not known, and all 0 */
	bool cut;
	const struct trace_info *info;   /* the input's */
};

/* Reads all events and makes the rows. workers: 0: as many as there are cores. 0, or -errno and
 * *err of an input; summary_free frees the result. */
int summary_make(const struct summary_input *in, unsigned workers, struct summary *out,
		 struct err *err);
void summary_free(struct summary *s);
/* Sorts: numbers largest first, names A to Z; `reverse` turns that around. Equal rows by name. */
void summary_sort(struct summary *s, enum summary_column by, bool reverse);
/* summary_sort() by a counter. */
void summary_sort_counter(struct summary *s, enum summary_counter by, bool reverse);
/* The sum of the rows' self times, in ns. */
uint64_t summary_self(const struct summary *s);
/* Whether any call has a duration. Events, and records of the function tracer, have none. */
bool summary_is_timed(const struct summary *s);
/* The column by which rows are sorted if the user names none: self; total where self times are not
 * known; calls where there are no times. */
enum summary_column summary_default_column(const struct summary *s);

#define SUMMARY_TIME 24
/* Writes "123 ns", "12.345 us", "1.234 ms", "12.345 s": three decimals below the unit. Returns the
 * length. */
size_t summary_time(char to[SUMMARY_TIME], uint64_t ns);
/* Prints that in SUMMARY_COLUMN columns. */
void summary_print_time(struct out *out, uint64_t ns);
#define SUMMARY_COLUMN 11
/* Prints at most n rows (0: all), times only if there are any. Losses are reported first. */
void summary_print_table(const struct summary *s, size_t n, struct out *out);
/* Prints {"schema":"brace-report","version":1,...} with the losses, then an object a line. */
void summary_print_json(const struct summary *s, size_t n, struct out *out);
