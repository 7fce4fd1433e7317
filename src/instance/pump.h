/* SPDX-License-Identifier: MIT */
/* The thread that brings a session's records to the buffers of the instances. */
#pragma once
#include "instance/buffer.h"
#include "session/tap.h"

struct pump;

/* woken(context) is called, by the pump's thread, when a buffer may have something to read. `first` gets all that is
 * recorded, from the beginning. */
int pump_start(struct session *s, void (*woken)(void *context), void *context, struct buffer *first, struct pump **out,
	       struct err *err);
/* From here on the buffer gets what is recorded. */
void pump_add(struct pump *p, struct buffer *b);
/* fed(context, chunk) is called for every chunk from here on, thread by thread in its order, settled, while the names are
 * held; NULL: for none. The names are held by the caller. */
void pump_watch(struct pump *p, void (*fed)(void *context, const struct chunk *c), void *context);
void pump_remove(struct pump *p, struct buffer *b);
/* buffer_share, when all that came until now is in it as it was. */
void pump_share(struct pump *p, struct buffer *b, const struct settings *s, bool alone);
/* Returns when all that was written before this call is in the buffers. */
void pump_sync(struct pump *p);
/* The same, and triggers have been run so far. */
void pump_complete(struct pump *p);
/* All records that were made before this time (a TSC) are in the buffers. */
uint64_t pump_horizon(struct pump *p);
/* The session's names, for as long as they are held; all chunks that are in the buffers now are settled. */
struct trace_info *pump_hold(struct pump *p);
void pump_release(struct pump *p);
bool pump_is_over(struct pump *p); /* the program has ended */
void pump_wait(struct pump *p);    /* until it has */
/* Ends the recording; attached processes are left as they were. */
void pump_stop(struct pump *p);
