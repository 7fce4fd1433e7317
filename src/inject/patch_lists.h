/* SPDX-License-Identifier: MIT */
/* The patches that stand in each process. A forked child begins with its parent's patches; only its
 * bytes tell whose child it is, because after changes and further forks nobody else knows. */
#pragma once
#include "image/image.h"
#include "collect/memories.h"

/* memory: the one of the last user for whom patches were planned */
struct process_patches { pid_t pid; const struct shared_memory *memory; struct patch_list list; };
struct patch_lists { struct process_patches *at; size_t n, cap; struct memories *memories; };

/* Forgets the process' patches: it executed a program, or is being attached to. */
void patch_lists_begin(struct patch_lists *l, pid_t pid);
/* Adds those of patches[0..n) that went in. memory: of its user when they were planned; NULL:
 * unchanged. */
void patch_lists_add(struct patch_lists *l, pid_t pid, const struct shared_memory *memory,
		     const struct patch *patches, size_t n);
/* The patches that stand in the process: its own, or those of the process it was forked from. Lists
 * of processes with other users' memories are not compared. Owned by *l, valid until it changes. */
const struct patch_list *patch_lists_of(const struct patch_lists *l, pid_t pid);
void patch_lists_free(struct patch_lists *l);
