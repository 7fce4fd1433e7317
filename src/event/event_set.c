/* SPDX-License-Identifier: MIT */
/* A set of events as a value: copying, finding, and what the settings of an event ask of the traced
 * program. Part of the settings, so it belongs to the thread that changes those. Settings that
 * differ from their state after boot are kept, sorted by index. Nothing here fails. */
#include "event/event_set.h"

#include <string.h>

#include "base/mem.h"
#include "event/event_set_internal.h"

/* --- filters and settings as values --------------------------------------------------- */

/* `to` gets a text and a program of its own. A program has no pointers, so its bytes are all of
 * it. */
static void copy_filter(struct event_filter *to, const struct event_filter *from)
{
	*to = (struct event_filter){ from->text ? mem_strdup(from->text) : NULL, NULL };
	if (from->program) {
		to->program = mem_realloc(NULL, from->program->bytes, 1);
		memcpy(to->program, from->program, from->program->bytes);
	}
}

/* Frees what the setting owns, not its place in the list. */
static void setting_free(struct event_setting *e)
{
	event_filter_free(&e->filter);
	trigger_list_free(&e->triggers);
}

void event_pending_free(struct event_pending *w)
{
	free(w->pattern);
	free(w->filter);
	for (size_t i = 0; i < w->triggers.n; i++)
		free(w->triggers.at[i]);
	vec_free(&w->triggers);
}

/* The copy owns its strings. */
static void copy_pending(struct event_pending *to, const struct event_pending *from)
{
	*to = (struct event_pending){ mem_strdup(from->pattern),
				      from->filter ? mem_strdup(from->filter) : NULL,
				      { 0 } };
	for (size_t i = 0; i < from->triggers.n; i++)
		*vec_add(&to->triggers) = mem_strdup(from->triggers.at[i]);
}

/* Programs of filters are copied, too: a set is changed on one thread while another plans by its
 * copy. */
void event_set_copy(struct event_set *to, const struct event_set *from)
{
	*to = (struct event_set){ .catalogue = from->catalogue,
				  .waits = from->waits,
				  .syscall_bytes = from->syscall_bytes,
				  .scopes = from->scopes,
				  .seen = from->seen };
	for (size_t i = 0; i < from->at.n; i++) {
		const struct event_setting *e = &from->at.at[i];
		struct event_setting *copy = vec_add(&to->at);

		*copy = *e;
		copy_filter(&copy->filter, &e->filter);
		trigger_list_copy(&copy->triggers, &e->triggers);
	}
	for (size_t i = 0; i < from->systems.n; i++) {
		struct event_system_filter *copy = vec_add(&to->systems);

		copy->system = mem_strdup(from->systems.at[i].system);
		copy_filter(&copy->filter, &from->systems.at[i].filter);
	}
	for (size_t i = 0; i < from->pending.n; i++)
		copy_pending(vec_add(&to->pending), &from->pending.at[i]);
}

void event_set_free(struct event_set *s)
{
	for (size_t i = 0; i < s->at.n; i++)
		setting_free(&s->at.at[i]);
	for (size_t i = 0; i < s->systems.n; i++) {
		free(s->systems.at[i].system);
		event_filter_free(&s->systems.at[i].filter);
	}
	for (size_t i = 0; i < s->pending.n; i++)
		event_pending_free(&s->pending.at[i]);
	vec_free(&s->at);
	vec_free(&s->systems);
	vec_free(&s->pending);
}

/* --- finding -------------------------------------------------------------------------- */

/* Returns the place of the event's setting, or the place where it would be. */
static size_t place_of(const struct event_set *s, uint32_t index)
{
	return vec_bisect(&s->at, e, e->index < index);
}

/* Never NULL: an event without a row has the settings that all begin with. */
const struct event_setting *event_set_get(const struct event_set *s, uint32_t index)
{
	static const struct event_setting unset;
	size_t i = place_of(s, index);

	return i < s->at.n && s->at.at[i].index == index ? &s->at.at[i] : &unset;
}

/* Makes a setting that changes nothing if there is none yet; event_set_tidy() drops it again if it
 * stays so. */
struct event_setting *event_set_of(struct event_set *s, uint32_t index)
{
	size_t i = place_of(s, index);
	const struct event_entry *entry;

	if (i < s->at.n && s->at.at[i].index == index)
		return &s->at.at[i];
	entry = s->catalogue ? events_at(s->catalogue, index) : NULL;
	/* The list may move: pointers into it are void from here on. */
	(void)vec_add(&s->at);
	memmove(&s->at.at[i + 1], &s->at.at[i], (s->at.n - 1 - i) * sizeof(*s->at.at));
	s->at.at[i] = (struct event_setting){
		.index = index,
		.made_of = entry && entry->eprobe ? 1 + entry->eprobe->base->index : 0,
	};
	return &s->at.at[i];
}

/* A setting that is as after boot again is dropped, so that equal sets have equal lists. */
void event_set_tidy(struct event_set *s, uint32_t index)
{
	size_t i = place_of(s, index);
	struct event_setting *e = &s->at.at[i];

	if (i == s->at.n || e->index != index || e->enabled || e->held || e->stacked || e->scoped ||
	    e->filter.text || e->triggers.at.n)
		return;
	setting_free(e);
	s->at.n--;
	memmove(e, e + 1, (s->at.n - i) * sizeof(*e));
}

/* --- what is to be done --------------------------------------------------------------- */

