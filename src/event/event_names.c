/* SPDX-License-Identifier: MIT */
/* The names of set_event: globs over systems and events, whole systems, and pending names for
 * events that are not known yet. Functions of an event_set, which belongs to the caller's
 * thread. A name that fits no event is EINVAL, unless the set collects pending names. */
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
	const char *either;  /* a system or an event */
	const char *system, *event;
};

/* An empty part and * both mean any. */
static const char *unless_all(const char *part)
{
	return !*part || !strcmp(part, "*") ? NULL : part;
}

/* Takes the name apart. The caller frees .text, into which the other members point. NULL in system
 * or event means all. */
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

/* ftrace's own events have no enable file, and fit no name. */
static bool name_fits(const struct event_name *n, const struct event_entry *e)
{
	const char *system = e->format->system, *event = e->format->name;

	if (!events_can_enable(e))
		return false;
	if (n->either)
		return glob_match(n->either, event) || glob_match(n->either, system);
	return (!n->system || glob_match(n->system, system)) &&
	       (!n->event || glob_match(n->event, event));
}

/* Enables or disables the events with this name. Returns how many there are. */
static unsigned switch_named(struct event_set *s, const char *name, bool on)
{
	struct event_name n = name_of(name);
	uint32_t events = s->catalogue ? events_n(s->catalogue) : 0;
	unsigned found = 0;

	for (uint32_t i = 0; i < events; i++) {
		if (!name_fits(&n, events_at(s->catalogue, i)))
			continue;
		event_set_enable(s, i, on);
		found++;
	}
	free(n.text);
	return found;
}

/* --- pending names --------------------------------------------------------------------------- */

/* At the end: of several names that fit an event the last one decides. */
static void add_pending(struct event_set *s, const char *pattern)
{
	*vec_add(&s->pending) = (struct event_pending){ .pattern = mem_strdup(pattern) };
}

/* True if the pending name is for (or, with !, against) this event. */
static bool pending_matches(const struct event_pending *w, const struct event_entry *e)
{
	struct event_name n = name_of(w->pattern + (*w->pattern == '!'));
	bool is = name_fits(&n, e);

	free(n.text);
	return is;
}

/* Names that were never met are told at the session's end: they are mostly misspelt. */
bool event_set_pending_met(const struct event_set *s, size_t i)
{
	uint32_t n = s->catalogue ? events_n(s->catalogue) : 0;

	for (uint32_t e = 0; e < n; e++)
		if (pending_matches(&s->pending.at[i], events_at(s->catalogue, e)))
			return true;
	return false;
}

/* -EINVAL: a filter or trigger on the command line belongs to the event named before it. */
static int no_pending(const char *text, struct err *err)
{
	return err_at(err, EINVAL, text, 0,
		      "there is no event to which it could belong: name one before it");
}

/* The filter is that of the name before it: on the command line -f stands behind its -e. */
int event_set_pending_filter(struct event_set *s, const char *text, struct err *err)
{
	struct event_pending *w = s->pending.n ? &s->pending.at[s->pending.n - 1] : NULL;

	if (!w || *w->pattern == '!')
		return no_pending(text, err);
	free(w->filter);
	w->filter = mem_strdup(text);
	return 0;
}

/* A trigger belongs to the name that was given last; a name with `!` takes events out and has
 * none. */
int event_set_pending_trigger(struct event_set *s, const char *text, struct err *err)
{
	struct event_pending *w = s->pending.n ? &s->pending.at[s->pending.n - 1] : NULL;

	if (!w || *w->pattern == '!')
		return no_pending(text, err);
	*vec_add(&w->triggers) = mem_strdup(text);
	return 0;
}

/* Does for the event what the pending name asks. Returns the first failure; what came before it
 * stays done. */
static int fulfil_pending(struct event_set *s, const struct event_pending *w,
			  const struct event_entry *e, struct err *err)
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
			err_at(err, -r, w->triggers.at[i], 0, "%s:%s cannot have this trigger",
			       e->format->system, e->format->name);
	}
	return r;
}

