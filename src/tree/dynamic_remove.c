/* SPDX-License-Identifier: MIT */
/* The users of an event that somebody defined, and its removal, which is refused meanwhile. Any
 * thread; the top's events_lock protects what is defined against instances that begin to use it.
 * The files src/tree/dynamic_*, instance.c and user_events.c call it. An event that is used is
 * -EBUSY and a sentence. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tree/dynamic.h"

/* With events_lock. */
static bool claims(const struct instance *in, uint32_t index)
{
	for (size_t i = 0; i < in->claimed.n; i++)
		if (in->claimed.at[i] == index)
			return true;
	return false;
}

static bool is_held(const struct instance *top, uint32_t index)
{
	for (size_t i = 0; i < top->held.n; i++)
		if (top->held.at[i] == index)
			return true;
	return false;
}

/* The caller holds top->events_lock. with_made: the events that are made of this one go along,
 * and are no hindrance. */
bool dynamic_is_used(const struct instance *top, const struct event_entry *e, bool with_made)
{
	for (const struct instance *in = top; in; in = in->next)
		if (claims(in, e->index))
			return true;
	if (is_held(top, e->index))
		return true;
	return !with_made && events_has_eprobes(top->events, e);
}

/* event_trigger's makes(): notes an event that a trigger makes records of. */
static void claim_made(void *arg, uint32_t index)
{
	struct instance *in = arg;

	if (!claims(in, index))
		*vec_add(&in->claimed) = index;
}

/* Claims what triggers make records of: these events are in use without being enabled. */
static void claim_all_made(struct instance *in, const struct event_setting *s)
{
	for (size_t i = 0; i < s->triggers.at.n; i++) {
		const struct event_trigger *t = s->triggers.at.at[i];

		if (t->kind->ops->makes)
			t->kind->ops->makes(t, claim_made, in);
	}
}

/* Claims before the settings have their effect: between the two nobody can remove an event that
 * is about to be armed. -ENODEV names one that was removed while the line was being written. */
int dynamic_events_claim(struct instance *in, const struct event_set *set, struct err *err)
{
	struct instance *top = dynamic_top(in);
	uint32_t n;
	int r = 0;

	pthread_mutex_lock(&top->events_lock);
	/* The settings are others now: what the former ones used is free. */
	in->claimed.n = 0;
	for (size_t i = 0; i < set->at.n; i++)
		claim_all_made(in, &set->at.at[i]);
	n = set->catalogue ? events_n(set->catalogue) : 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(set->catalogue, i);

		if (!e->defined || !event_set_armed(set, i))
			continue;
		if (events_is_gone(e))
			r = err_set(err, ENODEV, "the event %s:%s was removed", e->format->system,
				    e->format->name);
		else
			*vec_add(&in->claimed) = e->index;
	}
	pthread_mutex_unlock(&top->events_lock);
	return r;
}

/* Whether the definition's line begins with these words, behind the event's name. The event that it
 * is made of may be written SYSTEM/EVENT, too. The words of a synthetic event are not compared, as
 * in the kernel. */
static bool is_listed(const struct defined *d, const char *words)
{
	char *listed = dynamic_listing(d), *wanted = mem_strdup(words),
	     *slash = strchr(wanted, '/');
	size_t n = strlen(words);
	bool is;

	if (d->event->eprobe && slash)
		*slash = '.';
	is = !listed || (!strncmp(listed, wanted, n) && (!listed[n] || listed[n] == ' '));
	free(listed);
	free(wanted);
	return is;
}

/* A group alone, `-:GROUP/`, means its probes, not the synthetic events that happen to have this
 * group; emptying the file dynamic_events means all. */
static bool is_named(const struct event_entry *e, const struct dynamic_removal *what)
{
	return dynamic_is_defined(e, what->kind) &&
	       (!what->group || !strcmp(e->format->system, what->group)) &&
	       (what->event ? !strcmp(e->format->name, what->event)
			    : e->probe || e->eprobe || what->all_or_none);
}

/* Notes the event's definitions that are to go. True: these are all. */
static bool find_named(const struct event_entry *e, const struct dynamic_removal *what,
		       defined_list *go)
{
	defined_list all = { 0 };
	size_t before = go->n;
	bool is_all;

	if (!is_named(e, what))
		return false;
	dynamic_add_definitions(&all, e);
	for (size_t i = 0; i < all.n; i++)
		if (!what->listed || is_listed(&all.at[i], what->listed))
			*vec_add(go) = all.at[i];
	is_all = go->n - before == all.n;
	vec_free(&all);
	return is_all;
}

/* Removes the event, and its directories. With events_lock. */
static void remove_event(struct instance *top, const struct event_entry *e)
{
	events_remove(top->events, e);
	for (struct instance *in = top; in; in = in->next)
		event_files_remove(in, e);
}

