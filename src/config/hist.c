/* SPDX-License-Identifier: MIT */
/* The trigger `hist` of a node hist { keys, values, sort, size, name, var, pause, continue, clear,
 * onmax, onchange, onmatch, filter }, in the order in which the kernel composes it. events.c calls
 * it for each such node, on the thread of writes.c; no state. A key that is missing or not
 * understood becomes a remark. */
#include "config/events.h"

#include <ctype.h>
#include <stdlib.h>

struct hist_text {
	struct config_reading *r;
	uint32_t key;            /* the node "hist", or a numbered one below it */
	FILE *out;
};

/* ":NAME=VALUE,VALUE" of a subkey, if it is there. */
static void add_list(struct hist_text *h, const char *name)
{
	uint32_t k = reading_find(h->r, h->key, name);
	char *values;

	if (k == BOOTCONFIG_NONE)
		return;
	values = reading_join(h->r, k, ",");
	fprintf(h->out, ":%s=%s", name, values);
	free(values);
}

/* ":NAME=VALUE" for each key below `var`. */
static void add_variables(struct hist_text *h)
{
	const struct bootconfig *c = h->r->c;
	uint32_t var = reading_find(h->r, h->key, "var");

	if (var == BOOTCONFIG_NONE)
		return;
	for (uint32_t k = c->keys.at[var].child; k != BOOTCONFIG_NONE; k = c->keys.at[k].next) {
		char *value = reading_join(h->r, k, ",");

		h->r->known[k] = true;
		fprintf(h->out, ":%s=%s", c->keys.at[k].word, value);
		free(value);
	}
}

/* The first of the three that is there. */
static void add_state(struct hist_text *h)
{
	static const char *const states[] = { "pause", "continue", "clear" };
	bool done = false;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (reading_find(h->r, h->key, states[i]) == BOOTCONFIG_NONE || done)
			continue;
		fprintf(h->out, ":%s", states[i]);
		done = true;
	}
}

/* ":onmatch(EVENT).trace(...)", ":onmax(VARIABLE).save(...)" of one handler. */
static void add_handler(struct hist_text *h, uint32_t key, const char *handler,
			const char *parameter)
{
	static const char *const actions[] = { "trace", "save", "snapshot" };
	uint32_t of = reading_find(h->r, key, parameter), action = BOOTCONFIG_NONE;
	char *what, *values;
	size_t i;

	for (i = 0; i < 3 && action == BOOTCONFIG_NONE; i++)
		action = reading_find(h->r, key, actions[i]);
	if (of == BOOTCONFIG_NONE || action == BOOTCONFIG_NONE) {
		reading_remark(h->r, reading_position(h->r, key, 0),
			       "%s needs %s, and one of trace, save and snapshot", handler, parameter);
		reading_know_all(h->r, key);
		return;
	}
	what = reading_join(h->r, of, ",");
	values = reading_join(h->r, action, ",");
	fprintf(h->out, ":%s(%s).%s(%s)", handler, what, actions[i - 1], values);
	free(what);
	free(values);
}

/* "1 { ... }": one of several. */
static bool is_numbered(const struct bootconfig *c, uint32_t key)
{
	return isdigit((unsigned char)*c->keys.at[key].word);
}

/* Numbered handlers, then one without a number. */
static void add_handlers(struct hist_text *h, const char *handler, const char *parameter)
{
	const struct bootconfig *c = h->r->c;
	uint32_t node = reading_find(h->r, h->key, handler);
	bool plain = false;

	if (node == BOOTCONFIG_NONE)
		return;
	for (uint32_t k = c->keys.at[node].child; k != BOOTCONFIG_NONE; k = c->keys.at[k].next) {
		plain |= !is_numbered(c, k);
		if (!is_numbered(c, k))
			continue;
		h->r->known[k] = true;
		add_handler(h, k, handler, parameter);
	}
	if (plain)
		add_handler(h, node, handler, parameter);
}

/* The trigger, for free(); NULL: it is told what is missing. Every key that is looked for counts
 * as known. */
char *config_hist(struct config_reading *r, uint32_t key)
{
	static const struct { const char *name, *parameter; } handlers[] = {
		{ "onmax", "var" }, { "onchange", "var" }, { "onmatch", "event" },
	};
	static const char *const lists[] = { "keys", "values", "sort", "size", "name" };
	char *text = NULL, *filter;
	struct hist_text h = { r, key, NULL };
	uint32_t k;
	size_t n;

	if (bootconfig_find(r->c, key, "keys") == BOOTCONFIG_NONE) {
		reading_remark(r, reading_position(r, key, 0), "hist needs keys");
		reading_know_all(r, key);
		return NULL;
	}
	h.out = mem_stream(&text, &n);
	fprintf(h.out, "hist");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		add_list(&h, lists[i]);
	add_variables(&h);
	add_state(&h);
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		add_handlers(&h, handlers[i].name, handlers[i].parameter);
	k = reading_find(r, key, "filter");
	if (k != BOOTCONFIG_NONE) {
		filter = reading_join(r, k, ",");
		fprintf(h.out, " if %s", filter);
		free(filter);
	}
	mem_stream_close(h.out, &text);
	return text;
}
