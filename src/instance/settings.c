/* SPDX-License-Identifier: MIT */
/* What a write to the tree does to the session: what all instances want together, and each instance's share of what
 * comes of it. */
#include "instance/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "instance/rules.h"
#include "instance/settings_union.h"
#include "collect/clock.h"
#include "collect/perf_rings.h"

/* An event that several instances have enabled comes whole: each leaves out by its own filter. */
static void add_events(struct event_set *to, const struct event_set *from)
{
	for (size_t i = 0; i < from->at.n; i++) {
		uint32_t index = from->at.at[i].index;
		struct filter_fault ignored;

		if (!event_set_armed(from, index))
			continue;
		event_set_filter(to, index, "0", &ignored); /* also of one who does not want it now */
		event_set_enable(to, index, true);
	}
}

static void add_stacks(struct event_set *to, const struct settings *s)
{
	for (size_t i = 0; i < s->events.at.n; i++)
		if (rules_want_stack(s, s->events.at.at[i].index))
			event_set_stack(to, s->events.at.at[i].index);
}

/* They tell who makes whom, and who ends: whole, like the above. */
static void add_births(struct event_set *to, const struct settings *s)
{
	static const char *const names[] = { "sched_process_fork", "sched_process_exit" };
	struct filter_fault ignored;

	for (size_t i = 0; i < 2 && fork_follow_wanted(s); i++) {
		const struct event_entry *e = to->catalogue ? events_find(to->catalogue, "sched", names[i]) : NULL;

		if (!e)
			continue;
		event_set_filter(to, e->index, "0", &ignored);
		event_set_enable(to, e->index, true);
	}
}

/* The settings of all trace arrays, with `next` for tr, which may not be in the list yet. The caller frees the array. */
static const struct settings **all_settings(struct live *l, struct trace_array *tr, const struct settings *next, size_t *n)
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

/* What the programs are to do: the top's settings, and of functions and events what any instance wants. Sizes and
 * modes are about the buffers here; the session's memory is between the programs and us. */
struct settings *live_for_session(struct live *l, struct trace_array *tr, const struct settings *next)
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
		add_stacks(&s->events, all[i]);
	}
	settings_init(&usual);
	s->mode = l->mode;
	s->buffer_size_kb = usual.buffer_size_kb;
	settings_free(&usual);
	free(all);
	return s;
}

void live_drop_settings(struct settings *s)
{
	if (s)
		settings_free(s);
	free(s);
}

/* Files whose change reaches into the programs. */
static bool concerns_functions(const char *file)
{
	static const char *const files[] = { "current_tracer", "events", "function_profile_enabled", "max_graph_depth",
					     "set_ftrace_filter", "set_ftrace_module", "set_event", "set_ftrace_notrace",
					     "set_graph_function", "set_graph_notrace", "stack_tracer_enabled", "tracing_thresh",
					     "set_ftrace_pid", "set_ftrace_notrace_pid", "set_event_pid", "set_event_notrace_pid",
					     "options/event-fork", "options/function-fork", "options/stacktrace", "options/userstacktrace",
					     "options/func_stack_trace", "options/funcgraph-retval", "trace_options" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(file, files[i]))
			return true;
	return false;
}

static bool is_sleepless(const struct settings *s)
{
	return !option_is_set(s->options, OPTION_SLEEP_TIME);
}

static bool does_nothing(const struct settings *s)
{
	for (size_t i = 0; i < s->events.at.n; i++)
		if (event_set_armed(&s->events, s->events.at.at[i].index))
			return false;
	return s->nop;
}

/* Files whose writes often change nothing in the programs: trace-cmd writes "0" to the filter of each event there is, hundreds
 * of them, and options and lists of threads are mostly of the buffers alone. */
static bool may_change_nothing(const char *file)
{
	return !strcmp(file, "events") || !strcmp(file, "set_event") || !strcmp(file, "trace_options") ||
	       !strncmp(file, "options/", 8) || strstr(file, "_pid");
}

static bool is_same_for_programs(const char *file, const struct settings *a, const struct settings *b)
{
	uint32_t n = b->events.catalogue ? events_n(b->events.catalogue) : 0;

	if (!may_change_nothing(file) || a->nop != b->nop || a->graph != b->graph || a->calls_too != b->calls_too ||
	    settings_values(a) != settings_values(b) ||
	    !function_list_is_same(&a->filter, &b->filter) || !function_list_is_same(&a->notrace, &b->notrace))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (event_set_differ(&a->events, &b->events, i))
			return false;
	return true;
}

/* What is hooked so far, before it is something else. */
static void note_touched(struct live *l)
{
	pthread_mutex_lock(&l->names);
	functions_touch(&l->functions, pump_hold(l->pump));
	pump_release(l->pump);
	pthread_mutex_unlock(&l->names);
}

/* Without a tracer function filters mean nothing yet: they are kept for when there is one. */
static int change_session(struct trace_array *tr, const struct settings *next, const char *file, struct err *err)
{
	struct live *l = tr->live;
	struct settings *s = live_for_session(l, tr, next), *old = l->now;
	bool functions = concerns_functions(file) && !is_same_for_programs(file, old, s);
	bool nothing = (does_nothing(s) && does_nothing(old)) || (!functions && is_sleepless(s) == is_sleepless(old)) ||
		       pump_is_over(l->pump);
	uint64_t pause;
	int e = 0;

	if (nothing) {
		session_keep(l->session, s);
	} else if (functions) {
		note_touched(l);
		e = session_change(l->session, s, &pause, err);
	} else {
		e = session_change_sleeps(l->session, s, err);
	}
	l->now = e ? old : s;
	live_drop_settings(e ? s : old);
	return e;
}

