/* SPDX-License-Identifier: MIT */
/* The discard window: where a thread writes records for which there is no sub-buffer, to be counted
 * and overwritten. On the thread whose block it is, with signals blocked. */
#pragma once
#include <stdint.h>

#include "agent/agent.h"

/* Counts the records in words[0..n), all of them reserved. An empty slot is a record too: a signal
 * interrupted its writer. *holes: how many of those there are. */
uint64_t discard_count_records(const uint64_t *words, uint64_t n, uint64_t *holes);
/* Sends the thread's records to the discard window: the window in its slot, or the one that all
 * threads without a slot share. */
void discard_begin(struct agent_tls *t);
/* Counts the records of the window as lost, if the thread is in the discard window. */
void discard_end(struct agent_tls *t);