void dynamic_hold(struct instance *top, const struct event_entry *e, bool holds)
{
	size_t n = 0;

	pthread_mutex_lock(&top->events_lock);
	for (size_t i = 0; i < top->held.n; i++)
		if (top->held.at[i] != e->index)
			top->held.at[n++] = top->held.at[i];
	top->held.n = n;
	if (holds)
		*vec_add(&top->held) = e->index;
	pthread_mutex_unlock(&top->events_lock);
}

bool dynamic_is_recorded(struct instance *top, const struct event_entry *e)
{
	bool is = false;

	pthread_mutex_lock(&top->events_lock);
	for (const struct instance *in = top; in && !is; in = in->next)
		is = claims(in, e->index);
	pthread_mutex_unlock(&top->events_lock);
	return is;
}

bool dynamic_drop(struct instance *top, const struct event_entry *e)
{
	bool is_used;

	pthread_mutex_lock(&top->events_lock);
	is_used = dynamic_is_used(top, e, false);
	if (!is_used)
		remove_event(top, e);
	pthread_mutex_unlock(&top->events_lock);
	return !is_used;
}

/* Whether the instance has a filter or anything else of the event still: it would be the new
 * event's. Those who have in->lock wait for events_lock, hence no waiting here: in doubt it has. */
static bool remembers(struct instance *in, const struct event_entry *e)
{
	const struct event_setting *s;
	bool does;

	if (pthread_mutex_trylock(&in->lock))
		return true;
	s = event_set_get(&in->settings.events, e->index);
	does = s->enabled || s->held || s->filter.text || s->triggers.at.n;
	pthread_mutex_unlock(&in->lock);
	return does;
}

bool dynamic_restore(struct instance *top, const struct event_entry *e)
{
	bool is_free = true;

	pthread_mutex_lock(&top->events_lock);
	for (struct instance *in = top; in && is_free; in = in->next)
		is_free = !claims(in, e->index) && !remembers(in, e);
	is_free = is_free && events_restore(top->events, e);
	for (struct instance *in = top; in && is_free; in = in->next)
		event_files_restore(in, e);
	pthread_mutex_unlock(&top->events_lock);
	return is_free;
}

static int refuse_removal(const struct instance *top, const struct event_entry *e, struct err *err)
{
	if (is_held(top, e->index))
		return err_set(err, EBUSY, "%s:%s is in use: a program has registered it",
			       e->format->system, e->format->name);
	return err_set(err, EBUSY, "%s:%s is in use: %s first", e->format->system, e->format->name,
		       events_has_eprobes(top->events, e) ? "remove the events on its fields"
							  : "disable it");
}

/* Removes what is named of one event, or, with `only_look`, would do so. Returns how many, or
 * -EBUSY and *err. With events_lock. */
static int remove_of_event(struct instance *top, const struct event_entry *e,
			   const struct dynamic_removal *what, bool only_look, struct err *err)
{
	defined_list go = { 0 };
	bool all = find_named(e, what, &go);
	int n = (int)go.n;

	if (n && dynamic_is_used(top, e, what->all_or_none && what->kind & DEFINED_EPROBES))
		n = refuse_removal(top, e, err);
	else if (n && all && !only_look)
		remove_event(top, e);
	for (size_t i = 0; n > 0 && !all && !only_look && i < go.n; i++)
		events_remove_place(top->events, e, go.at[i].place);
	vec_free(&go);
	return n;
}

/* The number of the removed, or -EBUSY. */
int dynamic_remove(struct instance *top, const struct dynamic_removal *what, struct err *err)
{
	uint32_t n;
	int removed = 0, r = 0;

	pthread_mutex_lock(&top->events_lock);
	n = events_n(top->events);
	/* Pass 0 only looks, so that all or none can go. */
	for (unsigned pass = what->all_or_none ? 0 : 1; pass < 2 && r >= 0; pass++) {
		for (uint32_t i = 0; i < n && r >= 0; i++) {
			r = remove_of_event(top, events_at(top->events, i), what, !pass, err);
			removed += r > 0 && pass ? r : 0;
		}
	}
	pthread_mutex_unlock(&top->events_lock);
	return r < 0 ? r : removed;
}

/* For a line such as `-:GROUP/EVENT`, where nothing found is an error; an emptied file has no
 * such error. */
int dynamic_remove_of_line(struct instance *top, const struct dynamic_removal *what,
			   const char *line, struct err *err)
{
	struct err why;
	int r = dynamic_remove(top, what, &why);

	if (r < 0)
		return err_at(err, -r, line, 0, "%s", why.text);
	return r ? 0 : err_at(err, ENOENT, line, 0, "there is no such event to remove");
}