/* Looks at the events that have come to the catalogue since the last call. 0, or the first -errno
 * and *err; the events behind it have been looked at all the same. */
int event_set_grow(struct event_set *s, struct err *err)
{
	uint32_t n = s->catalogue ? events_n(s->catalogue) : 0;
	struct err own = { 0 };
	int first = 0;

	for (; s->seen < n; s->seen++) {
		const struct event_entry *e = events_at(s->catalogue, s->seen);
		size_t w = s->pending.n;
		int r;

		/* The last pending name that fits decides, as the last write to set_event would. */
		while (w && !pending_matches(&s->pending.at[w - 1], e))
			w--;
		/* Further errors are dropped: the first one is told. */
		r = w ? fulfil_pending(s, &s->pending.at[w - 1], e, first ? NULL : &own) : 0;
		first = first ? first : r;
	}
	first = first ? first : event_set_check_scopes(s, &own);
	if (first && err)
		*err = own;
	return first;
}

/* --- set_event ------------------------------------------------------------------------ */

/* One word of set_event. */
int event_set_write(struct event_set *s, const char *name, struct err *err)
{
	bool off = *name == '!';

	if (!name[off])
		return err_at(err, EINVAL, name, off, "the name of an event is missing");
	/* A set that waits also switches the events that it knows already; none is no error
	 * there. */
	if (s->waits)
		add_pending(s, name);
	else if (strstr(name, ":mod:"))
		return err_at(err, EINVAL, name, (size_t)(strstr(name, ":mod:") - name),
			      "events are not chosen by kernel modules here: name their systems");
	if (!switch_named(s, name + off, !off) && !s->waits)
		return err_at(err, EINVAL, name, off,
			      "no event has this name; available_events lists them");
	return 0;
}

/* A write of set_event with O_TRUNC comes here. Filters and triggers stay. */
void event_set_clear(struct event_set *s)
{
	while (s->pending.n)
		event_pending_free(&s->pending.at[--s->pending.n]);
	event_set_enable_system(s, NULL, false);
}

/* One SYSTEM:EVENT a line, in the catalogue's order; for free(). */
char *event_set_read(const struct event_set *s)
{
	uint32_t events = s->catalogue ? events_n(s->catalogue) : 0;
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	/* Without a catalogue the pending names are all that there is to show. */
	for (size_t i = 0; s->waits && !events && i < s->pending.n; i++)
		fprintf(to, "%s\n", s->pending.at[i].pattern);
	for (uint32_t i = 0; i < events; i++) {
		const struct event_entry *e = events_at(s->catalogue, i);

		if (events_can_enable(e) && event_set_armed(s, i))
			fprintf(to, "%s:%s\n", e->format->system, e->format->name);
	}
	mem_stream_close(to, &text);
	return text;
}

/* --- systems -------------------------------------------------------------------------- */

/* True for an event of the system (NULL: of any) that can be enabled. */
static bool is_of(const struct event_entry *e, const char *system)
{
	return events_can_enable(e) && (!system || !strcmp(e->format->system, system));
}

/* system NULL: all of them. */
void event_set_enable_system(struct event_set *s, const char *system, bool on)
{
	uint32_t n = s->catalogue ? events_n(s->catalogue) : 0;

	for (uint32_t i = 0; i < n; i++)
		if (is_of(events_at(s->catalogue, i), system))
			event_set_enable(s, i, on);
}

const char *event_set_read_system(const struct event_set *s, const char *system)
{
	/* Indexed by what was seen: 1 an event that is off, 2 one that is on. */
	static const char *const states[] = { "?", "0", "1", "X" };
	uint32_t n = s->catalogue ? events_n(s->catalogue) : 0;
	unsigned seen = 0;

	for (uint32_t i = 0; i < n && seen != 3; i++)
		if (is_of(events_at(s->catalogue, i), system))
			seen |= event_set_armed(s, i) ? 2 : 1;
	return states[seen];
}
