/* SPDX-License-Identifier: MIT */
/* The lists of defined events: the lines of uprobe_events and its like, and the hits of
 * kprobe_profile and uprobe_profile. Any thread; events stay in the catalogue, so no lock is held.
 * Nothing fails. dynamic_files.c, dynamic_remove.c and others of src/tree/dynamic_*, and
 * user_events.c call it. */
#include <stdlib.h>
#include <string.h>

#include "event/synthetic.h"
#include "event/user_event.h"
#include "tree/dynamic.h"

/* Definitions are everybody's: they and their lock are the top's. */
struct instance *dynamic_top(const struct instance *in)
{
	return instance_top(in->tree);
}

/* An fprobe has a symbol as well: it is asked for first. */
static enum defined_kind kind_of(const struct event_entry *e)
{
	if (e->provider == &user_event_provider)
		return DEFINED_USER;
	return e->eprobe	  ? DEFINED_EPROBES
	       : !e->probe	  ? DEFINED_SYNTHETIC
	       : e->probe->fprobe ? DEFINED_FPROBES
	       : e->probe->symbol ? DEFINED_FUNCTIONS
				  : DEFINED_PROBES;
}

/* kind is a set of bits. An event that was removed stays in the catalogue, since records in the
 * buffers still name it. */
bool dynamic_is_defined(const struct event_entry *e, enum defined_kind kind)
{
	return e->defined && !events_is_gone(e) && kind & kind_of(e);
}

/* For the caller to free. The offset has 16 digits, as the kernel prints it. */
char *dynamic_probe_text(const struct probe_definition *d)
{
	if (d->symbol)
		return mem_printf(" %s%s%s", d->symbol, d->fprobe && d->returns ? "%return" : "",
				  d->arguments);
	return mem_printf(" %s:0x%016llx%s", d->path, (unsigned long long)d->offset, d->arguments);
}

void dynamic_add_definitions(defined_list *l, const struct event_entry *e)
{
	const struct probe_definition *d = e->probe ? probe_definition_first(e->probe) : NULL;

	if (!e->probe)
		*vec_add(l) = (struct defined){ e, NULL };
	for (; d; d = probe_definition_next(d))
		*vec_add(l) = (struct defined){ e, d };
}

/* The order in which the lines were written: a place added later to an old event stands where it
 * was written, not beside the first one. */
static uint64_t order_of(const struct defined *d)
{
	return d->place ? d->place->order : d->event->order;
}

static int by_order(const void *a, const void *b)
{
	return order_of(a) < order_of(b) ? -1 : order_of(a) > order_of(b);
}

/* Returns what is defined, in the order in which it was; vec_free() it. */
static defined_list list_defined(struct event_catalogue *c, enum defined_kind kind)
{
	defined_list l = { 0 };
	uint32_t n = events_n(c);

	for (uint32_t i = 0; i < n; i++)
		if (dynamic_is_defined(events_at(c, i), kind))
			dynamic_add_definitions(&l, events_at(c, i));
	if (l.n)
		qsort(l.at, l.n, sizeof(l.at[0]), by_order);
	return l;
}

char *dynamic_listing(const struct defined *d)
{
	return d->place		  ? dynamic_probe_text(d->place)
	       : d->event->eprobe ? eprobe_text(d->event->eprobe)
				  : NULL;
}

/* The letter with which the definition begins. */
static char letter_of(const struct defined *d)
{
	if (d->event->eprobe)
		return d->event->eprobe->tracepoint ? 't' : 'e';
	return d->event->probe->fprobe ? 'f' : d->place->returns ? 'r' : 'p';
}

/* Shows, of several formats, the name that they share, as the kernel does. */
static void show_user_event(const struct event_format *f, struct out *text)
{
	const char *number = strrchr(f->name, '.');
	const bool multi = !strcmp(f->system, USER_EVENT_MULTI_SYSTEM) && number;

	out_printf(text, "u:%.*s%s", multi ? (int)(number - f->name) : (int)strlen(f->name),
		   f->name, f->n ? " " : "");
	user_event_show(f, text);
	out_char(text, '\n');
}

/* Shows a line that defines the event. Probes and events on events have a letter before theirs
 * everywhere, synthetic events only in dynamic_events. */
static void show_event(const struct defined *d, enum defined_kind kind, struct out *text)
{
	const struct event_entry *e = d->event;
	char *listed = dynamic_listing(d);

	if (listed) {
		out_char(text, letter_of(d));
		if (d->place && d->place->active)
			out_printf(text, "%u", d->place->active);
		out_printf(text, ":%s/%s%s\n", e->format->system, e->format->name, listed);
		free(listed);
		return;
	}
	if (e->provider == &user_event_provider) {
		show_user_event(e->format, text);
		return;
	}
	if (kind == DEFINED_ALL)
		out_printf(text, "s:%s/", e->format->system);
	synthetic_show(e->format, text);
	out_char(text, '\n');
}

/* A place that `follows` another came from the same line, which stands there once. */
int dynamic_show(struct tree_file *f, enum defined_kind kind, struct out *text)
{
	defined_list l = list_defined(((struct instance *)f->owner)->events, kind);

	for (size_t i = 0; i < l.n; i++)
		if (!l.at[i].place || !l.at[i].place->follows)
			show_event(&l.at[i], kind, text);
	vec_free(&l);
	return 0;
}

/* Takes the instance's lock: not to be called with it. 0 when nothing runs. */
uint64_t dynamic_hits(struct instance *top, uint32_t index)
{
	struct tree_target t = instance_lock(top);
	uint64_t n = t.ops->hits ? t.ops->hits(t.arg, index) : 0;

	instance_unlock(top);
	return n;
}

static uint64_t missed_of(struct instance *top, uint32_t index)
{
	struct tree_target t = instance_lock(top);
	uint64_t n = t.ops->missed ? t.ops->missed(t.arg, index) : 0;

	instance_unlock(top);
	return n;
}

/* Shows how often each event was recorded, at all of its places; of functions also how often it was
 * missed: returns without the arguments that they were to tell. Records that found no room are
 * known of a thread, and not of an event. */
static int show_hits(struct tree_file *f, enum defined_kind kind, struct out *text)
{
	struct instance *top = dynamic_top((struct instance *)f->owner);
	uint32_t n = events_n(top->events);

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(top->events, i);

		if (!dynamic_is_defined(e, kind))
			continue;
		if (kind == DEFINED_FUNCTIONS)
			out_printf(text, "  %-44s %15llu %15llu\n", e->format->name,
				   (unsigned long long)dynamic_hits(top, i),
				   (unsigned long long)missed_of(top, i));
		else
			out_printf(text, "  %s %-44s %15llu\n", e->probe->path, e->format->name,
				   (unsigned long long)dynamic_hits(top, i));
	}
	return 0;
}

static int show_function_hits(struct tree_file *f, struct out *text, struct err *err)
{
	return show_hits(f, DEFINED_FUNCTIONS, text);
}

static int show_probe_hits(struct tree_file *f, struct out *text, struct err *err)
{
	return show_hits(f, DEFINED_PROBES, text);
}

const struct tree_file_ops kprobe_profile_file = { .show = show_function_hits };
const struct tree_file_ops uprobe_profile_file = { .show = show_probe_hits };
