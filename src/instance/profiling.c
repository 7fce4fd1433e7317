/* SPDX-License-Identifier: MIT */
/* What is found out of all records as they come, whatever the buffers keep: the function profile and the stack tracer; when
 * they begin and end, and what they show. */
#include "instance/internal.h"

#include <string.h>

#include "collect/clock.h"

static void fed(void *context, const struct chunk *c)
{
	struct live *l = context;

	if (l->profiles)
		profile_feed(l->profile, c);
	if (l->watches_stacks)
		stacks_feed(l->stacks, c);
}

/* Held. */
static void watch(struct live *l)
{
	pump_watch(l->pump, l->profiles || l->watches_stacks ? fed : NULL, l);
}

/* --- the profile ---------------------------------------------------------------------- */

/* What was counted before is forgotten, as ftrace does. Begins before functions are hooked, so that no call is missed. */
static void begin(struct live *l, const struct settings *s)
{
	const struct trace_info *info = pump_hold(l->pump);

	profile_free(l->profile);
	l->profile = profile_new(info, s, clock_tsc());
	l->profiles = true;
	watch(l);
	pump_release(l->pump);
}

/* All that was recorded until now is counted, and stays to be shown. */
static void end(struct live *l)
{
	uint64_t now = clock_tsc();

	pump_sync(l->pump);
	pump_hold(l->pump);
	profile_end(l->profile, now);
	l->profiles = false;
	watch(l);
	pump_release(l->pump);
}

static void configure(struct live *l, const struct settings *s)
{
	pump_sync(l->pump);
	pump_hold(l->pump);
	profile_configure(l->profile, s);
	pump_release(l->pump);
}

/* --- stacks --------------------------------------------------------------------------- */

static void begin_stacks(struct live *l, const struct settings *s)
{
	const struct trace_info *info = pump_hold(l->pump);

	if (!l->stacks)
		l->stacks = stacks_new(info);
	stacks_begin(l->stacks, s, clock_tsc());
	l->watches_stacks = true;
	watch(l);
	pump_release(l->pump);
}

static void end_stacks(struct live *l)
{
	uint64_t now = clock_tsc();

	pump_sync(l->pump);
	pump_hold(l->pump);
	stacks_end(l->stacks, now);
	l->watches_stacks = false;
	watch(l);
	pump_release(l->pump);
}

static void configure_stacks(struct live *l, const struct settings *s)
{
	pump_sync(l->pump);
	pump_hold(l->pump);
	stacks_configure(l->stacks, s);
	pump_release(l->pump);
}

/* --- changes of settings ---------------------------------------------------------------- */

void profiling_before(struct live *l, const struct settings *was, const struct settings *next)
{
	if (next->function_profile && !was->function_profile)
		begin(l, next);
	if (next->stack_trace && !was->stack_trace)
		begin_stacks(l, next);
}

/* Of what a profile is and at which calls stacks are looked at, and which functions are hooked. */
static bool concerns_profile(const char *file)
{
	static const char *const files[] = { "current_tracer", "function_profile_enabled", "set_ftrace_filter", "set_ftrace_notrace",
					     "set_ftrace_module", "set_graph_function", "set_ftrace_pid", "set_ftrace_notrace_pid",
					     "stack_tracer_enabled", "stack_trace_filter" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(file, files[i]))
			return true;
	return false;
}

/* What stays on, when it was or has just been begun. */
static void configure_all(struct live *l, const struct settings *s)
{
	if (l->profiles)
		configure(l, s);
	if (l->watches_stacks)
		configure_stacks(l, s);
}

void profiling_after(struct live *l, const struct settings *was, const struct settings *next, const char *file, int e)
{
	const struct settings *now = e ? was : next;

	if (l->profiles && !now->function_profile)
		end(l);
	if (l->watches_stacks && !now->stack_trace)
		end_stacks(l);
	if (!e && concerns_profile(file))
		configure_all(l, now);
}

/* --- what is shown ------------------------------------------------------------------------ */

void profiling_show(void *arg, unsigned cpu, const struct settings *s, struct out *out)
{
	struct live *l = ((struct trace_array *)arg)->live;

	pump_sync(l->pump);
	pump_hold(l->pump);
	if (l->profile)
		profile_show(l->profile, cpu, s, out);
	pump_release(l->pump);
}

bool profiling_show_stacks(void *arg, struct out *out)
{
	struct live *l = ((struct trace_array *)arg)->live;
	bool any;

	pump_sync(l->pump);
	pump_hold(l->pump);
	any = l->stacks && stacks_show(l->stacks, out);
	pump_release(l->pump);
	return any;
}

uint64_t profiling_stack_max(void *arg)
{
	struct live *l = ((struct trace_array *)arg)->live;
	uint64_t max;

	pump_sync(l->pump);
	pump_hold(l->pump);
	max = l->stacks ? stacks_max(l->stacks) : 0;
	pump_release(l->pump);
	return max;
}

void profiling_stack_reset(void *arg, uint64_t bytes)
{
	struct live *l = ((struct trace_array *)arg)->live;

	pump_sync(l->pump);
	pump_hold(l->pump);
	if (l->stacks)
		stacks_reset(l->stacks, bytes);
	pump_release(l->pump);
}
