/* SPDX-License-Identifier: MIT */
/* `brace syscalls`: a row for each system call, thread or file, from the events of a trace or of a
 * live session: raw_syscalls:sys_enter and sys_exit, or those of syscalls:. Where a trace has both,
 * raw_syscalls counts, and syscalls: gives the files' names.
 *   calls   calls that began
 *   errors  those that returned -1 to -4095
 *   total   time between begin and return (min, mean, p50, p99, max of it within 1 %)
 * A call that does not return, or whose return is not seen (docs/syscalls.md), has no time.
 *
 * Files: a call belongs to the path that it is given, or to the descriptor that is its first
 * argument, by the name under which that was opened in the trace; `fd 3` if it was not, and
 * `(none)` if it has neither. Errors: the calls that failed, a row for each call and errno. Not
 * locked. */
#pragma once
#include "base/out.h"
#include "trace/event.h"

enum syscalls_by { SYSCALLS_BY_CALL, SYSCALLS_BY_THREAD, SYSCALLS_BY_FILE, SYSCALLS_BY_ERROR,
		   SYSCALLS_BY_N };

#define SYSCALLS_COLUMNS(X) \
	X(CALLS, "calls")   \
	X(ERRORS, "errors") \
	X(TOTAL, "total")   \
	X(MIN, "min")       \
	X(MEAN, "mean")     \
	X(P50, "p50")       \
	X(P99, "p99")       \
	X(MAX, "max")       \
	X(NAME, "name")

enum syscalls_column {
#define X(id, word) SYSCALLS_##id,
	SYSCALLS_COLUMNS(X)
#undef X
	SYSCALLS_COLUMNS_N
};
extern const char *const syscalls_column_words[SYSCALLS_COLUMNS_N];

struct syscalls;

/* info may grow; it must outlive the result, which syscalls_free() frees. */
struct syscalls *syscalls_new(const struct trace_info *info, enum syscalls_by by);
void syscalls_free(struct syscalls *s);
/* Takes the next event of any kind, in the order of time. Keeps nothing of *e; an event that makes
 * no sense is passed over. */
void syscalls_event(struct syscalls *s, const struct event *e);
/* Prints each call to `o` from now on, when it returns: a line, or a JSON object a line. Called
 * before the first event. The calls are in the order of their returns; those that do not return
 * come when that is known. */
void syscalls_print_lines(struct syscalls *s, struct out *o, bool json);
/* There are no more events; called once, before the others. */
void syscalls_end(struct syscalls *s);
/* Returns the number of rows. */
size_t syscalls_rows(const struct syscalls *s);
/* Sorts: numbers largest first, names A to Z; `reverse` turns that around. */
void syscalls_sort(struct syscalls *s, enum syscalls_column by, bool reverse);
/* Prints at most n rows (0: all) as a table, with its sum. Times are shown in units that fit. */
void syscalls_print_table(const struct syscalls *s, size_t n, struct out *o);
/* syscalls_print_table() as a JSON object a line; times are in nanoseconds. */
void syscalls_print_json(const struct syscalls *s, size_t n, struct out *o);
