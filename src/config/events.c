/* SPDX-License-Identifier: MIT */
/* Nodes event.GROUP.EVENT to writes, in the kernel's order: the definition, filter, actions, hist,
 * enable; then event.GROUP.enable, then event.enable. writes.c calls it on its own thread; no
 * state. A key that is not understood becomes a remark, and the rest goes on. */
#include "config/events.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Groups whose events are defined here: a line of `file` for each value of `key`. The kernel knows
 * kprobes and synthetic. */
static const struct {
	const char *group, *key, *file, *begin, *separator;
	bool joins;              /* one line of all values */
} definitions[] = {
	{ "kprobes", "probes", "kprobe_events", "p:kprobes/", " ", false },
	{ "uprobes", "probes", "uprobe_events", "p:uprobes/", " ", false },
	{ "fprobes", "probes", "dynamic_events", "f:fprobes/", " ", false },
	{ "eprobes", "probes", "dynamic_events", "e:eprobes/", " ", false },
	{ "synthetic", "fields", "synthetic_events", "", " ", true },
};

/* The definition of an event whose group makes events: by its own values, before anything is
 * written to its files. */
static void define_event(struct config_reading *r, const char *group, uint32_t event)
{
	const char *name = r->c->keys.at[event].word;

	for (size_t i = 0; i < sizeof(definitions) / sizeof(definitions[0]); i++) {
		uint32_t k = strcmp(definitions[i].group, group) ? BOOTCONFIG_NONE
					: reading_find(r, event, definitions[i].key);
		size_t n = k == BOOTCONFIG_NONE ? 0 : r->c->keys.at[k].values.n;

		for (size_t v = 0; v < (definitions[i].joins && n ? 1 : n); v++) {
			char *fields = definitions[i].joins
					       ? reading_join(r, k, "; ")
					       : mem_strdup(r->c->keys.at[k].values.at[v].text);

			reading_write(r, reading_position(r, k, v), mem_strdup(definitions[i].file),
				      mem_printf("%s%s %s", definitions[i].begin, name, fields), true);
			free(fields);
		}
	}
}

/* A node `hist` may have several triggers below it, by number, and one of its own. */
static void add_hists(struct config_reading *r, const char *dir, uint32_t event)
{
	const struct bootconfig *c = r->c;
	uint32_t hist = reading_find(r, event, "hist");
	bool plain = false;
	char *text;

	if (hist == BOOTCONFIG_NONE)
		return;
	for (uint32_t k = c->keys.at[hist].child; k != BOOTCONFIG_NONE; k = c->keys.at[k].next) {
		bool numbered = isdigit((unsigned char)*c->keys.at[k].word);

		plain |= !numbered;
		r->known[k] |= numbered;
		text = numbered ? config_hist(r, k) : NULL;
		if (text)
			reading_write(r, c->keys.at[k].at, mem_printf("%s/trigger", dir), text, true);
	}
	text = plain ? config_hist(r, hist) : NULL;
	if (text)
		reading_write(r, c->keys.at[hist].at, mem_printf("%s/trigger", dir), text, true);
}

/* The writes of one event. `known` of its keys is set on the way: what is left is told as
 * unknown. */
static void add_event(struct config_reading *r, const char *group, uint32_t event)
{
	char *dir = mem_printf("events/%s/%s", group, r->c->keys.at[event].word);
	uint32_t k;

	r->known[event] = true;
	define_event(r, group, event);
	k = reading_find(r, event, "filter");
	if (k != BOOTCONFIG_NONE)
		reading_write(r, reading_position(r, k, 0), mem_printf("%s/filter", dir),
			      reading_join(r, k, ","), false);
	k = reading_find(r, event, "actions");
	for (size_t v = 0; k != BOOTCONFIG_NONE && v < r->c->keys.at[k].values.n; v++)
		reading_write(r, reading_position(r, k, v), mem_printf("%s/trigger", dir),
			      mem_strdup(r->c->keys.at[k].values.at[v].text), true);
	add_hists(r, dir, event);
	k = reading_find(r, event, "enable");
	if (k != BOOTCONFIG_NONE)
		reading_write(r, reading_position(r, k, 0), mem_printf("%s/enable", dir),
			      mem_strdup("1"), false);
	free(dir);
}

/* The subkeys but `enable`, which is no group and no event. */
static bool is_enable(const struct bootconfig *c, uint32_t key)
{
	return !strcmp(c->keys.at[key].word, "enable");
}

/* The writes of the events come before their group's `enable`, and that before everybody's: what
 * is switched on has its filter and triggers by then. */
void config_events(struct config_reading *r, uint32_t key)
{
	const struct bootconfig *c = r->c;
	uint32_t enable;

	for (uint32_t g = c->keys.at[key].child; g != BOOTCONFIG_NONE; g = c->keys.at[g].next) {
		if (is_enable(c, g))
			continue;
		r->known[g] = true;
		for (uint32_t e = c->keys.at[g].child; e != BOOTCONFIG_NONE; e = c->keys.at[e].next)
			if (!is_enable(c, e))
				add_event(r, c->keys.at[g].word, e);
		enable = reading_find(r, g, "enable");
		if (enable != BOOTCONFIG_NONE)
			reading_write(r, c->keys.at[enable].at,
				      mem_printf("events/%s/enable", c->keys.at[g].word),
				      mem_strdup("1"), false);
	}
	enable = reading_find(r, key, "enable");
	if (enable != BOOTCONFIG_NONE)
		reading_write(r, c->keys.at[enable].at, mem_strdup("events/enable"), mem_strdup("1"),
			      false);
}
