/* SPDX-License-Identifier: MIT */
/* `brace wakeup`: who wakes whom, and how long it takes from the wake to the run. Made of system
 * calls (raw_syscalls:sys_enter, sys_exit) and context switches (sched:sched_switch):
 *
 *   a wait   a thread switched out in a system call, and in again; what it waits for is an object:
 *            a futex's address, what lies behind a descriptor, a thread's or a child's end
 *   a wake   another thread's call that can wake such a wait, overlapping with it in time, with a
 *            result that says it woke somebody. The one that began last is the wait's
 *   time     from the begin of the waker's call to the switch in
 *
 * A futex's wake counts for as many waits as its result says. A wait without such a call ended by
 * itself (a timer), or its waker is not in the trace: these are counted, and have no time.
 *
 * wakeup_needs are the events that it is made of.
 *
 * syscalls:sys_exit_pipe, _pipe2 and _socketpair tell which descriptors belong together, and
 * syscalls:sys_enter_poll and _ppoll which are waited for; events of pthread_cond_* and
 * pthread_barrier_wait with a field arg1 tell whose futex it is. Recorded functions are shown
 * beside the longest one. Not locked. */
#pragma once
#include "base/out.h"
#include "trace/event.h"

enum wakeup_by {
	WAKEUP_BY_THREAD, WAKEUP_BY_WAY, WAKEUP_BY_WAKER, WAKEUP_BY_FUNCTION, WAKEUP_BY_N
};
extern const char *const wakeup_by_words[WAKEUP_BY_N];

#define WAKEUP_COLUMNS(X)  \
	X(COUNT, "count") \
	X(MEAN, "mean")   \
	X(P50, "p50")     \
	X(P99, "p99")     \
	X(MAX, "max")     \
	X(NAME, "name")

enum wakeup_column {
#define X(id, word) WAKEUP_##id,
	WAKEUP_COLUMNS(X)
#undef X
	WAKEUP_COLUMNS_N
};
extern const char *const wakeup_column_words[WAKEUP_COLUMNS_N];

/* The events to be recorded; the last one's name is NULL. Those of single system calls are needed
 * where their memory has to be seen. */
extern const struct wakeup_need {
	const char *system, *name, *both; /* both: "SYSTEM:NAME" */
} wakeup_needs[];

/* A wait whose waker is known. The ids are those of recorded functions in which the thread was when
 * it woke, or was switched in, the innermost first; they are valid during the call. */
struct wakeup_found {
	uint64_t enter, in;       /* TSC: the wake, if the wait had begun by then, and the run */
	uint32_t wakee, waker;    /* indices into info->threads */
	uint16_t wakee_cpu, waker_cpu;
	const uint32_t *wakee_functions, *waker_functions;
	unsigned wakee_n, waker_n;
};

struct wakeup;

/* info may grow; it must outlive the result, which wakeup_free() frees. */
struct wakeup *wakeup_new(const struct trace_info *info, enum wakeup_by by);
void wakeup_free(struct wakeup *w);
/* Sets the function that is called for each wait whose waker is found; at first there is none. */
void wakeup_watch(struct wakeup *w, void (*found)(void *arg, const struct wakeup_found *f),
		  void *arg);
/* Takes the next event of any kind, in the order of time. Keeps nothing of *e; an event that makes
 * no sense is passed over. */
void wakeup_event(struct wakeup *w, const struct event *e);
/* Returns the TSC before which no wake-up is found any more, at most `until`: all events from
 * before that have been given. A wake whose end is not known holds it back for `patience` ticks at
 * most; one that seems to have woken nobody, as a write to a pipe that two wait for, a tenth. */
uint64_t wakeup_horizon(const struct wakeup *w, uint64_t until, uint64_t patience);
/* There are no more events; called once, before the others. */
void wakeup_end(struct wakeup *w);
/* The events that the trace lacks, as a sentence for the user; NULL: none. */
const char *wakeup_lacks(const struct wakeup *w);
/* Sorts: numbers largest first, names A to Z; `reverse` turns that around. */
void wakeup_sort(struct wakeup *w, enum wakeup_column by, bool reverse);
/* Prints at most n rows (0: all), their sum, and the longest wake-up with its functions. */
void wakeup_print_table(struct wakeup *w, size_t n, struct out *o);
/* wakeup_print_table() as a JSON object a line; times are in nanoseconds. */
void wakeup_print_json(struct wakeup *w, size_t n, struct out *o);
