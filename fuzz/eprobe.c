/* SPDX-License-Identifier: MIT */
/* Any text as a line of dynamic_events that defines an event on another one's fields, and as one
 * that defines an event at a tracepoint: it is refused with a sentence, or its listing defines the
 * same, its format is one, and its program is one that the verifier takes. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/catalogue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int ok)
{
	if (!ok)
		abort();
}

/* Every kind of field. */
static const struct event_field fields[] = {
	{ "char[16]", "comm", 8, 16, false },    { "pid_t", "pid", 24, 4, true },
	{ "__data_loc char[]", "name", 28, 4, false }, { "__rel_loc char[]", "rel", 32, 4, false },
	{ "const char *", "path", 40, 8, false }, { "unsigned long[6]", "args", 48, 48, false },
	{ "u8", "small", 96, 1, false },         { "__data_loc cpumask_t", "mask", 100, 4, false },
};
static const struct event_provider provider = { .name = "fuzz", .can_enable = true };

static struct event_catalogue *catalogue(void)
{
	static struct event_catalogue *c;
	const struct event_format f = { "sys", "ev", 0, fields, sizeof(fields) / sizeof(*fields), "\"\"" };
	const struct event_entry *e;
	struct err err;

	if (!c) {
		c = events_new();
		check(events_add_format(c, &provider, &f, &e, &err) == 0);
	}
	return c;
}

/* The two kinds of lines: e:NAME SYSTEM/EVENT, and t:NAME TRACEPOINT. */
static const struct line_kind {
	char letter;
	bool (*is)(const char *line);
	int (*parse)(const char *line, struct event_catalogue *c, struct eprobe_command *out, struct err *err);
} kinds[] = { { 'e', eprobe_command_is, eprobe_command_parse }, { 't', tprobe_command_is, tprobe_command_parse } };

/* The listing has no filter, as the kernel's. */
static void read_back(const struct line_kind *kind, const struct eprobe_command *c)
{
	char *text = eprobe_text(c->eprobe), *line = mem_printf("%c:%s/%s%s", kind->letter, c->group, c->event, text);
	struct eprobe_command again;
	struct event_format *f;
	struct err err;

	check(fetch_verify(c->eprobe->program, c->eprobe->program_bytes));
	f = event_format_parse(c->format, strlen(c->format), c->group, &err);
	check(f != NULL);
	event_format_free(f);
	if (strlen(line) <= PROBE_LINE_MAX) {
		check(kind->parse(line, catalogue(), &again, &err) == 0);
		check(!strcmp(again.format, c->format));
		check(!strcmp(again.eprobe->arguments, c->eprobe->arguments));
		eprobe_command_free(&again);
	}
	free(line);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *line = mem_strndup((const char *)data, n);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct err err = { 0 };
		struct eprobe_command c;

		kinds[i].is(line);
		if (kinds[i].parse(line, catalogue(), &c, &err) == 0)
			read_back(&kinds[i], &c);
		else
			check(*err.text);
		eprobe_command_free(&c);
	}
	free(line);
	return 0;
}
