/* SPDX-License-Identifier: MIT */
/* links: arch event shared base */
/* Any text as a line of uprobe_events: it is refused with a sentence, or its definition reads back
 * as the same, its format is one, and its program is one that the verifier takes. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/catalogue.h"
#include "event/probe_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int ok)
{
	if (!ok)
		abort();
}

/* Parses the listed line again: it defines the same event. */
static void read_back(const struct probe_command *c)
{
	const struct probe_definition *d = c->definition;
	char *line = mem_printf("%c:%s/%s %s:0x%016llx%s", d->returns ? 'r' : 'p', c->group, c->event, d->path,
				(unsigned long long)d->offset, d->arguments);
	struct probe_command again;
	struct event_format *f;
	struct err err;

	check(fetch_verify(d->program, d->program_bytes));
	f = event_format_parse(c->format, strlen(c->format), c->group, &err);
	check(f != NULL);
	event_format_free(f);
	if (strlen(line) <= PROBE_LINE_MAX && strlen(c->event) <= PROBE_NAME_MAX) {
		check(probe_command_parse(line, &again, &err) == 0);
		check(!strcmp(again.format, c->format) && !strcmp(again.definition->path, d->path));
		check(again.definition->offset == d->offset &&
		      !strcmp(again.definition->arguments, d->arguments));
		probe_command_free(&again);
	}
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *line = mem_strndup((const char *)data, n);
	struct err err = { 0 };
	struct probe_command c;

	if (probe_command_parse(line, &c, &err) == 0) {
		if (c.action == PROBE_DEFINE)
			read_back(&c);
		probe_command_free(&c);
	} else {
		check(*err.text);
	}
	free(line);
	return 0;
}
