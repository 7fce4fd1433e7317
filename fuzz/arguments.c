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
#include "prototype_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_text(char *text)
{
	if (text && escape_line_run(text, strlen(text)) != strlen(text))
		abort();
	free(text);
}

/* argument_visit: reads all that it is told. */
static void read_told(void *context, const struct argument_told *a)
{
	uint64_t *sum = context;

	for (uint32_t i = 0; i < a->name_bytes; i++)
		*sum += (uint8_t)a->name[i];
	for (uint32_t i = 0; i < a->bytes; i++)
		*sum += (uint8_t)a->text[i];
	*sum += a->number;
}

/* A value of each sort: of a return with a string, registers or memory, these. */
static void print_returned(const struct trace_info *info, const struct event *e, uint64_t *sum)
{
	struct call_value v = { .number = e->tsc, .flags = CALL_VALUE };
	char *text = NULL;

	if (e->kind == EVENT_EXIT && e->flags & EVENT_TEXT)
		v = (struct call_value){ e->value, (const char *)e->payload, (uint32_t)e->count,
					 CALL_VALUE | (e->flags & EVENT_REGISTERS ? CALL_REGISTERS
						       : e->flags & EVENT_MEMORY  ? CALL_MEMORY
										  : CALL_TEXT) };
	else if (e->kind == EVENT_EXIT && e->flags & EVENT_FLOAT)
		v = (struct call_value){ .number = e->value, .flags = CALL_VALUE | CALL_FLOAT };
	arguments_value(info, 0, 0, v, 0, &text);
	check_text(text);
	arguments_returned(info, 0, 0, v, "returned", read_told, sum);
}

static void print_records(const struct trace_info *info, const uint64_t *words, size_t n)
{
	struct call_arguments *arguments = NULL;
	struct unpack u = { .at = words, .end = words + n, .arguments = &arguments };
	struct event e;
	uint64_t sum = 0;

	while (unpack_next(&u, &e)) {
		if (e.flags & EVENT_ARGUMENTS && e.kind != EVENT_TRACE) {
			check_text(arguments_text(info, &e));
			arguments_each(info, &e, read_told, &sum);
		}
		if (e.kind == EVENT_ENTRY || e.kind == EVENT_EXIT)
			print_returned(info, &e, &sum);
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
