/* SPDX-License-Identifier: MIT */
/* A trace's description with one module whose functions all have the fuzzer's prototype, and the
 * part of its words that unpack may be given. For arguments.c and objects.c. */
#pragma once
#include "base/mem.h"
#include "shared/record.h"
#include "trace/trace_info.h"

#define FUNCTIONS 4u

static struct trace_info *info_with(const char *prototype)
{
	struct trace_info *info = trace_info_new();
	struct trace_module *m = vec_add(&info->modules);

	*m = (struct trace_module){ .path = mem_strdup("/m"), .name = mem_strdup("m"),
				    .end = 0x10000 };
	*vec_add(&m->strings) = '\0';
	for (const char *p = prototype; *p; p++)
		*vec_add(&m->strings) = *p;
	*vec_add(&m->strings) = '\0';
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		*vec_add(&m->functions) = (struct trace_function){ .vaddr = 16 * i, .prototype = 1 };
	*vec_add(&info->images) = (struct trace_image){ .exe = mem_strdup("/m"),
							.cmdline = mem_strdup("m") };
	*vec_add(&info->threads) = (struct trace_thread){ .pid = 1, .tid = 1 };
	return info;
}

/* Whole records only, as unpack wants them. */
static size_t whole_words(const uint64_t *words, size_t n)
{
	size_t i = 0;

	while (i < n && 1 + record_payload(words[i]) <= n - i)
		i += 1 + record_payload(words[i]);
	return i;
}
