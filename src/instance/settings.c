/* SPDX-License-Identifier: MIT */
/* Turns a write to the tree into a change of the session: computes what all instances want
 * together, changes the programs if that differs, and gives each instance its share. The tree's
 * threads call instances_apply; l->changing serializes it from check to end. A change that the
 * programs refuse leaves all settings as they were.
 *
 * Order: counters that need every call begin first, record filters are put in place before the
 * programs record a union and are removed after the last union's records have arrived. */
#include "instance/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "instance/monitors.h"
#include "instance/rules.h"
#include "instance/settings_union.h"
#include "instance/wake_events.h"
#include "collect/clock.h"
#include "collect/perf_rings.h"
#include "report/wakeup.h"

/* Adds the events that an instance has armed, and the longest copies that one wants. Programs
 * record an event whole if several instances want it; each applies its own filter to it
 * (selection.c). */
static void add_events(struct event_set *to, const struct event_set *from)
{
	if (to->syscall_bytes < from->syscall_bytes)
		to->syscall_bytes = from->syscall_bytes;
	for (size_t i = 0; i < from->at.n; i++) {
		uint32_t index = from->at.at[i].index;
		struct filter_fault ignored;

		if (!event_set_armed(from, index))
			continue;
		/* Removes the top's filter, also if the top itself does not want the event. */
		event_set_filter(to, index, "0", &ignored);
		event_set_enable(to, index, true);
	}
}

/* The scopes that all trace arrays together ask of one event, if each of those that have it armed
 * has some. */
static uint8_t scopes_of(const struct settings *const *all, size_t n, const uint8_t *own,
			 uint32_t index)
{
	uint8_t scopes = 0;

	for (size_t i = 0; i < n; i++) {
		if (!event_set_armed(&all[i]->events, index))
			continue;
		if (!own[i])
			return 0;
		scopes |= own[i];
	}
	return scopes;
}

/* Unites the scopes. check_scopes() has seen that there is room for them. */
static void add_scopes(struct settings *to, const struct settings *const *all, size_t n)
{
	uint8_t *own = mem_zalloc(n);
	bool any = false;

	event_scopes_free(&to->scopes);
	for (size_t i = 0; i < n; i++) {
		own[i] = event_scopes_unite(&to->scopes, &all[i]->scopes);
		any |= own[i] != 0;
	}
	to->events.scopes = 0;
	for (size_t i = 0; any && i < to->events.at.n; i++) {
		uint32_t index = to->events.at.at[i].index;

		event_set_scope(&to->events, index, scopes_of(all, n, own, index));
	}
	free(own);
}

/* Adds the events at which an instance needs a copy of the stack. */
static void add_stacks(struct event_set *to, const struct settings *s)
{
	for (size_t i = 0; i < s->events.at.n; i++)
		if (rules_want_stack(s, s->events.at.at[i].index))
			event_set_stack(to, s->events.at.at[i].index);
}

/* Adds the events that tell of forks and ends, unfiltered, if an option of the instance follows
 * forks. */
static void add_births(struct event_set *to, const struct settings *s)
{
	static const char *const names[] = { "sched_process_fork", "sched_process_exit" };
	struct filter_fault ignored;

	for (size_t i = 0; i < 2 && fork_follow_wanted(s); i++) {
		const struct event_entry *e =
			to->catalogue ? events_find(to->catalogue, "sched", names[i]) : NULL;

		if (!e)
			continue;
		event_set_filter(to, e->index, "0", &ignored);
		event_set_enable(to, e->index, true);
	}
}

/* Adds the events that tell of waits and wakes, unfiltered, for an instance's latency tracer, or
 * for the events that it makes of them. */
static void add_wakes(struct event_set *to, const struct settings *s)
{
	struct filter_fault ignored;

	if (!s->tracer->wakes && !wake_events_wanted(&s->events))
		return;
	for (size_t i = 0; wakeup_needs[i].name; i++) {
		const struct event_entry *e =
			to->catalogue ? events_find(to->catalogue, wakeup_needs[i].system,
						    wakeup_needs[i].name)
				      : NULL;

		if (!e)
			continue;
		event_set_filter(to, e->index, "0", &ignored);
		event_set_enable(to, e->index, true);
	}
}

