/* SPDX-License-Identifier: MIT */
/* The place of a thread's struct agent_tls when ld.so did not bring the agent in. */
#pragma once
#include "shared/memory.h"
#include "tracee/tracee.h"

struct thread_layout { int64_t tls, key; uint32_t flags; };

/* Chooses the place. glibc keeps 64 bytes free in every thread's control block, and the thread's
 * id at a fixed place: if all threads look so, there; else AGENT_NO_TLS. Sets AGENT_GO if the
 * program may be Go without a C library. */
struct thread_layout thread_layout_of(struct tracee *t);
/* Clears the threads' blocks: before a session, so that every thread begins with its first record,
 * and after it. */
void thread_blocks_clear(struct tracee *t, const struct thread_layout *l);
/* When trampolines change: removes references to old ones from the blocks. With other_tracer, also
 * what the former tracer kept of each thread's calls. */
void thread_blocks_change(struct tracee *t, const struct thread_layout *l, bool other_tracer);
