/* SPDX-License-Identifier: MIT */
/* A prototype up to the first newline, and behind it records as a program may write them: calls
 * are taken for those of followed objects, by the type's fields and by the value of an argument.
 * Every return that is told has its entry before it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "follow/program.h"
#include "trace/unpack.h"
#include "prototype_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int64_t open_calls;

static void take_event(void *context, const struct follow_event *e)
{
	open_calls += e->is_return ? -1 : 1;
	if (open_calls < 0 || e->valid >> FOLLOW_SHOWN)
		abort();
}

static void follow(const struct trace_info *info, const struct follow_program_spec *spec,
		   const uint64_t *words, size_t n)
{
	struct follow_program *p = follow_program_new(info, spec, take_event, NULL);
	struct follow_program_losses losses;
	struct call_arguments *arguments = NULL;
	struct unpack u = { .at = words, .end = words + n, .arguments = &arguments };
	struct event e;
	uint64_t calls;

	open_calls = 0;
	while (unpack_next(&u, &e))
		follow_program_take(p, &e);
	follow_program_count(p, &calls, &losses);
	if (losses.blind > calls)
		abort();
	follow_program_free(p);
	free(arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const struct follow_plan plan = {
		.n_tests = 1, .n_shown = 2,
		.tests = { { .field = { .bytes = 4, .mask = 0xff, .shift = 8, .sign = 8 }, .mask = 1, .value = 1 } },
		.shown = { { .bytes = 8, .mask = UINT64_MAX }, { .bytes = 0 } },
	};
	static const char *const ends[] = { "m+0x10", NULL };
	const struct follow_program_spec typed = { .recording = { .type = "s", .plan = &plan }, .ends = ends, .by_identity = true };
	const struct follow_program_spec any = { .recording = { .plan = &plan, .nth = FOLLOW_ARGUMENTS, .value = 7 },
						  .ends = ends };
	const uint8_t *end = memchr(bytes, '\n', n);
	size_t text = end ? (size_t)(end - bytes) : n, rest = end ? n - text - 1 : 0;
	char *prototype = mem_strndup((const char *)bytes, text);
	struct trace_info *info = info_with(prototype);
	uint64_t *words = mem_zalloc(rest + 8);

	if (rest)
		memcpy(words, end + 1, rest);
	follow(info, &typed, words, whole_words(words, rest / 8));
	follow(info, &any, words, whole_words(words, rest / 8));
	free(words);
	trace_info_free(info);
	free(prototype);
	return 0;
}
