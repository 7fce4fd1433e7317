/* SPDX-License-Identifier: MIT */
/* The `filter` and `trigger` files of a set's events: each write goes to filter.c or trigger.c with
 * the event's format, and with a context in which functions and other events are looked up.
 * event_names.c and tree/event_files.c call it, on the thread that changes the set. Faults are
 * those of filter.c and trigger.c. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "event/event_set_internal.h"

/* Tidied in any case: a filter that was refused or cleared may have left the setting as after
 * boot. */
int event_set_filter(struct event_set *s, uint32_t index, const char *text,
		     struct filter_fault *fault)
{
	struct filter_context context = events_context(s->catalogue);
	int r = event_filter_write(&event_set_of(s, index)->filter,
				   events_at(s->catalogue, index)->format, text, &context, fault);

	event_set_tidy(s, index);
	return r;
}

/* Returns the filter of the system's file, made if there is none yet; valid until another is
 * made. */
static struct event_system_filter *system_filter(struct event_set *s, const char *system)
{
	struct event_system_filter *f;

	for (size_t i = 0; i < s->systems.n; i++)
		if (!strcmp(s->systems.at[i].system, system))
			return &s->systems.at[i];
	f = vec_add(&s->systems);
	*f = (struct event_system_filter){ .system = mem_strdup(system) };
	return f;
}

/* A system's events: their formats with their filters, and their indices for event_set_tidy(). */
struct members {
	VEC(struct event_filter_member) at;
	VEC(uint32_t) indices;
};

/* All settings are made before the first is pointed to, because a new one moves the others. */
static void collect_members(struct event_set *s, const char *system, struct members *m)
{
	uint32_t n = events_n(s->catalogue);

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(s->catalogue, i);

		if (!events_can_enable(e) || strcmp(e->format->system, system))
			continue;
		event_set_of(s, i);
		*vec_add(&m->indices) = i;
	}
	for (size_t i = 0; i < m->indices.n; i++)
		*vec_add(&m->at) = (struct event_filter_member){
			events_at(s->catalogue, m->indices.at[i])->format,
			&event_set_of(s, m->indices.at[i])->filter
		};
}

/* Events whose filter the write has cleared are dropped from the list again, so that equal sets
 * stay equal. */
int event_set_filter_system(struct event_set *s, const char *system, const char *text,
			    struct filter_fault *fault, unsigned *faults)
{
	struct filter_context context = events_context(s->catalogue);
	struct members m = { 0 };
	int r;

	collect_members(s, system, &m);
	r = event_filter_write_system(&system_filter(s, system)->filter, m.at.at, m.at.n, text,
				      &context, fault, faults);
	for (size_t i = 0; i < m.indices.n; i++)
		event_set_tidy(s, m.indices.at[i]);
	vec_free(&m.at);
	vec_free(&m.indices);
	return r;
}

char *event_set_read_filter_system(const struct event_set *s, const char *system)
{
	static const struct event_filter none;

	for (size_t i = 0; i < s->systems.n; i++)
		if (!strcmp(s->systems.at[i].system, system))
			return event_filter_read_system(&s->systems.at[i].filter);
	return event_filter_read_system(&none);
}

/* The arguments that the context's callbacks get. */
struct lookup {
	struct event_catalogue *catalogue;
	const struct event_set *set;
	struct filter_context context;
};

/* trigger_context.event_exists: ftrace's own events cannot be switched, so they do not count. */
static bool exists(void *arg, const char *system, const char *event)
{
	struct lookup *l = arg;
	const struct event_entry *e = events_find(l->catalogue, system, event);

	return e && events_can_enable(e);
}

/* Both contexts share one arg, which is the lookup; the catalogue's own callback wants its own. */
static bool function_by_name(void *arg, const char *name, uint64_t address,
			     struct filter_function *f)
{
	struct lookup *l = arg;

	return l->context.function && l->context.function(l->context.arg, name, address, f);
}

/* trigger_context.find */
static const struct event_trigger *find_trigger(void *arg,
						bool (*fits)(const struct event_trigger *t,
							     const void *what),
						const void *what)
{
	const struct event_set *s = ((const struct lookup *)arg)->set;

	for (size_t i = 0; i < s->at.n; i++)
		for (size_t k = 0; k < s->at.at[i].triggers.at.n; k++)
			if (fits(s->at.at[i].triggers.at.at[k], what))
				return s->at.at[i].triggers.at.at[k];
	return NULL;
}

/* trigger_context.find_event */
static const struct event_entry *find_event(void *arg, const char *system, const char *event)
{
	struct lookup *l = arg;
	const struct event_entry *e = events_find(l->catalogue, system, event);

	return e && events_can_trigger(e) ? e : NULL;
}

static struct lookup lookup_in(const struct event_set *s)
{
	return (struct lookup){ s->catalogue, s, events_context(s->catalogue) };
}

/* Points to *l, which has to live as long. */
static struct trigger_context context_of(struct lookup *l)
{
	return (struct trigger_context){
		{ l->context.cpus, l->context.function ? function_by_name : NULL, l },
		exists,
		find_trigger,
		events_kinds(l->catalogue),
		find_event
	};
}

int event_set_trigger(struct event_set *s, uint32_t index, const char *line,
		      struct filter_fault *fault)
{
	struct lookup l = lookup_in(s);
	struct trigger_context context = context_of(&l);
	int r = trigger_write(&event_set_of(s, index)->triggers,
			      events_at(s->catalogue, index)->format, line, &context, fault);

	event_set_tidy(s, index);
	return r;
}

void event_set_wipe_triggers(struct event_set *s, uint32_t index)
{
	struct lookup l = lookup_in(s);
	struct trigger_context context = context_of(&l);

	trigger_list_wipe(&event_set_of(s, index)->triggers, &context);
	event_set_tidy(s, index);
}

char *event_set_read_triggers(const struct event_set *s, uint32_t index)
{
	return trigger_read(&event_set_get(s, index)->triggers, events_kinds(s->catalogue));
}
