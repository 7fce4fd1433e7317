/* SPDX-License-Identifier: MIT */
/* Everything that a planned module says is used, as a session would use it. */
#pragma once
#include <stdlib.h>
#include <string.h>

#include "hook/cache.h"

/* needed: the first of its n_needed texts. */
static void use_module(const struct hook_module *m, const char *needed)
{
	uint8_t out[RELOCATE_MAX_BYTES];
	size_t sum = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct hook_plan_entry *e = &m->entries[i];

		sum += strlen(m->strings + m->functions[i].name) +
		       strlen(hook_kind_words[e->kind]) + strlen(hook_reason_words[e->reason]);
		for (uint32_t k = 0; k < e->n_calls; k++)
			sum += m->calls[e->first_call + k].at;
		if (e->kind != HOOK_NONE)
			relocate_emit(&e->recipe, m->bytes[i].window, e->vaddr, e->vaddr,
				      e->vaddr + 4096, out);
	}
	for (uint32_t i = 0; i < m->n_needed; i++)
		needed += strlen(needed) + 1;
	if (m->interp)
		sum += strlen(m->interp);
	if (sum == (size_t)-1)
		abort();
}
