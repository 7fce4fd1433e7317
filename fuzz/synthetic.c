/* SPDX-License-Identifier: MIT */
/* Any text as a line of synthetic_events: it is refused with a sentence, or its format is one that
 * a catalogue takes, lies in a record, and is listed as a line that defines the same. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/catalogue.h"
#include "event/synthetic.h"
#include "shared/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int ok)
{
	if (!ok)
		abort();
}

/* The listed line. The caller frees it. */
static char *listed(const struct event_format *f)
{
	struct out_text text = { NULL, 0 };
	struct out out;

	out_init_raw(&out, out_keep_text, &text);
	synthetic_show(f, &out);
	out_flush(&out);
	out_free(&out);
	return text.at ? text.at : mem_strdup("");
}

static void define(const struct synthetic_command *c)
{
	struct event_catalogue *events = events_new();
	const struct event_entry *entry;
	struct err err;

	check(event_record_bytes(c->format) <= EVENT_COMMON_BYTES + 8 * RECORD_PAYLOAD_MAX);
	if (events_define(events, &synthetic_provider, c->format, &entry, &err) == 0) {
		check(entry->defined && !entry->probe);
		check(events_define(events, &synthetic_provider, c->format, &entry, &err) < 0);
	} else {
		check(*err.text);
	}
	events_free(events);
}

static void read_back(const struct synthetic_command *c)
{
	char *line = listed(c->format), *again_line;
	struct synthetic_command again;
	struct err err;

	check(synthetic_command_parse(line, &again, &err) == 0);
	check(again.action == SYNTHETIC_DEFINE);
	again_line = listed(again.format);
	check(!strcmp(line, again_line));
	free(line);
	free(again_line);
	synthetic_command_free(&again);
}

static void try_line(int (*parse)(const char *line, struct synthetic_command *out, struct err *err),
		     const char *line)
{
	struct synthetic_command c;
	struct err err = { 0 };

	if (parse(line, &c, &err) < 0) {
		check(*err.text);
		return;
	}
	if (c.action == SYNTHETIC_DEFINE) {
		define(&c);
		read_back(&c);
	}
	synthetic_command_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *line = mem_strndup((const char *)data, n);

	if (!strncmp(line, "s:", 2))
		try_line(synthetic_command_parse_dynamic, line);
	try_line(synthetic_command_parse, line);
	free(line);
	return 0;
}
