/* SPDX-License-Identifier: MIT */
/* The code and patches of a module's probes, in its region of trampolines, behind those of its
 * functions. Private to patches.c. */
#pragma once
#include "image/direct_calls.h"

struct probe_job {
	struct module *mod;
	const struct direct_calls *direct; /* of the module's functions */
	const struct maps *maps;
	struct patch_list *list;
	size_t first;             /* index of the module's first patch in it */
	uint16_t region;
	uint8_t *code;            /* the region's bytes, in the code memory */
	uint64_t at, room, used;  /* its address, its size; bytes used, aligned to 16 */
	/* addresses of the words that hold those of agent_probe and so on */
	uint64_t agent, syscall, delivery;
	bool preloaded;           /* the agent leads libc's calls itself */
};

/* Upper limits: bytes of code, and patches. */
uint64_t probe_patches_room(const struct module *mod);
uint32_t probe_patches_max(const struct module *mod);
/* Makes them. A probe that has to be refused after all gets plan.kind HOOK_NONE, and plan.reason
 * says why. */
void probe_patches_make(struct probe_job *j);