/* True if one of the triggers enables or disables the event f. */
static bool switched_by(const struct trigger_list *l, const struct event_format *f)
{
	for (size_t i = 0; i < l->at.n; i++) {
		const struct event_trigger *t = l->at.at[i];

		if (t->kind->switches && !strcmp(t->event, f->name) &&
		    !strcmp(t->system, f->system))
			return true;
	}
	return false;
}

/* True if an armed event is made of this one. No event is made of one that is made itself. */
static bool makes_others(const struct event_set *s, uint32_t index)
{
	for (size_t i = 0; i < s->at.n; i++)
		if (s->at.at[i].made_of == 1 + index && event_set_armed(s, s->at.at[i].index))
			return true;
	return false;
}

/* An event that something but `enable` needs: its records come, though nobody may be shown them. */
bool event_set_switched(const struct event_set *s, uint32_t index)
{
	const struct event_setting *e = event_set_get(s, index);
	const struct event_entry *entry;

	/* Triggers of its own, or a function command that holds it. */
	if (e->held || e->triggers.at.n || makes_others(s, index))
		return true;
	entry = s->catalogue ? events_at(s->catalogue, index) : NULL;
	/* Triggers of other events that enable or disable this one. */
	for (size_t i = 0; entry && i < s->at.n; i++)
		if (switched_by(&s->at.at[i].triggers, entry->format))
			return true;
	return false;
}

/* Whether programs are to record it. */
bool event_set_armed(const struct event_set *s, uint32_t index)
{
	return event_set_get(s, index)->enabled || event_set_switched(s, index);
}

/* NULL: the agent records all, and the reader filters. */
const struct filter_program *event_set_program(const struct event_set *s, uint32_t index)
{
	const struct filter_program *p = event_set_get(s, index)->filter.program;

	/* A reader has to see all records to run triggers, and to find functions; then it runs the
	 * filter. */
	return event_set_switched(s, index) || (p && p->needs & FILTER_NEEDS_RESOLVE) ? NULL : p;
}

/* Events that are made of this one want their stacks from it. */
bool event_set_stacked(const struct event_set *s, uint32_t index)
{
	const struct event_setting *e = event_set_get(s, index);
	bool stacked = e->stacked;

	for (size_t i = 0; i < e->triggers.at.n; i++)
		stacked |= e->triggers.at.at[i]->needs_stack;
	for (size_t i = 0; i < s->at.n && !stacked; i++)
		stacked = s->at.at[i].made_of == 1 + index &&
			  event_set_stacked(s, s->at.at[i].index);
	return stacked;
}

void event_set_stack(struct event_set *s, uint32_t index)
{
	event_set_of(s, index)->stacked = true;
}

/* Instances may want one event in different scopes: in a set that is given to programs each event
 * has its own. */
uint8_t event_set_scopes(const struct event_set *s, uint32_t index)
{
	const struct event_setting *e = event_set_get(s, index);

	return e->scoped ? e->scopes : s->scopes;
}

void event_set_scope(struct event_set *s, uint32_t index, uint8_t scopes)
{
	struct event_setting *e = event_set_of(s, index);

	e->scoped = true;
	e->scopes = scopes;
}

/* The agent alone knows which calls are open: an event that the kernel tells would be recorded
 * everywhere, without a word. */
int event_set_check_scopes(const struct event_set *s, struct err *err)
{
	for (size_t i = 0; s->scopes && i < s->at.n; i++) {
		const struct event_entry *e = events_at(s->catalogue, s->at.at[i].index);

		if (e->provider->without_agent && event_set_armed(s, e->index))
			return err_set(err, EINVAL,
				       "the kernel tells of %s:%s, and knows no calls of functions: it cannot be kept to a scope",
				       e->format->system, e->format->name);
	}
	return 0;
}

/* Programs have no pointers and no padding that is not zeroed: equal bytes mean equal filters. */
static bool same_program(const struct filter_program *a, const struct filter_program *b)
{
	if (!a || !b)
		return a == b;
	return a->bytes == b->bytes && !memcmp(a, b, a->bytes);
}

/* Whether a change from a to b concerns the programs. */
bool event_set_differ(const struct event_set *a, const struct event_set *b, uint32_t index)
{
	/* An event that neither set arms asks for nothing, whatever its filters are. */
	bool armed = event_set_armed(a, index);

	if (a->catalogue && events_at(a->catalogue, index)->provider->made_here)
		return false;
	if (armed != event_set_armed(b, index))
		return true;
	return armed && (event_set_stacked(a, index) != event_set_stacked(b, index) ||
			 event_set_scopes(a, index) != event_set_scopes(b, index) ||
			 !same_program(event_set_program(a, index), event_set_program(b, index)));
}

/* --- enabling ------------------------------------------------------------------------- */

void event_set_enable(struct event_set *s, uint32_t index, bool on)
{
	event_set_of(s, index)->enabled = on;
	event_set_tidy(s, index);
}

/* by: how many commands come, or, negative, go. */
void event_set_hold(struct event_set *s, uint32_t index, int by)
{
	event_set_of(s, index)->held += (uint32_t)by;
	event_set_tidy(s, index);
}

const char *event_set_read_enable(const struct event_set *s, uint32_t index)
{
	/* * marks an event that triggers or commands switch, as in ftrace. */
	static const char *const states[] = { "0", "1", "0*", "1*" };

	return states[event_set_get(s, index)->enabled + 2 * event_set_switched(s, index)];
}
