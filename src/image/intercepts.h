/* SPDX-License-Identifier: MIT */
/* System calls that a static program makes itself, or another process by any of its modules, and
 * that the agent has to see before they happen: a program that is executed gets the agent into its
 * environment, or is named; a seccomp filter is looked at; a limit of address space is raised by
 * our part. Only of a static program that was launched are all of these intercepted here: elsewhere
 * only those that bring a filter. The calls are found by the instruction right before that loads
 * their number. This instruction is replaced by a jump to code beside the trampolines, and from
 * there to the agent. */
#pragma once
#include "base/vec.h"
#include "hook/cache.h"
#include "image/image.h"

#define PATCH_CALL (UINT32_MAX - 1) /* stands as a patch's function */

struct intercept {
	uint64_t vaddr;           /* of the instructions below; in a process: + its base */
	uint32_t number;          /* of the system call; WRAPPER_ANY */
	uint8_t bytes[8], n;      /* up to the system call; the first has five bytes */
};
typedef VEC(struct intercept) intercept_list;

enum intercepts_which { INTERCEPTS_NONE, INTERCEPTS_FILTERS, INTERCEPTS_ALL };

/* The calls of the process that are intercepted. */
enum intercepts_which intercepts_wanted(const struct image_request *req);
/* The intercepted calls of one module, by its name: the agent that ld.so loads leads libc's calls
 * itself (agent/libc_calls.c). */
enum intercepts_which intercepts_wanted_of(const struct image_request *req, const char *module);
/* Lists the calls of the module's open file. */
void intercepts_find(int fd, const struct hook_module *h, enum intercepts_which which,
		     intercept_list *out);
/* Whether a jump of five bytes at some call would touch [vaddr, vaddr + bytes). */
bool intercepts_touch(const intercept_list *calls, uint64_t vaddr, uint64_t bytes);
/* Whether the bytes are the first ones of an intercepted call's instructions. */
bool intercepts_begin(const intercept_list *calls, uint64_t vaddr, uint64_t bytes);
struct patch_source;
extern const struct patch_source intercept_patches;
