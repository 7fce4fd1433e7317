/* SPDX-License-Identifier: MIT */
/* System calls that a static program makes itself, and that its agent has to see before they
 * happen: a program that is executed gets the agent into its environment, or is named; a seccomp
 * filter is looked at; a limit of address space is raised by our part. They are found by the
 * instruction right before that loads their number. This instruction is replaced by a jump to code
 * beside the trampolines, and from there to the agent. */
#pragma once
#include "base/vec.h"
#include "hook/cache.h"

#define PATCH_CALL (UINT32_MAX - 1) /* stands as a patch's function */

struct intercept {
	uint64_t vaddr;           /* of the instructions below; in a process: + its base */
	uint8_t bytes[8], n;      /* up to the system call; the first has five bytes */
};
typedef VEC(struct intercept) intercept_list;

/* Lists the calls of the module's open file. */
void intercepts_find(int fd, const char *path, const struct hook_module *h, intercept_list *out);
/* Whether a jump of five bytes at some call would touch [vaddr, vaddr + bytes). */
bool intercepts_touch(const intercept_list *calls, uint64_t vaddr, uint64_t bytes);
struct patch_source;
extern const struct patch_source intercept_patches;
