/* SPDX-License-Identifier: MIT */
/* The thread's buffer: from reserved slots to records in sub-buffers, and what is lost (buffer.c).
 * On the thread whose block it is. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"

/* buffer.c */
/* Writes one record, in the next sub-buffer if need be; signals blocked. */
void buffer_put(struct agent_tls *t, const uint64_t *payload, unsigned n, uint64_t header);
/* Call before buffer_put(): makes the thread known, notices a fork, notes the CPU. Returns true if
 * the thread's first record is coming. Signals blocked. */
bool buffer_prepare(struct agent_tls *t);
/* Makes a forked child a process of its own; signals blocked. */
void buffer_after_fork(struct agent_tls *t);
/* Counts one lost record; for use when signals_block() returned SIGNALS_UNTOUCHED. */
void buffer_lose(void);
/* Counts n lost records of the calling thread, which gets its slot for that if it has none yet.
 * For a caller that has blocked no signals. */
void buffer_lose_records(struct agent_tls *t, unsigned n);
/* buffer_after_fork(), with the signals blocked for it, if this is a child that has not noticed. */
void buffer_forked(void);
static inline void buffer_check_fork(void)
{
	if (!agent_fork_guard[0])
		buffer_forked();
}
/* Call after a system call that may have changed the process's user. */
void buffer_check_user(void);
#define UNRESERVED (~UINT64_C(0)) /* `at` of a record without a slot */
/* The slow path of one record: it found no room, or its thread runs on another CPU than before. at:
 * its slot, which is past the end, or UNRESERVED. sp: the stack pointer of the trampoline or stub,
 * by which words are kept (arch/kept_words.h); 0 = C code. The record is written, or is lost. */
void agent_record(uint64_t word, uint64_t at, uint64_t sp);
/* agent_record() for a record with one word of payload, of a trampoline, which keeps `at`. */
void agent_record2(uint64_t word, uint64_t payload, uint64_t sp);
/* agent_record() for a stub's exit with a value, which the stub keeps. */
void agent_record_valued(uint64_t word, uint64_t at, uint64_t sp);
/* agent_record_valued() for a floating-point number, which the exit code keeps. */
void agent_record_float(uint64_t word, uint64_t at, uint64_t sp);
/* The fast path of a one-word record in C: one unlocked xadd. */
void buffer_write(struct agent_tls *t, uint64_t word);
/* buffer_write() for n words: whole records that must stand together. sp as above. */
void buffer_write_words(struct agent_tls *t, const uint64_t *words, unsigned n, uint64_t sp);
/* buffer_write_words() for an event's record, whose fields were stored right before. */
void buffer_write_event(struct agent_tls *t, const uint64_t *words, unsigned n);
/* Writes a record of n words that its thread will go on changing. Returns its address, which is
 * good until the thread leaves the sub-buffer (lock_points.h); 0: it is counted as lost. */
uint64_t buffer_write_kept(struct agent_tls *t, const uint64_t *words, unsigned n);
/* The slow path for n words that did not fit where `at` was reserved for them. */
void buffer_place_words(const uint64_t *words, unsigned n, uint64_t at);
void buffer_unwound(void);                     /* records that an unwinder leaves one more call */
