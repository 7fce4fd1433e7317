/* SPDX-License-Identifier: MIT */
/* The names that threads have given themselves, as they note them in the session memory. */
#pragma once
#include "shared/memory.h"
#include "trace/trace_info.h"

/* Adds the names of the slot's thread that info does not know; *seen: how many it had the last
 * time. Names that the agent had no room for are counted in info->renames_left_out. The slot may
 * hold anything. False: there cannot have been so many, and none is taken. */
bool renames_take(const struct memory_thread *slot, uint32_t *seen, struct trace_info *info,
		  uint32_t thread);
