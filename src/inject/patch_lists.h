/* SPDX-License-Identifier: MIT */
/* Patches, by the process in which they stand. A forked child begins with its parent's patches, and is told from
 * others by its bytes: after changes, and forks, and forks of those, nobody else knows. */
#pragma once
#include "image/image.h"
#include "collect/memories.h"

/* memory: of the last user for whom some were planned. */
struct process_patches { pid_t pid; const struct shared_memory *memory; struct patch_list list; };
struct patch_lists { struct process_patches *at; size_t n, cap; struct memories *memories; };

/* The process executed a program, or was attached to: what it had is gone. */
void patch_lists_begin(struct patch_lists *l, pid_t pid);
/* Adds those of patches[0..n) that went in. memory: of the user who it was when they were planned; NULL: as before. */
void patch_lists_add(struct patch_lists *l, pid_t pid, const struct shared_memory *memory, const struct patch *patches, size_t n);
/* The patches that stand in the process: its own, or those of whoever it was forked from. Lists of other users' programs are not
 * asked: what was there before is as the files have it that those mapped. Owned by *l, valid until it changes. */
const struct patch_list *patch_lists_of(const struct patch_lists *l, pid_t pid);
void patch_lists_free(struct patch_lists *l);
