/* SPDX-License-Identifier: MIT */
/* Functions that are hooked by their callers (hook/callers.h): their trampolines, and what leads there. Private to patches.c and
 * probe_patches.c. */
#pragma once
#include "image/modules.h"
#include "image/patch_list.h"

/* The calls of one module that are led to trampolines. */
struct direct_calls {
	const struct module *mod;
	uint64_t *led;            /* by function: its trampoline's address, 0 = none; NULL: no function has one */
};

/* Most patches that direct_calls_write adds. */
uint32_t direct_calls_max(const struct module *mod);
/* The function's calls are to lead there. direct_calls_free frees. */
void direct_calls_lead(struct direct_calls *d, uint32_t function, uint64_t trampoline);
/* Instructions that move, among which there may be such calls: *copy with those led, or the recipe itself. */
const struct relocate_recipe *direct_calls_aim(const struct direct_calls *d, const struct relocate_recipe *recipe,
					       struct relocate_recipe *copy);
/* Patches of the calls that stand where they are; behind all others of the module, for those whose instructions moved are none. */
void direct_calls_write(const struct direct_calls *d, uint16_t region, struct patch_list *list);
void direct_calls_free(struct direct_calls *d);
