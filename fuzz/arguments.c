/* SPDX-License-Identifier: MIT */
/* A prototype up to the first newline, and behind it records as a program or a file may have them:
 * arguments are put together with their calls and printed. The text has nothing for a terminal. */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/prototype.h"
#include "report/arguments.h"
#include "trace/unpack.h"

#define FUNCTIONS 4u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_text(char *text)
{
	if (text && escape_line_run(text, strlen(text)) != strlen(text))
		abort();
	free(text);
}

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

static void print_records(const struct trace_info *info, const uint64_t *words, size_t n)
{
	struct call_arguments *arguments = NULL;
	struct unpack u = { .at = words, .end = words + n, .arguments = &arguments };
	struct event e;
	char *text;

	while (unpack_next(&u, &e)) {
		if (e.flags & EVENT_ARGUMENTS && e.kind != EVENT_TRACE)
			check_text(arguments_text(info, &e));
		text = NULL;
		if (e.kind == EVENT_ENTRY)
			arguments_value(info, 0, e.fn, e.tsc, &text);
		check_text(text);
	}
	free(arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const uint8_t *end = memchr(bytes, '\n', n);
	size_t text = end ? (size_t)(end - bytes) : n, rest = end ? n - text - 1 : 0;
	char *prototype = mem_strndup((const char *)bytes, text);
	struct trace_info *info = info_with(prototype);
	uint64_t *words = mem_zalloc(rest + 8);

	if (rest)
		memcpy(words, end + 1, rest);
	print_records(info, words, whole_words(words, rest / 8));
	free(words);
	trace_info_free(info);
	free(prototype);
	return 0;
}
