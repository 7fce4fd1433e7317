/* SPDX-License-Identifier: MIT */
/* The thread's sub-buffer: taken from the pool, opened, handed to the tracer. On the thread whose
 * block it is, with signals blocked. */
#pragma once
#include <stdint.h>

#include "agent/agent.h"

/* Takes a sub-buffer: a free one, else an unused one, else the thread's own oldest (overwrite mode)
 * or one that it waits for (block mode). Returns its index; MEMORY_NONE: there is none, recording
 * has stopped, or the tracer is gone. slot: the thread's. */
uint32_t sub_buffer_take(struct memory_thread *slot);
/* Makes sub-buffer i the thread's: zeroes it, describes it, says FILLING. */
void sub_buffer_open(struct agent_tls *t, uint32_t i);
/* Hands the thread's sub-buffer to the tracer, or, in overwrite mode, to the thread's ring. */
void sub_buffer_close(struct agent_tls *t);
