/* SPDX-License-Identifier: MIT */
/* Any text as the description of a user event: it is refused with a sentence, or its format is one
 * that a catalogue takes, lies in a record, and is shown as fields that describe the same. Then the
 * bytes behind the text's NUL as a record of it: whatever is found whole lies within them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/catalogue.h"
#include "event/user_event.h"
#include "shared/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int ok)
{
	if (!ok)
		abort();
}

/* The fields of the event in the catalogue, as a line. The caller frees it. */
static char *shown_line(const struct event_format *f)
{
	struct out_text text = { NULL, 0 };
	struct out out;
	char *line;

	out_init_raw(&out, out_keep_text, &text);
	user_event_show(f, &out);
	out_flush(&out);
	out_free(&out);
	line = mem_printf("%s %s", f->name, text.at ? text.at : "");
	free(text.at);
	return line;
}

static void read_back(const struct event_format *f, const struct user_event_command *c)
{
	char *line = shown_line(f);
	struct user_event_command again;
	struct err err;

	check(user_event_parse(line, &again, &err) == 0);
	check(!strcmp(again.fields, c->fields) && !strcmp(again.name, c->name));
	user_event_command_free(&again);
	free(line);
}

/* The bytes are copied, so that a reader that leaves them is found. */
static void check_record(const struct event_format *f, const uint8_t *data, size_t n)
{
	uint8_t *bytes = malloc(n + !n);
	int r;

	memcpy(bytes, data, n);
	r = user_event_check(f, bytes, n);
	check(r == 0 || n < event_record_bytes(f) - EVENT_COMMON_BYTES || f->n);
	free(bytes);
}

static void define(const struct user_event_command *c, const uint8_t *record, size_t n)
{
	struct event_catalogue *events = events_new();
	const struct event_entry *entry;
	struct err err = { 0 };
	struct event_format *f = user_event_format(c, USER_EVENT_SYSTEM, c->name, &err);

	check(f || *err.text);
	if (f && events_define(events, &user_event_provider, f, &entry, &err) == 0) {
		check(event_record_bytes(entry->format) <=
		      EVENT_COMMON_BYTES + 8 * RECORD_PAYLOAD_MAX);
		check(entry->format->n == c->at.n && user_event_is(entry->format));
		read_back(entry->format, c);
		check_record(entry->format, record, n);
	}
	event_format_free(f);
	events_free(events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *line = mem_strndup((const char *)data, n);
	const size_t used = strlen(line) < n ? strlen(line) + 1 : n;
	struct user_event_command c;
	struct err err = { 0 };

	if (user_event_parse(line, &c, &err) < 0) {
		check(*err.text);
	} else {
		define(&c, data + used, n - used);
		user_event_command_free(&c);
	}
	free(line);
	return 0;
}