/* Gives each tracing instance a record filter while the programs record a union. Called before the session changes, for the settings
 * to come, and afterwards, when the records made until then have arrived, for the settings as they are. */
static void share(struct trace_array *tr, const struct settings *next, bool begins)
{
	struct live *l = tr->live;
	size_t n;
	const struct settings **all = all_settings(l, tr, next, &n);
	bool several = settings_differ(all, n);

	if (!begins && !several && l->shared)
		live_sync(l);
	for (size_t i = 0; i < l->arrays.n && (several || (l->shared && !begins)); i++) {
		bool alone = !l->shared && !l->arrays.at[i]->settings.nop;

		pump_share(l->pump, &l->arrays.at[i]->buffer, several && !all[i]->nop ? all[i] : NULL, alone);
	}
	l->shared = several || (l->shared && begins);
	free(all);
}

static void add_threads(struct pid_list *to, uint32_t pid)
{
	char path[32];
	struct dirent *e;
	DIR *dir;

	if (pid_list_has(to, (pid_t)pid))
		return; /* a process that has been looked at: its own number is among its threads' */
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (*e->d_name != '.')
			pid_list_add(to, (pid_t)atoi(e->d_name));
	if (dir)
		closedir(dir);
}

/* Of the threads that there are it is known who is in the lists. The trace_info is the caller's. */
static void follow(struct trace_array *tr)
{
	const struct trace_info *info = consumer_info(tr->live->session);
	struct pid_list threads = { 0 };

	for (size_t i = 0; i < info->images.n; i++)
		add_threads(&threads, info->images.at[i].pid);
	for (size_t i = 0; i < info->threads.n; i++)
		add_threads(&threads, info->threads.at[i].pid);
	buffer_follow(&tr->buffer, &threads);
	pid_list_free(&threads);
}

/* Nobody looks at what was recorded before and after at once. */
static void configure(struct trace_array *tr, const struct settings *next)
{
	struct trace_info *info = pump_hold(tr->live->pump);
	bool other_records = next->clock != tr->settings.clock || next->subbuf_kb != tr->settings.subbuf_kb;

	if (!tr->name) { /* all instances' */
		info->thresh_ns = next->tracing_thresh_ns;
		consumer_name_threads(tr->live->session, option_is_set(next->options, OPTION_RECORD_CMD));
	}
	settings_free(&tr->settings);
	settings_copy(&tr->settings, next);
	buffer_configure(&tr->buffer, next, clock_tsc());
	if (other_records) /* as in ftrace */
		buffer_clear(&tr->buffer, clock_tsc());
	if (fork_follow_wanted(next))
		follow(tr);
	pump_release(tr->live->pump);
}

static bool fetches(const struct filter_program *p)
{
	return p && p->needs & FILTER_NEEDS_FETCH;
}

/* Triggers and their events' filters look at records when these are here; what a pointer led to is not. */
static int check_triggers(const struct event_set *s, struct err *err)
{
	for (size_t i = 0; i < s->at.n; i++) {
		const struct event_setting *e = &s->at.at[i];
		bool bad = fetches(e->filter.program) && !event_set_program(s, e->index);

		for (size_t k = 0; k < e->triggers.at.n; k++)
			bad |= fetches(e->triggers.at.at[k]->program);
		if (bad)
			return err_set(err, EINVAL, "a filter on what a pointer leads to cannot stand beside triggers or a .function, nor be a trigger's");
	}
	return 0;
}

/* What was recorded until now is one thing, with what threads slept or without. */
static int turn_sleeps(struct trace_array *tr, const struct settings *next, struct err *err)
{
	if (is_sleepless(next) && perf_rings_allowed(PERF_SWITCHES, err) < 0)
		return -err->code;
	live_sync(tr->live);
	return 0;
}

/* What a write to the file means for the programs, and for what is counted of them. */
static int change(struct trace_array *tr, const struct settings *next, const char *file, bool session, struct err *err)
{
	const struct settings *was = &tr->live->arrays.at[0]->settings, *top = tr->name ? was : next;
	int e = 0;

	if (top->stack_trace && top->tracing_thresh_ns)
		return err_set(err, EBUSY, "the stack tracer needs every call, and tracing_thresh leaves the short ones out: write 0 to one of them");
	if (is_sleepless(next) != is_sleepless(&tr->settings))
		e = turn_sleeps(tr, next, err);
	if (e)
		return e;
	profiling_before(tr->live, was, top);
	if (session) {
		share(tr, next, true);
		e = change_session(tr, next, file, err);
	}
	if (e == 0 && !strcmp(file, "current_tracer"))
		live_sync(tr->live); /* the old one's last records are not the new one's first */
	profiling_after(tr->live, was, top, file, e);
	return e;
}

int live_apply(void *arg, const struct settings *next, const char *file, struct err *err)
{
	struct trace_array *tr = arg;
	bool session;
	int e;

	pthread_mutex_lock(&tr->live->changing);
	session = file && (concerns_functions(file) || is_sleepless(next) != is_sleepless(&tr->settings));
	e = check_triggers(&next->events, err);
	if (e == 0 && file)
		e = change(tr, next, file, session, err);
	if (e == 0)
		configure(tr, next);
	if (session)
		share(tr, &tr->settings, false);
	pthread_mutex_unlock(&tr->live->changing);
	return e;
}
