/* SPDX-License-Identifier: MIT */
/* The thread that moves a session's records into the buffers of the instances. All functions may be
 * called from any thread. */
#pragma once
#include "instance/buffer.h"
#include "session/consumer.h"

struct pump;

struct chunk;

/* The functions that the pump calls, with the context: woken after each pass, when a buffer may
 * have become readable; lags before each pass: whether a reader for whom programs wait is so far
 * behind that they shall (`more` bytes of chunks are in no ring yet); fed (NULL: nothing) as
 * pump_watch() says, from the first record on. */
struct pump_user {
	void (*woken)(void *context);
	bool (*lags)(void *context, uint64_t more);
	void (*fed)(void *context, const struct chunk *c);
	void *context;
};

/* Starts the thread. `first` gets all records from the beginning. 0, or -errno and *err. */
int pump_start(struct session *s, const struct pump_user *user, struct buffer *first,
	       struct pump **out, struct err *err);
/* The buffer gets the records that arrive from here on. */
void pump_add(struct pump *p, struct buffer *b);
/* Calls fed(context, chunk), under pump_lock, for every resolved chunk from here on, the chunks of
 * a thread in their order; NULL ends that. The caller has pump_lock. */
void pump_watch(struct pump *p, void (*fed)(void *context, const struct chunk *c), void *context);
/* The buffer gets no more records after the return. The caller may free it. */
void pump_remove(struct pump *p, struct buffer *b);
/* buffer_share, after everything that has arrived so far is in the buffer under its old
 * settings. */
void pump_share(struct pump *p, struct buffer *b, const struct settings *s, bool alone);
/* hurried: passes are made whether or not a reader lags. For a change of the session: threads that
 * wait for room in the programs' memory have to leave the agent for it. */
void pump_hurry(struct pump *p, bool hurried);
/* A reader has taken records: the pump looks again whether it lags. */
void pump_was_read(struct pump *p);
/* Returns when everything recorded before this call is in the buffers, even if a reader lags. */
void pump_sync(struct pump *p);
/* pump_sync, and returns after the triggers have run over it. */
void pump_complete(struct pump *p);
/* The TSC before which all records are in the buffers. */
uint64_t pump_horizon(struct pump *p);
/* pump_horizon() as an instant of both clocks (clock_shown()); UINT64_MAX in both when all is
 * over. */
struct pump_instant { uint64_t tsc, ns; };
struct pump_instant pump_complete_until(struct pump *p);
/* Whether a pass, or a run of records, failed; *err: the first failure. The passes went on. */
bool pump_failed(struct pump *p, struct err *err);
/* Locks the session's trace_info and returns it, after all chunks that are in the buffers are
 * resolved and triggers have run over them. pump_unlock unlocks it. */
struct trace_info *pump_lock(struct pump *p);
void pump_unlock(struct pump *p);
bool pump_is_over(struct pump *p); /* the program has ended */
void pump_wait(struct pump *p);    /* until it has ended */
/* Ends the recording, detaches from attached processes, and frees the pump. No other thread may use
 * it any more. */
void pump_stop(struct pump *p);
