/* SPDX-License-Identifier: MIT */
/* Events by name: set_event, whole systems, and wishes for events that are not known yet. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/mem.h"
#include "event/event_set_internal.h"

/* --- names ---------------------------------------------------------------------------- */

/* A name of set_event taken apart; NULL: any. */
struct event_name {
	char *text;
	const char *either;  /* of a system or of an event */
	const char *system, *event;
};

static const char *unless_all(const char *part)
{
	return !*part || !strcmp(part, "*") ? NULL : part;
}

static struct event_name name_of(const char *name)
{
	struct event_name n = { .text = mem_strdup(name) };
	char *colon = strchr(n.text, ':');

	if (!colon) {
		n.either = n.text;
		return n;
	}
	*colon = '\0';
	n.system = unless_all(n.text);
	n.event = unless_all(colon + 1);
	return n;
}

static bool fits(const struct event_name *n, const struct event_entry *e)
{
	const char *system = e->format->system, *event = e->format->name;

	if (!events_can_enable(e))
		return false;
	if (n->either)
		return glob_match(n->either, event) || glob_match(n->either, system);
	return (!n->system || glob_match(n->system, system)) && (!n->event || glob_match(n->event, event));
}

/* How many events were switched. */
static unsigned switch_named(struct event_set *s, const char *name, bool on)
{
	struct event_name n = name_of(name);
	uint32_t events = s->catalogue ? events_n(s->catalogue) : 0;
	unsigned found = 0;

	for (uint32_t i = 0; i < events; i++) {
		if (!fits(&n, events_at(s->catalogue, i)))
			continue;
		event_set_enable(s, i, on);
		found++;
	}
	free(n.text);
	return found;
}

/* --- wishes --------------------------------------------------------------------------- */

static void wish(struct event_set *s, const char *pattern)
{
	*vec_add(&s->wishes) = (struct event_wish){ .pattern = mem_strdup(pattern) };
}

static bool is_wished(const struct event_wish *w, const struct event_entry *e)
{
	struct event_name n = name_of(w->pattern + (*w->pattern == '!'));
	bool is = fits(&n, e);

	free(n.text);
	return is;
}

bool event_set_wish_met(const struct event_set *s, size_t i)
{
	uint32_t n = s->catalogue ? events_n(s->catalogue) : 0;

	for (uint32_t e = 0; e < n; e++)
		if (is_wished(&s->wishes.at[i], events_at(s->catalogue, e)))
			return true;
	return false;
}

static int no_wish(const char *text, struct err *err)
{
	return err_at(err, EINVAL, text, 0, "there is no event to which it could belong: name one before it");
}

int event_set_wish_filter(struct event_set *s, const char *text, struct err *err)
{
	struct event_wish *w = s->wishes.n ? &s->wishes.at[s->wishes.n - 1] : NULL;

	if (!w || *w->pattern == '!')
		return no_wish(text, err);
	free(w->filter);
	w->filter = mem_strdup(text);
	return 0;
}

int event_set_wish_trigger(struct event_set *s, const char *text, struct err *err)
{
	struct event_wish *w = s->wishes.n ? &s->wishes.at[s->wishes.n - 1] : NULL;

	if (!w || *w->pattern == '!')
		return no_wish(text, err);
	*vec_add(&w->triggers) = mem_strdup(text);
	return 0;
}

static int fulfil(struct event_set *s, const struct event_wish *w, const struct event_entry *e, struct err *err)
{
	struct filter_fault fault;
	int r = 0;

	event_set_enable(s, e->index, *w->pattern != '!');
	if (w->filter)
		r = event_set_filter(s, e->index, w->filter, &fault);
	if (r)
		return filter_fault_err(&fault, err);
	for (size_t i = 0; i < w->triggers.n && !r; i++) {
		r = event_set_trigger(s, e->index, w->triggers.at[i], &fault);
		if (r && fault.code)
			filter_fault_err(&fault, err);
		else if (r)
			err_at(err, -r, w->triggers.at[i], 0, "%s:%s cannot have this trigger", e->format->system,
			       e->format->name);
	}
	return r;
}

int event_set_grow(struct event_set *s, struct err *err)
{
	uint32_t n = s->catalogue ? events_n(s->catalogue) : 0;
	struct err own = { 0 };
	int first = 0;

	for (; s->seen < n; s->seen++) {
		const struct event_entry *e = events_at(s->catalogue, s->seen);
		size_t w = s->wishes.n;
		int r;

		while (w && !is_wished(&s->wishes.at[w - 1], e))
			w--;
		r = w ? fulfil(s, &s->wishes.at[w - 1], e, first ? NULL : &own) : 0;
		first = first ? first : r;
	}
	if (first && err)
		*err = own;
	return first;
}

/* --- set_event ------------------------------------------------------------------------ */

int event_set_write(struct event_set *s, const char *name, struct err *err)
{
	bool off = *name == '!';

	if (!name[off])
		return err_at(err, EINVAL, name, off, "the name of an event is missing");
	if (s->waits)
		wish(s, name);
	else if (strstr(name, ":mod:"))
		return err_at(err, EINVAL, name, (size_t)(strstr(name, ":mod:") - name),
			      "events are not chosen by kernel modules here: name their systems");
	if (!switch_named(s, name + off, !off) && !s->waits)
		return err_at(err, EINVAL, name, off, "no event has this name; available_events lists them");
	return 0;
}

void event_set_clear(struct event_set *s)
{
	while (s->wishes.n)
		event_wish_free(&s->wishes.at[--s->wishes.n]);
	event_set_enable_system(s, NULL, false);
}

char *event_set_read(const struct event_set *s)
{
	uint32_t events = s->catalogue ? events_n(s->catalogue) : 0;
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	for (size_t i = 0; s->waits && !events && i < s->wishes.n; i++)
		fprintf(to, "%s\n", s->wishes.at[i].pattern);
	for (uint32_t i = 0; i < events; i++) {
		const struct event_entry *e = events_at(s->catalogue, i);

		if (events_can_enable(e) && event_set_armed(s, i))
			fprintf(to, "%s:%s\n", e->format->system, e->format->name);
	}
	fclose(to);
	return text;
}

/* --- systems -------------------------------------------------------------------------- */

static bool is_of(const struct event_entry *e, const char *system)
{
	return events_can_enable(e) && (!system || !strcmp(e->format->system, system));
}

void event_set_enable_system(struct event_set *s, const char *system, bool on)
{
	uint32_t n = s->catalogue ? events_n(s->catalogue) : 0;

	for (uint32_t i = 0; i < n; i++)
		if (is_of(events_at(s->catalogue, i), system))
			event_set_enable(s, i, on);
}

const char *event_set_read_system(const struct event_set *s, const char *system)
{
	static const char *const states[] = { "?", "0", "1", "X" };
	uint32_t n = s->catalogue ? events_n(s->catalogue) : 0;
	unsigned seen = 0;

	for (uint32_t i = 0; i < n && seen != 3; i++)
		if (is_of(events_at(s->catalogue, i), system))
			seen |= event_set_armed(s, i) ? 2 : 1;
	return states[seen];
}
