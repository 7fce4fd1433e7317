/* SPDX-License-Identifier: MIT */
/* What a tracer that died in the midst of coming in left of the agent, and nobody uses: descriptors, a stretch of
 * addresses. (What it left when it was in is an agent at work: orphans.h.) */
#pragma once
#include "base/vec.h"
#include "image/maps.h"
#include "tracee/tracee.h"

/* Where in its own file the stretch that the agent takes is mapped before the agent is, and stays mapped between
 * its segments and on the page behind it. */
#define LEFTOVERS_RESERVED (UINT64_C(1) << 40)

typedef VEC(int) leftover_fds;

/* Before it is held: descriptors of agents' files. */
void leftovers_find(pid_t pid, leftover_fds *out);
/* Closes those that still are such, and unmaps stretches without an agent. */
void leftovers_clear(struct tracee *t, const leftover_fds *fds, const struct maps *maps);
/* Closes the pair of sockets, int32_t sockets[2] at `at`, if one was made and not closed. */
void leftovers_close_sockets(struct tracee *t, uint64_t at);
