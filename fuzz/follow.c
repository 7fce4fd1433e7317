/* SPDX-License-Identifier: MIT */
/* The first line as what is followed, the second as what is shown: each is taken, or refused with a
 * sentence that points into it. The rest as events of a BPF program, with functions, tasks and
 * objects of a few numbers so that they meet: no order of them may harm, every event becomes a
 * line, and the text has no byte that a terminal obeys. */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "follow/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct follow_function functions[] = {
	{ "send", "vmlinux", 1, 0, FOLLOW_SIGNED, 4 },    { "copy", "vmlinux", 2, FOLLOW_GIVES, FOLLOW_POINTER, 8 },
	{ "free", "vmlinux", 3, FOLLOW_ENDS, FOLLOW_VOID, 8 }, { "touch", "mod", 4, FOLLOW_ENDS | FOLLOW_GIVES, FOLLOW_UNSIGNED, 1 },
};

static const struct follow_function *function_of(void *context, uint32_t i)
{
	return i < 4 ? &functions[i] : NULL;
}

static size_t lines, kept;

static void print_line(void *context, const struct follow_object *o, const struct follow_line *l)
{
	lines++;
	follow_print_json_line(context, o, l);
}

static void print_object(void *context, const struct follow_object *o)
{
	kept += o->lines.n;
	follow_print_object(context, o);
}

static int look_at(void *context, const char *bytes, size_t n)
{
	if (escape_text_run(bytes, n) != n)
		abort();
	return 0;
}

static void check_err(const struct err *err, const char *text)
{
	if (!*err->text || err->column > strlen(text))
		abort();
}

static char *take_line(const uint8_t **data, size_t *n)
{
	const uint8_t *end = memchr(*data, '\n', *n);
	size_t length = end ? (size_t)(end - *data) : *n;
	char *line = malloc(length + 1);

	memcpy(line, *data, length);
	line[length] = '\0';
	*data += length + !!end;
	*n -= length + !!end;
	return line;
}

/* 8 bytes an event. */
static struct follow_event event_of(const uint8_t *b, uint64_t ns)
{
	struct follow_event e = { .ns = ns + b[0], .object = b[1] % 5 * 16, .result = b[2] % 5 * 16, .function = b[3] % 5, .tid = b[4] % 4,
				  .cpu = b[4] / 128, .is_return = b[5] & 1, .child = b[5] >> 1 & 1, .first = b[5] >> 2 & 1, .why = b[5] >> 6,
				  .valid = b[6], .single = b[5] >> 3 & 1, .kind = (b[5] >> 4) % FOLLOW_KINDS_N, .group = b[4] >> 2 & 1,
				  .beyond = b[4] >> 3 & 1, .space = b[4] >> 4 & 1 };

	memset(e.comm, b[7], sizeof(e.comm));
	memset(e.shown, b[7], sizeof(e.shown));
	return e;
}

static void follow_all(const struct follow_shown *shown, const uint8_t *data, size_t n)
{
	struct follow_plan plan = { .n_shown = shown->n, .shown = { { .bytes = 8 }, { .bytes = 4, .sign = 3 }, { .bytes = 8, .pointer = 1 } } };
	struct out out;
	struct follow_print p = { .to = &out, .plan = &plan, .shown = shown, .type = "struct x", .max_depth = n % 4, .function = function_of };
	struct follow_readers readers = { print_line, print_object, function_of, &p };
	struct follow_objects *all = follow_objects_new(&readers);

	out_init(&out, look_at, NULL);
	lines = kept = 0;
	for (size_t i = 0; i + 8 <= n; i += 8) {
		struct follow_event e = event_of(data + i, i);

		follow_objects_event(all, &e);
		if (i / 8 == 300) /* and not to the end */
			break;
	}
	if (n % 2) {
		follow_objects_end(all);
		if (lines != kept || follow_objects_totals(all).calls + follow_objects_totals(all).returns != lines)
			abort();
	}
	out_flush(&out);
	out_free(&out);
	follow_objects_free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = take_line(&data, &n), *show = take_line(&data, &n);
	struct follow_expression x;
	struct follow_shown shown;
	struct err err = { 0 };

	if (follow_expression_parse(text, &x, &err) < 0)
		check_err(&err, text);
	if (follow_shown_parse(show, &shown, &err) < 0)
		check_err(&err, show);
	follow_all(&shown, data, n);
	follow_shown_free(&shown);
	free(show);
	free(text);
	return 0;
}
