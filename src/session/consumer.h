/* SPDX-License-Identifier: MIT */
/* Hands a session's records to one consumer as they arrive: the pump (instance/pump.c). One thread
 * calls consumer_pass, consumer_over and consumer_wait. Any thread calls consumer_resolve and the
 * functions below it, under a lock of the consumer's own (pump_lock), which protects consumer_info
 * too. */
#pragma once
#include "collect/clock.h"
#include "collect/drain.h"
#include "session/session.h"

/* One pass over the sources' buffers. In overwrite mode the last one alone gives records. last: no
 * process writes any more, all records come out, and attached processes are detached; losses that
 * no run could carry are added to *lost. Returns 0, or the sink's error. */
int consumer_pass(struct session *s, bool last, drain_sink *sink, void *context, uint64_t *lost,
		  struct err *err);
/* Whether the last pass alone gives records. */
bool consumer_keeps(const struct session *s);
/* Whether the program and all its children have ended. */
bool consumer_over(struct session *s);
/* Waits until a thread's buffers fill, consumer_wake is called, or a few ms have passed. */
void consumer_wait(struct session *s);
void consumer_wake(struct session *s); /* from any thread */

/* Sets *thread to the index in consumer_info of the thread that wrote the run; the run's words are
 * not used. -EPROTO: the traced program overwrote the session memory. */
int consumer_resolve(struct session *s, const struct drain_run *run, uint32_t *thread,
		     struct err *err);
/* Counts records that no thread of consumer_info can be told for, and returns the index of the
 * entry that stands for those threads. The caller holds the lock of consumer_resolve. */
uint32_t consumer_threadless(struct session *s, uint64_t lost);
/* Brings new images, modules, call sites and messages into consumer_info. True: there are new
 * functions, or others are selected. */
bool consumer_catch_up(struct session *s);
struct trace_info *consumer_info(struct session *s);
/* The records are printed as they come, of the sides that are given here: consumer_info has what a
 * printer begins with. Before the first pass. */
void consumer_print(struct session *s, enum trace_sides sides);
/* Records are shown with times that consumer_clock() puts right: the session's messages say how
 * right these are. */
void consumer_show(struct session *s);
/* The clock that puts times right that are printed before the session's end. It changes with
 * consumer_catch_up(). */
const struct clock *consumer_clock(const struct session *s);
/* The newest names of all threads, also of those that have recorded nothing since. The caller holds
 * the lock of consumer_resolve. */
void consumer_renew_names(struct session *s);
/* Whether threads get their names from now on (the option record-cmd). Turned on again, threads
 * that run get theirs. The caller holds the lock of consumer_resolve. */
void consumer_name_threads(struct session *s, bool named);
/* With an output, the session keeps all records in a file as they arrive: a run that was resolved
 * is written, by the thread's index. consumer_kept ends a turn: what waited too long reaches the
 * file, and a full one is followed by the next. consumer_end_file makes the file whole, when
 * nothing comes any more. What the file cannot take is counted in it. Without an output they do
 * nothing. The caller holds the lock of consumer_resolve. */
void consumer_keep(struct session *s, uint32_t thread, const struct drain_run *run);
void consumer_kept(struct session *s);
void consumer_end_file(struct session *s);
/* The process, and in *tid the thread, of a slot of the session memory. */
pid_t consumer_pid(const struct session *s, uint32_t slot, pid_t *tid);
