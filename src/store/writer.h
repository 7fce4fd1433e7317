/* SPDX-License-Identifier: MIT */
/* Steps of a store_writer that rescue.c needs to end a file. Private to src/store. */
#pragma once
#include "store/store.h"

struct pipeline;
/* The writer's own; valid until the writer ends. */
struct pipeline *writer_pipeline(struct store_writer *w);
/* Sends everything pending, and the last of info, and waits until it is written. 0, or the first
 * error of any write, as the next two. */
int writer_put_all(struct store_writer *w, struct err *err);
/* Forgets pending records and what of info was written: all of info will be written again. */
void writer_begin_anew(struct store_writer *w);
/* Writes a packet that reports a thread's loss after its last record. */
int writer_put_lost(struct store_writer *w, uint32_t thread, uint64_t lost, struct err *err);
int writer_put_rest(struct store_writer *w, struct err *err); /* the last items of info */
void writer_free(struct store_writer *w);
