/* SPDX-License-Identifier: MIT */
/* Compiles settings into rules, and answers what settings will need of the programs (rules_want_*,
 * asked by settings.c and settings_union.c before any rules exist). triggers.c owns compiled rules
 * and uses them under pump_lock. Copies of the event set and the commands are kept, because
 * settings may be freed while records of their time still arrive. Nothing fails: settings were
 * checked as they were written. */
#include "instance/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/mem.h"
#include "shared/record.h"

static bool has_option(const struct settings *s, enum trace_option o)
{
	return option_is_set(s->options, o);
}

static bool is_function_tracer(const struct settings *s)
{
	return settings_functions(s) && !settings_exits(s);
}

/* Whether stacktrace or userstacktrace is set and any event is armed that they apply to. */
static bool union_event_stacks(const struct settings *s)
{
	bool any = false;

	for (size_t i = 0; i < s->events.at.n && !any; i++)
		any = event_set_armed(&s->events, s->events.at.at[i].index);
	return any && (has_option(s, OPTION_STACKTRACE) || has_option(s, OPTION_USERSTACKTRACE));
}

static bool union_call_stacks(const struct settings *s)
{
	return is_function_tracer(s) && has_option(s, OPTION_FUNC_STACK_TRACE);
}

/* Whether a stack is wanted at an event that the kernel reports (sched_switch and the like). The
 * thread runs no code of the agent then, so that its stack can only be told from its calls. */
static bool union_told_stacks(const struct settings *s)
{
	for (size_t i = 0; i < s->events.at.n; i++) {
		uint32_t index = s->events.at.at[i].index;

		if (event_set_armed(&s->events, index) &&
		    events_at(s->events.catalogue, index)->provider->without_agent)
			return union_event_stacks(s);
	}
	return false;
}

/* Whether a latency tracer shows the stacks of the two threads. */
static bool union_wake_stacks(const struct settings *s)
{
	return s->tracer->wakes && settings_functions(s);
}

bool rules_want_calls(const struct settings *s)
{
	return !s->tracer->exits &&
	       (union_told_stacks(s) || union_call_stacks(s) || union_wake_stacks(s));
}

bool rules_want_stack(const struct settings *s, uint32_t event)
{
	return event_set_stacked(&s->events, event) ||
	       (event_set_armed(&s->events, event) && union_event_stacks(s));
}

bool rules_wanted(const struct settings *s)
{
	if (s->tracer->wakes || wake_events_wanted(&s->events) || rv_watches_any(&s->rv) ||
	    union_event_stacks(s) || union_call_stacks(s) ||
	    (is_function_tracer(s) && has_option(s, OPTION_FUNC_NO_REPEATS)))
		return true;
	for (size_t i = 0; i < s->events.at.n; i++)
		if (s->events.at.at[i].triggers.at.n || s->events.at.at[i].made_of)
			return true;
	return s->commands.at.n;
}

/* --- events ------------------------------------------------------------------------- */

/* Index of the event that a trigger switches; UINT32_MAX: it switches none. */
static uint32_t switched_event(const struct event_set *s, const char *system, const char *event)
{
	const struct event_entry *e = event ? events_find(s->catalogue, system, event) : NULL;

	return e ? e->index : UINT32_MAX;
}

/* The list is stored oldest first; rules run the newest first, as ftrace. A trigger stays the set's
 * (r->events has a use of it), so that it is not freed with the rule. */
static void add_triggers(struct rules *r, struct rule *rule, const struct trigger_list *l)
{
	for (size_t i = l->at.n; i-- > 0;) {
		struct event_trigger *t = l->at.at[i];

		*vec_add(&rule->triggers) =
			(struct rule_trigger){ t, switched_event(&r->events, t->system, t->event) };
		rule->conditional |= t->program || t->kind->after;
		r->stacks |= t->needs_stack;
	}
}

/* Adds the events that are made of this one's records: these are looked at. made_of is 1 + an
 * index, so that 0 can say "of none". */
static void add_made(struct rules *r, struct rule *rule)
{
	for (size_t i = 0; i < r->events.at.n; i++) {
		const struct event_setting *e = &r->events.at.at[i];

		if (e->made_of != 1 + rule->index || !event_set_armed(&r->events, e->index))
			continue;
		*vec_add(&rule->made) = events_at(r->events.catalogue, e->index);
		rule->conditional = r->makes = true;
	}
}

/* A marker's triggers run when the text is already in the buffer, as in ftrace. */
static void add_event_rule(struct rules *r, const struct event_entry *entry)
{
	const struct event_setting *e = event_set_get(&r->events, entry->index);
	bool own = events_is_own(entry);
	struct rule *rule;

	if (!own && !event_set_armed(&r->events, entry->index))
		return;
	rule = vec_add(&r->at);
	*rule = (struct rule){ .index = entry->index,
			       .id = (uint16_t)entry->format->id,
			       .filter = e->filter.program,
			       .always = own,
			       .conditional = events_is_marker(entry) };
	add_triggers(r, rule, &e->triggers);
	add_made(r, rule);
}

static void add_events(struct rules *r)
{
	uint32_t n = r->events.catalogue ? events_n(r->events.catalogue) : 0;

	for (uint32_t i = 0; i < n; i++)
		add_event_rule(r, events_at(r->events.catalogue, i));
}

/* Notes the events that these settings enable or disable: triggers may have switched them since,
 * and only a write overrides that. */
static void note_switched(struct rules *r, const struct event_set *before)
{
	uint32_t n = r->events.catalogue ? events_n(r->events.catalogue) : 0;

	for (uint32_t i = 0; i < n; i++) {
		bool on = event_set_get(&r->events, i)->enabled;

		if (on != (before && event_set_get(before, i)->enabled))
			*vec_add(&r->switched) = (struct rule_switch){ i, on };
	}
}