/* Adds the events that the instance's monitors follow, unfiltered. */
static void add_monitored(struct event_set *to, const struct settings *s)
{
	struct filter_fault ignored;

	for (size_t i = 0; rv_watches_any(&s->rv) && monitors_need[i]; i++) {
		const struct event_entry *e =
			to->catalogue ? events_find(to->catalogue, "raw_syscalls",
						    monitors_need[i])
				      : NULL;

		if (!e)
			continue;
		event_set_filter(to, e->index, "0", &ignored);
		event_set_enable(to, e->index, true);
	}
}

/* Returns the settings of all trace arrays, with `next` for tr, which may not be in the list yet.
 * Index 0 is the top's. The caller frees the array; its elements stay owned by the trace arrays. */
static const struct settings **all_settings(struct instances *l, struct trace_array *tr,
					    const struct settings *next, size_t *n)
{
	const struct settings **all = mem_zalloc((l->arrays.n + 1) * sizeof(*all));
	bool found = false;

	*n = l->arrays.n;
	for (size_t i = 0; i < l->arrays.n; i++) {
		found = found || l->arrays.at[i] == tr;
		all[i] = l->arrays.at[i] == tr ? next : &l->arrays.at[i]->settings;
	}
	if (!found)
		all[(*n)++] = next;
	return all;
}

/* Builds what the programs are to do: the top's settings, with the functions and events that any
 * instance wants. Sizes and modes of instances concern the buffers here; the session memory keeps
 * its own. */
struct settings *instances_for_session(struct instances *l, struct trace_array *tr,
				       const struct settings *next)
{
	struct settings *s = mem_zalloc(sizeof(*s)), usual;
	size_t n;
	const struct settings **all = all_settings(l, tr, next, &n);

	settings_copy(s, all[0]);
	settings_union(all, n, s);
	for (size_t i = 1; i < n; i++)
		add_events(&s->events, &all[i]->events);
	for (size_t i = 0; i < n; i++) {
		add_births(&s->events, all[i]);
		add_wakes(&s->events, all[i]);
		add_monitored(&s->events, all[i]);
		add_stacks(&s->events, all[i]);
	}
	add_scopes(s, all, n);
	settings_init(&usual);
	s->mode = l->mode;
	s->buffer_size_kb = usual.buffer_size_kb;
	settings_free(&usual);
	free(all);
	return s;
}

void instances_drop_settings(struct settings *s)
{
	if (s)
		settings_free(s);
	free(s);
}

/* Whether the programs record nothing with these settings. */
static bool does_nothing(const struct settings *s)
{
	for (size_t i = 0; i < s->events.at.n; i++)
		if (event_set_armed(&s->events, s->events.at.at[i].index))
			return false;
	return !s->tracer->functions;
}

static bool is_same_for_programs(const char *file, const struct settings *a,
				 const struct settings *b)
{
	uint32_t n = b->events.catalogue ? events_n(b->events.catalogue) : 0;

	if (!(settings_reach(file) & REACH_SELDOM) || a->tracer != b->tracer ||
	    a->record_both != b->record_both ||
	    settings_values(a) != settings_values(b) || settings_args(a) != settings_args(b) ||
	    settings_causal(a) != settings_causal(b) ||
	    a->events.syscall_bytes != b->events.syscall_bytes ||
	    !event_scopes_are_same(&a->scopes, &b->scopes) ||
	    !function_list_is_same(&a->filter, &b->filter) ||
	    !function_list_is_same(&a->args, &b->args) ||
	    !function_list_is_same(&a->judged, &b->judged) ||
	    !function_list_is_same(&a->notrace, &b->notrace))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (event_set_differ(&a->events, &b->events, i))
			return false;
	return true;
}

/* Remembers the hooked functions for touched_functions before a change unhooks some. */
static void note_touched(struct instances *l)
{
	pthread_mutex_lock(&l->names);
	functions_touch(&l->functions, pump_lock(l->pump));
	pump_unlock(l->pump);
	pthread_mutex_unlock(&l->names);
}

