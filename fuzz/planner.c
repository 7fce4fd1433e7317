/* SPDX-License-Identifier: MIT */
/* links: hook sym arch base */
/* Any bytes as a program: what the reader accepts is planned, and the plan, stored as the
 * cache stores it, is accepted again. */
#include <stdlib.h>

#include "hook/cache_file.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sym_module *m;

	if (sym_open_bytes(data, n, "fuzz", &m, NULL) < 0)
		return 0;
	plan(m);
	sym_close(m);
	return 0;
}
