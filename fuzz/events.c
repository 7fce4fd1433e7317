/* SPDX-License-Identifier: MIT */
/* Any names as writes to set_event, before the events are known and after: the same events are
 * enabled either way. Any text as an event's format; what was taken reads back, and is the same
 * event when it comes again. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "event/event_set.h"

static const struct event_provider programs = { .name = "program", .can_enable = true };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int ok)
{
	if (!ok)
		abort();
}

static void add(struct event_catalogue *c, const char *system, const char *name)
{
	static const struct event_field fields[] = { { "int", "a", 8, 4, true } };
	struct event_format f = { system, name, 0, fields, 1, "\"%d\", REC->a" };
	const struct event_entry *e;

	check(!events_add_format(c, &programs, &f, &e, NULL));
}

static void add_all(struct event_catalogue *c)
{
	add(c, "a", "b");
	add(c, "a", "a");
	add(c, "ab", "b");
	add(c, "b", "abc");
	add(c, "abc", "c");
}

static void any_format(struct event_catalogue *c, const char *system, const char *text, size_t n)
{
	const struct event_entry *e, *again;
	uint32_t before = events_n(c);

	if (events_add(c, &programs, system, text, n, &e, NULL)) {
		check(events_n(c) == before);
		return;
	}
	check(events_find(c, e->format->system, e->format->name) == e && events_at(c, e->index) == e);
	check(!events_add(c, &programs, system, e->text, strlen(e->text), &again, NULL) && again == e);
}

/* A name of a few bytes, none of them a blank. */
static void next_name(struct cursor *c, char name[17])
{
	static const char some[] = "abc:*?![]-\\modx";
	size_t length = cursor_u8(c) % 16;

	for (size_t i = 0; i < length; i++)
		name[i] = some[cursor_u8(c) % (sizeof(some) - 1)];
	name[length] = '\0';
}

static void compare(const struct event_set *early, const struct event_set *late, struct event_catalogue *c)
{
	for (uint32_t i = 0; i < events_n(c); i++) {
		check(event_set_get(early, i)->enabled == event_set_get(late, i)->enabled);
		check(!event_set_differ(early, late, i));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cursor cursor = cursor_of(data, n);
	struct event_catalogue *c = events_new();
	struct event_set early = { .waits = true }, late = { .catalogue = c };
	char name[17];

	any_format(c, n % 2 ? "s" : "a", (const char *)data, n);
	add_all(c);
	while (cursor_left(&cursor) && !cursor.bad) {
		struct err err;
		int e;

		next_name(&cursor, name);
		e = event_set_write(&late, name, &err);
		check(!e || err.column <= strlen(name));
		if (!strstr(name, ":mod:"))
			event_set_write(&early, name, NULL);
	}
	early.catalogue = c;
	check(!event_set_grow(&early, NULL));
	compare(&early, &late, c);
	event_set_free(&early);
	event_set_free(&late);
	events_free(c);
	return 0;
}
