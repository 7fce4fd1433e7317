/* SPDX-License-Identifier: MIT */
/* A writer's steps, for who ends its file. Private to src/store. */
#pragma once
#include "store/store.h"

struct pipeline;
struct pipeline *writer_pipeline(struct store_writer *w);
/* All that waits, and the last of info, on their way. */
int writer_put_all(struct store_writer *w, struct err *err);
/* Forgets what waits, and what of info was written: it will be written once more. */
void writer_begin_anew(struct store_writer *w);
/* A chunk that says what a thread lost behind its last record. */
int writer_put_lost(struct store_writer *w, uint32_t thread, uint64_t lost, struct err *err);
int writer_put_rest(struct store_writer *w, struct err *err); /* of info */
void writer_free(struct store_writer *w);
