/* SPDX-License-Identifier: MIT */
/* Where things stand in the process: the agent's own, the memories shared with the tracer, the
 * regions of trampolines; and the writing of patches. */
#pragma once
#include "agent/talk.h"

/* The agent's own places, before anything else. */
void place_self(void);
/* False if one of them found its place taken; the others are mapped all the same. */
bool place_regions(const struct protocol_welcome *w, int code_fd);
bool place_memories(const struct protocol_welcome *w, const int fds[TALK_FDS]);
/* In place of those there are, which stay mapped. False: nothing has changed. */
bool place_other_memories(const struct protocol_welcome *w, const int fds[TALK_FDS]);
void *place_shared(int fd, uint64_t size); /* NULL on failure */
/* How many patches went in. Nothing but the agent may run in these texts meanwhile. */
uint32_t place_patches(uint8_t *code, const struct protocol_welcome *w);
/* Unmaps n regions of trampolines from `first` on: no thread may be in one. */
void place_forget_regions(uint64_t first, uint64_t n);
/* In a child that has not noticed its fork yet, regions from `first` on wait for that as the others do. */
void place_disarm_if_forked(uint64_t first);
