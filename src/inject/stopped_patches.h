/* SPDX-License-Identifier: MIT */
/* Patches written into, and taken out of, a stopped process: page by page, with no thread left
 * standing in bytes that change. */
#pragma once
#include "inject/stopped_stacks.h"
#include "shared/memory.h"
#include "tracee/tracee.h"

/* Before the hold: makes every page that will change the process' own, which is most of the
 * work. */
void stopped_patches_touch(pid_t pid, const struct patch *patches, size_t n);

/* Writes the patches, and sets each one's status: APPLIED; CHANGED (other bytes than expected stand
 * there, which are left alone); BUSY (a thread or a signal's frame stands within). 0, or -errno and
 * *err: then the bytes are as before. */
int stopped_patches_apply(struct tracee *t, const struct maps *maps, struct patch *patches,
			  size_t n, struct err *err);
/* Puts the original bytes of APPLIED patches back where the patch still stands. Returns how many
 * places somebody else had changed meanwhile, or -errno. A semaphore that was lowered becomes
 * PENDING. */
enum stopped_which {
	STOPPED_FUNCTIONS = 1,
	STOPPED_LOOK_UPS = 2 /* of unwinders: PATCH_LOOK_UP */
};
int stopped_patches_undo(struct tracee *t, struct patch *patches, size_t n,
			 enum stopped_which which, struct err *err);
