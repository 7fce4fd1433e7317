/* SPDX-License-Identifier: MIT */
/* Any bytes as a program: what the reader accepts is planned, and the plan, stored as the
 * cache stores it, is accepted again. Returns that can be probed do not share bytes. */
#include <stdlib.h>

#include "hook/cache_file.h"
#include "hook/returns.h"

#define ASKED 64u /* functions whose returns are looked for */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void plan(const struct sym_module *m)
{
	struct hook_plan *p;
	struct hook_module h;
	struct cache_key key = { 0 };
	const char *needed;
	uint8_t *block;
	size_t size;

	if (hook_plan(m, &p, NULL) < 0)
		return;
	block = cache_file_make(m, p, &key, &size);
	if (!cache_file_read(block, size, &key, &h, &needed))
		abort();
	free(block);
	hook_plan_free(p);
}

static void find_returns(const struct sym_module *m)
{
	struct hook_prober *p;
	struct hook_returns r;

	if (hook_prober_of(m, &p, NULL) < 0)
		return;
	for (size_t i = 0; i < m->functions.n && i < ASKED; i++) {
		hook_returns_find(p, m->functions.at[i].vaddr, &r);
		if (!r.bar != !!r.at.n)
			abort();
		for (size_t k = 0; k < r.at.n; k++)
			if (r.at.at[k]->kind == HOOK_NONE ||
			    (k && hook_probes_overlap(r.at.at[k - 1], r.at.at[k])))
				abort();
		hook_returns_free(&r);
	}
	hook_prober_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sym_module *m;

	if (sym_open_bytes(data, n, "fuzz", &m, NULL) < 0)
		return 0;
	plan(m);
	find_returns(m);
	sym_close(m);
	return 0;
}
