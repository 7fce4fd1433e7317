/* SPDX-License-Identifier: MIT */
/* Where a thread's struct agent_tls stands when the agent did not come in with ld.so's help. */
#pragma once
#include "shared/memory.h"
#include "tracee/tracee.h"

struct thread_layout { int64_t tls, key; uint32_t flags; };

/* glibc keeps 64 bytes free in every thread's control block, and the thread's id at a fixed place: if
 * all threads look like that, there; else AGENT_FAR. AGENT_GO is set if it can be Go without a C library. */
struct thread_layout thread_layout_of(struct tracee *t);
/* For a new session, in which every thread begins with its first record, and after it. */
void thread_blocks_clear(struct tracee *t, const struct thread_layout *l);
/* When trampolines change: nothing in the blocks refers to the old ones; for another tracer, what the last one kept
 * of each thread's calls is void. */
void thread_blocks_change(struct tracee *t, const struct thread_layout *l, bool other_tracer);