/* Applies the union of all settings to the session, as cheaply as it can: keep it for a later
 * change, change sleep times alone, or change the programs. Without a tracer function filters mean
 * nothing yet, and are kept for when there is one. l->now is what the session has; on an error it
 * stays. */
static int change_session(struct trace_array *tr, const struct settings *next, const char *file,
			  struct err *err)
{
	struct instances *l = tr->instances;
	struct settings *s = instances_for_session(l, tr, next), *old = l->now;
	bool functions = (settings_reach(file) & REACH_PROGRAMS) &&
			 !is_same_for_programs(file, old, s);
	bool nothing = (does_nothing(s) && does_nothing(old)) ||
		       (!functions && settings_exclude_sleep(s) == settings_exclude_sleep(old)) ||
		       /* After the end of all programs a change would have nobody to reach. */
		       pump_is_over(l->pump);
	uint64_t pause;
	int e = 0;

	if (nothing) {
		session_keep(l->session, s);
	} else if (functions) {
		note_touched(l);
		pump_hurry(l->pump, true);
		e = session_change(l->session, s, &pause, err);
		pump_hurry(l->pump, false);
	} else {
		e = session_change_sleeps(l->session, s, err);
	}
	l->now = e ? old : s;
	instances_drop_settings(e ? s : old);
	return e;
}

/* Gives each tracing instance a record filter while the programs record a union. Called before the
 * session changes (begins), for the settings to come, and afterwards, when the records made until
 * then have arrived, for the settings as they are. */
static void share_settings(struct trace_array *tr, const struct settings *next, bool begins)
{
	struct instances *l = tr->instances;
	size_t n;
	const struct settings **all = all_settings(l, tr, next, &n);
	bool several = settings_differ(all, n);

	/* Records of the union may still be on their way; they need the filters that are about to
	 * go. */
	if (!begins && !several && l->shared)
		target_sync_all(l);
	for (size_t i = 0; i < l->arrays.n && (several || (l->shared && !begins)); i++) {
		bool alone = !l->shared && settings_functions(&l->arrays.at[i]->settings);

		pump_share(l->pump, &l->arrays.at[i]->buffer,
			   several && settings_functions(all[i]) ? all[i] : NULL, alone);
	}
	l->shared = several || (l->shared && begins);
	free(all);
}

/* Adds the threads of a process, from /proc. A process that has ended has none. */
static void add_threads(struct pid_list *to, uint32_t pid)
{
	char path[32];
	struct dirent *e;
	DIR *dir;

	if (pid_list_has(to, (pid_t)pid))
		return; /* the process has been looked at: its own number is among its threads' */
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (*e->d_name != '.')
			pid_list_add(to, (pid_t)atoi(e->d_name));
	if (dir)
		closedir(dir);
}

/* Tells the buffer which threads exist now, so that only later ones depend on fork records. The
 * caller has pump_lock. */
static void follow_threads(struct trace_array *tr)
{
	const struct trace_info *info = consumer_info(tr->instances->session);
	struct pid_list threads = { 0 };

	for (size_t i = 0; i < info->images.n; i++)
		add_threads(&threads, info->images.at[i].pid);
	for (size_t i = 0; i < info->threads.n; i++)
		add_threads(&threads, info->threads.at[i].pid);
	buffer_follow(&tr->buffer, &threads);
	pid_list_free(&threads);
}

/* Reconfigures the array's buffer under pump_lock, so that no reader sees records of both
 * settings. */
static void configure_buffer(struct trace_array *tr, const struct settings *next)
{
	struct trace_info *info = pump_lock(tr->instances->pump);
	bool other_records =
		next->clock != tr->settings.clock || next->subbuf_kb != tr->settings.subbuf_kb;

	if (!tr->name) { /* these hold for all instances */
		info->thresh_ns = next->tracing_thresh_ns;
		consumer_name_threads(tr->instances->session,
				      option_is_set(next->options, OPTION_RECORD_CMD));
	}
	settings_free(&tr->settings);
	settings_copy(&tr->settings, next);
	buffer_configure(&tr->buffer, next, clock_tsc());
	/* such records cannot be shown together, so that ftrace drops them, too */
	if (other_records)
		buffer_clear(&tr->buffer, clock_tsc());
	if (fork_follow_wanted(next))
		follow_threads(tr);
	pump_unlock(tr->instances->pump);
}

