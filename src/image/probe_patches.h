/* SPDX-License-Identifier: MIT */
/* The code and patches of a module's probes, in its region of trampolines, behind those of its functions. Private to
 * patches.c. */
#pragma once
#include "image/direct_calls.h"

struct probe_job {
	struct module *mod;
	const struct direct_calls *direct; /* of its functions */
	const struct maps *maps;
	struct patch_list *list;
	size_t first;             /* of the module's patches in it */
	uint16_t region;
	uint8_t *code;            /* the region's bytes */
	uint64_t at, room, used;  /* its address, its size; bytes used, aligned to 16 */
	uint64_t agent, syscall, delivery; /* addresses of the words that hold those of agent_probe and so on */
	bool preloaded;           /* the agent leads calls of libc itself */
};

/* Bytes of code, and patches, at most. */
uint64_t probe_patches_room(const struct module *mod);
uint32_t probe_patches_max(const struct module *mod);
/* Those that cannot be had after all say why: plan.reason, and plan.kind is HOOK_NONE. */
void probe_patches_make(struct probe_job *j);
