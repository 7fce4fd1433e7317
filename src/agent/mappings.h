/* SPDX-License-Identifier: MIT */
/* The agent's mappings in the process (its own memory, the memories shared with the tracer, the
 * regions of trampolines) and the writing of patches. */
#pragma once
#include "agent/talk.h"

/* Finds the agent's own arena. Call it before anything else. */
void mappings_find_own(void);
/* Maps the regions of trampolines, and answers which. False if one of them found its layout taken;
 * the others are mapped all the same. */
bool mappings_map_regions(const struct protocol_setup *w, const int fds[TALK_FDS]);
/* Maps the session memory and the image memory of the setup reply, and begins what needs them: call
 * sites, the user, the fork guard. False: one of them cannot be had; the caller writes no patches
 * then. The descriptors stay open. */
bool mappings_map_memories(const struct protocol_setup *w, const int fds[TALK_FDS]);
/* Replaces the memories by those of the setup reply; the old ones stay mapped. False: nothing has
 * changed. */
bool mappings_replace_memories(const struct protocol_setup *w, const int fds[TALK_FDS]);
/* Maps the code memory, to be read, at any layout; NULL on failure. */
const uint8_t *mappings_map_code(const struct protocol_setup *w, const int fds[TALK_FDS]);
/* Writes the patches into the texts, and answers which. Returns how many went in; 0 if the answer
 * memory cannot be mapped. Call it behind mappings_map_regions, with the code memory mapped.
 * Nothing but the agent may run in these texts meanwhile. */
uint32_t mappings_write_patches(const uint8_t *code, const struct protocol_setup *w,
				const int fds[TALK_FDS]);
/* A trampoline, in the region whose code begins at `code`. */
struct found_trampoline { const struct trampoline_layout *layout; uint64_t code; };
/* Finds the trampoline that pc is in. False: it is in none. */
bool mappings_find_code(uint64_t pc, struct found_trampoline *out);
/* Finds the trampoline that took the instruction at pc away. False: there is none. It looks at all
 * of them: for rare questions. */
bool mappings_find_function(uint64_t pc, struct found_trampoline *out);
/* Returns the unwind table of region i, below agent.n_regions; NULL: it has none. The table is in
 * the region; what its about says of `bytes` and of the islands is, too. */
struct unwind_info;
const struct unwind_info *mappings_rule(uint64_t i);
/* Unmaps n regions of trampolines from `first` on: no thread may be in one. */
void mappings_forget_regions(uint64_t first, uint64_t n);
/* In a child that has not noticed its fork yet: closes the fork guards of regions from `first`
 * on, as the fork closed the others'. */
void mappings_disarm_if_forked(uint64_t first);
