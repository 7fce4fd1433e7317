/* SPDX-License-Identifier: MIT */
/* `brace locks`: how long threads waited for locks and held them, by lock and by the place that
 * took it. Either the threads have added that up themselves (shared/locks.h), or it is made of
 * calls of libc's functions (model/lock_functions.h), recorded with their arguments and what they
 * returned, and of the system call futex within them:
 *
 *   acquired   calls that got the lock; of a condition variable and a semaphore, waits that ended
 *   contended  those that found the lock taken; of records: that called futex, or of a spin lock
 *              lasted for a microsecond
 *   wait       from the begin of the call to its return: of those that were contended; of records
 *              of all
 *   hold       from there to the begin of the release, by the same thread
 *
 * A wait for a condition variable releases its mutex and takes it again, which is no acquisition.
 * A semaphore is held by nobody.
 *
 * Orders: a lock that is taken while another is held comes behind that. Locks that are taken in
 * orders that make a circle could end in a deadlock, though they did not, unless all of them are
 * taken under one further lock. A trylock waits for nobody, and makes no order. Not locked. */
#pragma once
#include "base/out.h"
#include "trace/event.h"

enum locks_by { LOCKS_BY_LOCK, LOCKS_BY_SITE, LOCKS_BY_N };
extern const char *const locks_by_words[LOCKS_BY_N];

#define LOCKS_COLUMNS(X)           \
	X(ACQUIRED, "acquired")   \
	X(CONTENDED, "contended") \
	X(WAIT, "wait")           \
	X(WAIT_MEAN, "wait_mean") \
	X(WAIT_MAX, "wait_max")   \
	X(HOLD, "hold")           \
	X(HOLD_MEAN, "hold_mean") \
	X(HOLD_MAX, "hold_max")

enum locks_column {
#define X(id, word) LOCKS_##id,
	LOCKS_COLUMNS(X)
#undef X
	LOCKS_COLUMNS_N
};
extern const char *const locks_column_words[LOCKS_COLUMNS_N];

struct locks;

/* info may grow; it must outlive the result, which locks_free() frees. */
struct locks *locks_new(const struct trace_info *info);
void locks_free(struct locks *l);
/* Takes the next event of any kind, in the order of time. Keeps nothing of *e. */
void locks_event(struct locks *l, const struct event *e);
/* There are no more events; called once, before the others. Finds the circles of orders. */
void locks_end(struct locks *l);
/* Returns the number of locks. */
size_t locks_count(const struct locks *l);
/* Prints at most n rows (0: all), the largest in that column first, and the orders. */
void locks_print_table(struct locks *l, enum locks_by by, enum locks_column column, size_t n,
		       struct out *o);
/* locks_print_table() as a JSON object a line; times are in nanoseconds. */
void locks_print_json(struct locks *l, enum locks_by by, enum locks_column column, size_t n,
		      struct out *o);
