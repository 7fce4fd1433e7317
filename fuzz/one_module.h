/* SPDX-License-Identifier: MIT */
/* A trace of one image with one module, to which a target adds its functions. */
#pragma once
#include <string.h>

#include "base/mem.h"
#include "trace/trace_info.h"

static void add_string(struct trace_module *m, const char *s)
{
	for (size_t i = 0; i <= strlen(s); i++)
		*vec_add(&m->strings) = s[i];
}

/* Ids of the module's functions begin at 1; it has 15 sites of calls. Valid until another module is
 * added to info, which owns it. */
static struct trace_module *add_module(struct trace_info *info, uint32_t pid)
{
	struct trace_module *m = vec_add(&info->modules);

	info->clock.hz = 1000000000;
	*vec_add(&info->images) = (struct trace_image){ .pid = pid, .exe = mem_strdup("/m"), .cmdline = mem_strdup("m") };
	for (uint32_t s = 0; s < 16; s++)
		*vec_add(&info->images.at[0].sites) = s ? 0x10000 + 32 * s + 5 : 0;
	*m = (struct trace_module){ .path = mem_strdup("/m"), .name = mem_strdup("m"), .base = 0x10000,
				    .start = 0x10000, .end = 0x20000, .first_id = 1 };
	add_string(m, "");
	return m;
}

/* n threads, two of them in a process each. */
static void add_threads(struct trace_info *info, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		*vec_add(&info->threads) = (struct trace_thread){ .pid = 1 + i / 2, .tid = 1 + i, .comm = "a\nname" };
}
