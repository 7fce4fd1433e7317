/* SPDX-License-Identifier: MIT */
/* Functions that are hooked by their callers (hook/callers.h): their trampolines, and the calls
 * that lead there. Private to function_patches.c and probe_patches.c. */
#pragma once
#include "image/modules.h"
#include "image/patch_list.h"

/* The calls of one module that are redirected to trampolines. */
struct direct_calls {
	const struct module *mod;
	/* by function: address of its trampoline, 0 = none; NULL: no function has one */
	uint64_t *redirected;
};

/* Upper limit of the patches that direct_calls_write adds. */
uint32_t direct_calls_max(const struct module *mod);
/* Leads the function's calls to its trampoline from now on. direct_calls_free frees. */
void direct_calls_redirect(struct direct_calls *d, uint32_t function, uint64_t trampoline);
/* For instructions that move, among which such calls may be: *copy with the calls redirected, or
 * the recipe itself. */
const struct relocate_recipe *direct_calls_aim(const struct direct_calls *d,
					       const struct relocate_recipe *recipe,
					       struct relocate_recipe *copy);
/* Adds patches for calls that stay in place. After all other patches of the module: a call among
 * moved instructions has none. */
void direct_calls_write(const struct direct_calls *d, uint16_t region, struct patch_list *list);
void direct_calls_free(struct direct_calls *d);