/* add_events() goes through the indices in order: so r->at is sorted for the bisection. */
const struct rule *rules_of_event(const struct rules *r, uint32_t index)
{
	size_t i = vec_bisect(&r->at, rule, rule->index < index);

	return i < r->at.n && r->at.at[i].index == index ? &r->at.at[i] : NULL;
}

/* --- functions ---------------------------------------------------------------------- */

static void add_commands(struct rules *r)
{
	for (size_t i = r->functions.at.n; i-- > 0;) {
		struct function_command *c = r->functions.at.at[i];

		*vec_add(&r->commands) =
			(struct rule_command){ c, switched_event(&r->events, c->system, c->event) };
		r->stacks |= c->action == FUNCTION_STACKTRACE;
	}
	/* Range 0 is empty and stands for "no commands". */
	*vec_add(&r->ranges) = (struct rule_range){ 0, 0 };
}

/* Finds the commands for a function's name. Returns 1 + the range's index. */
static uint16_t find_commands(struct rules *r, const char *name)
{
	struct rule_range range = { (uint32_t)r->matching.n, 0 };

	for (uint32_t i = 0; i < r->commands.n; i++) {
		const char *function = r->commands.at[i].command->function;

		if (strcmp(function, name) && !glob_match(function, name))
			continue;
		*vec_add(&r->matching) = i;
		range.n++;
	}
	/* UINT16_MAX ranges are more than functions with commands; further ones are left
	 * without. */
	if (!range.n || r->ranges.n >= UINT16_MAX)
		return 1;
	*vec_add(&r->ranges) = range;
	return (uint16_t)r->ranges.n;
}

/* Called after rules_of_function() has bounded both numbers, which a program's record may have made
 * up: the tables grow up to them. The pointer is valid until the next call. */
static uint16_t *function_rule_at(struct rules *r, uint32_t image, uint32_t fn)
{
	while (r->images.n <= image)
		memset(vec_add(&r->images), 0, sizeof(r->images.at[0]));
	while (r->images.at[image].of.n <= fn)
		*vec_add(&r->images.at[image].of) = 0;
	return &r->images.at[image].of.at[fn];
}

struct rule_range rules_of_function(struct rules *r, const struct trace_info *info, uint32_t image,
				    uint32_t fn)
{
	const struct trace_module *module;
	const struct trace_function *f;
	uint16_t *place;

	if (image >= info->images.n || fn > RECORD_ID_MAX)
		return r->ranges.at[0]; /* the program overwrote the record */
	place = function_rule_at(r, image, fn);
	if (!*place) {
		f = trace_info_function(info, image, fn, &module);
		/* Not kept: the function may become known. */
		if (!f)
			return r->ranges.at[0];
		*place = find_commands(r, module->strings.at + f->name);
	}
	return r->ranges.at[*place - 1];
}

static void add_options(struct rules *r, const struct settings *s)
{
	r->event_stacks = union_event_stacks(s) && has_option(s, OPTION_STACKTRACE);
	r->user_stacks = union_event_stacks(s) && has_option(s, OPTION_USERSTACKTRACE);
	r->call_stacks = union_call_stacks(s);
	r->no_repeats = is_function_tracer(s) && has_option(s, OPTION_FUNC_NO_REPEATS);
	r->wakes = s->tracer->wakes;
	r->made_wakes = wake_events_armed(&r->events);
	r->makes_wakes = wake_events_wanted(&r->events);
	r->stacks |= r->event_stacks || r->user_stacks || r->call_stacks;
}

static void add_monitors(struct rules *r, const struct settings *s)
{
	r->rv = s->rv;
	for (unsigned m = 0; r->events.catalogue && m < RV_MONITORS_N; m++) {
		char *step = mem_printf("event_%s", rv_name(m));
		char *error = mem_printf("error_%s", rv_name(m));

		r->monitors[m].step = events_find(r->events.catalogue, "rv", step);
		r->monitors[m].error = events_find(r->events.catalogue, "rv", error);
		free(step);
		free(error);
	}
}

/* --- both --------------------------------------------------------------------------- */

struct rules *rules_new(const struct settings *before, const struct settings *s, uint64_t from)
{
	struct rules *r = mem_zalloc(sizeof(*r));

	r->from = from;
	r->cpus = s->cpumask;
	event_set_copy(&r->events, &s->events);
	function_commands_copy(&r->functions, &s->commands);
	add_events(r);
	add_commands(r);
	add_options(r, s);
	add_monitors(r, s);
	note_switched(r, before ? &before->events : NULL);
	return r;
}

void rules_free(struct rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->at.n; i++) {
		vec_free(&r->at.at[i].triggers);
		vec_free(&r->at.at[i].made);
	}
	for (size_t i = 0; i < r->images.n; i++)
		vec_free(&r->images.at[i].of);
	vec_free(&r->at);
	vec_free(&r->commands);
	vec_free(&r->switched);
	vec_free(&r->images);
	vec_free(&r->ranges);
	vec_free(&r->matching);
	event_set_free(&r->events);
	function_commands_free(&r->functions);
	free(r);
}

bool rules_run(const struct rules *r)
{
	bool runs = r->commands.n || r->makes || r->event_stacks || r->user_stacks ||
		    r->call_stacks || r->no_repeats || r->wakes || r->makes_wakes ||
		    rv_watches_any(&r->rv);

	for (size_t i = 0; i < r->at.n && !runs; i++)
		runs = r->at.at[i].triggers.n;
	return runs;
}
