/* SPDX-License-Identifier: MIT */
/* Remains of a tracer that died while it brought the agent in: descriptors, and a stretch of
 * addresses, that nobody uses. (A tracer that died later leaves an agent at work:
 * stale_patches.h.) */
#pragma once
#include "base/vec.h"
#include "image/maps.h"
#include "tracee/tracee.h"

/* The file offset at which the agent's stretch is mapped before the agent is. Mappings at this
 * offset stay between its segments and on the page behind it. */
#define LEFTOVERS_RESERVED (UINT64_C(1) << 40)

typedef VEC(int) stale_agent_fds;

/* Before the hold: lists descriptors of agents' files. */
void stale_agent_find(pid_t pid, stale_agent_fds *out);
/* Closes those descriptors that still are agents' files, and unmaps stretches without an agent. */
void stale_agent_clear(struct tracee *t, const stale_agent_fds *fds, const struct maps *maps);
/* Closes the pair of sockets whose descriptors (int32_t[2]) stand at `at`, if one was made and not
 * closed. */
void stale_agent_close_sockets(struct tracee *t, uint64_t at);