static bool fetches_memory(const struct filter_program *p)
{
	return p && p->needs & FILTER_NEEDS_FETCH;
}

/* Refuses filters that follow a pointer beside triggers: triggers look at records after they have
 * arrived, when the program's memory has changed. */
static int check_triggers(const struct event_set *s, struct err *err)
{
	for (size_t i = 0; i < s->at.n; i++) {
		const struct event_setting *e = &s->at.at[i];
		bool bad = fetches_memory(e->filter.program) && !event_set_program(s, e->index);

		for (size_t k = 0; k < e->triggers.at.n; k++)
			bad |= fetches_memory(e->triggers.at.at[k]->program);
		if (bad)
			return err_set(
				err, EINVAL,
				"a filter on what a pointer leads to cannot stand beside triggers or a .function, nor be a trigger's");
	}
	return 0;
}

int instances_check_returned(const struct settings *s, struct err *err)
{
	if (!function_list_has_returned(&s->graph_function) || !rules_wanted(s))
		return 0;
	return err_set(err, EBUSY,
		       "a condition on what a call returns ($retval) holds records back until the return, and triggers, commands on functions, stacks of events and func-no-repeats want them in the order of time: remove one or the other");
}

/* Triggers that were removed may still have records to look at. */
static int check_returned(struct trace_array *tr, const struct settings *next, struct err *err)
{
	if (function_list_has_returned(&next->graph_function) && !rules_wanted(next) &&
	    buffer_has_triggers(&tr->buffer))
		target_sync_all(tr->instances);
	return instances_check_returned(next, err);
}

/* Where functions are traced for several purposes, each instance's record filter judges its
 * conditions by the arguments that the programs record. Refuses what it cannot judge. */
static int check_conditions(struct trace_array *tr, const struct settings *next, struct err *err)
{
	size_t n;
	const struct settings **all = all_settings(tr->instances, tr, next, &n), *top = all[0];
	/* the programs apply it to all instances, whatever the top's tracer */
	const bool of_graph = function_list_has_conditions(&top->graph_function);
	bool conditions = of_graph;
	int e = 0;

	for (size_t i = 0; i < n; i++)
		conditions = conditions || settings_conditions(all[i]);
	if (!conditions || !settings_differ(all, n))
		e = 0;
	else if (of_graph)
		e = err_set(err, EBUSY,
			    "a condition (`if`) in set_graph_function cannot stand where functions are traced for several purposes: instances, the profile, the stack tracer, triggers or commands on functions; one in set_ftrace_filter can");
	else if (settings_conditions(top) && top->function_profile)
		e = err_set(err, EBUSY,
			    "the profile counts all calls of the functions in set_ftrace_filter, and cannot stand beside a condition (`if`) there");
	else if (top->tracing_thresh_ns)
		e = err_set(err, EBUSY,
			    "with tracing_thresh calls are recorded without arguments, by which a condition (`if`) is judged where several instances trace functions");
	free(all);
	return e;
}

/* Whether two trace arrays want the event at other times than each other. */
static bool is_contested(const struct settings *a, const struct settings *b, uint32_t index)
{
	return event_set_armed(&a->events, index) && event_set_armed(&b->events, index) &&
	       !event_scopes_are_same(&a->scopes, &b->scopes);
}

/* Refuses one event in several scopes: a record does not tell in which of them it was made. */
static int check_contest(const struct settings *const *all, size_t n, struct err *err)
{
	struct event_catalogue *c = all[0]->events.catalogue;

	for (uint32_t index = 0; c && index < events_n(c); index++)
		for (size_t i = 1; i < n; i++)
			for (size_t k = 0; k < i; k++)
				if (is_contested(all[i], all[k], index))
					return err_set(err, EBUSY,
						       "%s:%s is recorded in another instance with another scope (set_event_scope): one event has one scope, of as many functions as it may be",
						       events_at(c, index)->format->system,
						       events_at(c, index)->format->name);
	return 0;
}

