/* SPDX-License-Identifier: MIT */
/* A part of a finished trace, as a trace: the source of a trace file, of which only the calls and
 * events come that a user asks for. Calls keep their times; their depths, and what they spent in
 * calls they made, are those among the calls that are left, as if nothing else had been recorded.
 *
 * Functions' lists, modules and the graph mean what they mean at recording, but that -g needs no -l
 * for its function. Events of the program are chosen by thread, process, CPU and time alone.
 *
  * Calls come as EVENT_STEP. A call that is open at `from` comes first, with EVENT_STEP_EARLIER and
  * its own time; one that is open at the end has a CALL_LEAVE with CALL_UNFINISHED there. */
#pragma once
#include "excerpt/spec.h"
#include "store/store.h"

struct excerpt;

/* Makes out what the spec means in this trace. 0, or -errno and *err with what cannot be meant:
 * functions, threads and processes that the trace does not have, times outside of it, questions
 * that it has no records for. w and r outlive the excerpt. */
int excerpt_open(const struct excerpt_spec *w, struct store_reader *r, struct excerpt **out,
		 struct err *err);
void excerpt_close(struct excerpt *x); /* NULL: nothing */
/* Calls count with the part of their time that lies in the range, as with spec.clips. Call it
 * before any reading. */
void excerpt_clip(struct excerpt *x);
/* The range of time that is asked for, in TSC, both ends included: 0, UINT64_MAX where none is. */
void excerpt_range(const struct excerpt *x, uint64_t *from, uint64_t *to);

/* Events of all threads, by time, as store_source(). It reads the trace twice where calls are
 * chosen by what comes later (their durations, whom they call). Closed before x. NULL and *err: the
 * first reading failed. */
struct source *excerpt_source(struct excerpt *x, struct err *err);
/* Events of one thread, as store_cursor_open() and its kin, but valid until the next call only and
 * without arguments; several threads may each have one. NULL: the thread has no records, or is not
 * asked for. */
struct excerpt_cursor *excerpt_cursor_open(struct excerpt *x, uint32_t thread);
int excerpt_cursor_next(struct excerpt_cursor *c, struct event *out, size_t n, struct err *err);
void excerpt_cursor_close(struct excerpt_cursor *c);

/* Whether a list has a function of a trace, as the options take it: a call into a library is one of
 * the program's functions, and one of the library's. */
bool excerpt_list_has(const struct function_list *l, const struct trace_module *m,
		      const struct trace_function *f);

/* 0, or -ENODATA and *err if all sources and cursors that were read to their ends gave nothing: it
 * says by what the calls were left out. */
int excerpt_is_empty(const struct excerpt *x, struct err *err);

/* The source of a spec in one call: excerpt_open(), excerpt_source(), and closing the source closes
 * the excerpt. A spec for everything gives store_source() itself. NULL and *err: the spec makes no
 * sense for this trace. */
struct source *excerpt_source_of(const struct excerpt_spec *w, struct store_reader *r,
				 struct err *err);
/* The excerpt of a source that excerpt_source_of() made; NULL: it gives the whole trace. */
struct excerpt *excerpt_of(const struct source *s);
/* excerpt_is_empty() of a source that excerpt_source_of() made; 0 for others. */
int excerpt_source_is_empty(const struct source *s, struct err *err);