static int check_scopes(struct trace_array *tr, const struct settings *next, struct err *err)
{
	struct event_scopes sum = { 0 };
	bool any = false;
	size_t n;
	const struct settings **all = all_settings(tr->instances, tr, next, &n);
	int e = event_set_check_scopes(&next->events, err);

	for (size_t i = 0; e == 0 && i < n; i++) {
		any |= settings_scoped(all[i]);
		if (settings_scoped(all[i]) && !event_scopes_unite(&sum, &all[i]->scopes))
			e = err_set(err, E2BIG, "all instances together have at most %u scopes",
				    MEMORY_SCOPES);
	}
	if (e == 0 && any)
		e = check_contest(all, n, err);
	event_scopes_free(&sum);
	free(all);
	return e;
}

/* Before sleep-time changes: checks that the kernel lets us count sleeps, and lets everything
 * recorded so far arrive under the old meaning. */
static int turn_sleeps(struct trace_array *tr, const struct settings *next, struct err *err)
{
	if (settings_exclude_sleep(next) && perf_rings_allowed(PERF_SWITCHES, err) < 0)
		return -err->code;
	target_sync_all(tr->instances);
	return 0;
}

/* Applies a write to the programs and to the counters. On an error neither has changed. */
static int change_settings(struct trace_array *tr, const struct settings *next, const char *file,
			   bool session, struct err *err)
{
	const struct settings *was = &tr->instances->top->settings, *top = tr->name ? was : next;
	int e = 0;

	if (top->stack_trace && top->tracing_thresh_ns)
		return err_set(
			err, EBUSY,
			"the stack tracer needs every call, and tracing_thresh leaves the short ones out: write 0 to one of them");
	e = check_returned(tr, next, err);
	if (e == 0)
		e = check_conditions(tr, next, err);
	if (e == 0)
		e = check_scopes(tr, next, err);
	if (e == 0 && settings_exclude_sleep(next) != settings_exclude_sleep(&tr->settings))
		e = turn_sleeps(tr, next, err);
	if (e == 0 && next->tracer->wakes && !tr->settings.tracer->wakes)
		e = perf_rings_allowed(PERF_SWITCHES, err);
	if (e)
		return e;
	profiling_before(tr->instances, was, top);
	if (session) {
		share_settings(tr, next, true);
		if (function_list_has_returned(&next->graph_function))
			buffer_hold(&tr->buffer, true);
		e = change_session(tr, next, file, err);
	}
	if (e == 0 && !strcmp(file, "current_tracer"))
		/* The old tracer's last records must not be taken for the new one's first. */
		target_sync_all(tr->instances);
	else if (e == 0 && session)
		/* Records of the old settings are kept by the old settings: an event that is
		 * disabled right after its hit has its record. */
		pump_sync(tr->instances->pump);
	profiling_after(tr->instances, was, top, file, e);
	return e;
}

int instances_apply(void *arg, const struct settings *next, const char *file, struct err *err)
{
	struct trace_array *tr = arg;
	bool session;
	int e;

	pthread_mutex_lock(&tr->instances->changing);
	/* A sleep-time that changes needs the session whichever file it came by (trace_options). */
	session = file && ((settings_reach(file) & REACH_PROGRAMS) ||
			   settings_exclude_sleep(next) != settings_exclude_sleep(&tr->settings));
	e = check_triggers(&next->events, err);
	if (e == 0)
		e = measuring_check(tr, next, err);
	if (e == 0 && file)
		e = change_settings(tr, next, file, session, err);
	if (e == 0)
		configure_buffer(tr, next);
	if (e == 0)
		e = measuring_update(tr->instances->measuring, err);
	/* Also after an error: the filters for settings that were refused go again. */
	if (session) {
		share_settings(tr, &tr->settings, false);
		buffer_hold(&tr->buffer, function_list_has_returned(&tr->settings.graph_function));
	}
	pthread_mutex_unlock(&tr->instances->changing);
	return e;
}
