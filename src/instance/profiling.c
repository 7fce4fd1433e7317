/* SPDX-License-Identifier: MIT */
/* Begins and ends the profile and the stack tracer as settings change, and shows what they found;
 * and counts events. All look at all records as they arrive, whatever the buffers keep. The tree's
 * threads call it, writes with instances->changing held; the state is protected by pump_lock.
 * Counting begins before functions are hooked and ends after the last records have arrived
 * (pump_sync), so that no call is missed. Nothing fails. */
#include "instance/internal.h"

#include <string.h>

#include "collect/clock.h"
#include "shared/messages.h"

void profiling_feed(void *context, const struct chunk *c)
{
	struct instances *l = context;

	if (l->profiles)
		profile_feed(l->profile, c);
	if (l->watches_stacks)
		stacks_feed(l->stacks, c);
	if (l->counts_hits)
		hits_feed(&l->hits, c);
	if (l->slow)
		slow_feed(l->slow, c);
}

/* Tells the pump whether anybody wants chunks. Called under pump_lock. Without a listener chunks go
 * to the buffers alone, and a tree that nobody profiles pays nothing. */
static void watch_chunks(struct instances *l)
{
	bool any = l->profiles || l->watches_stacks || l->counts_hits || l->slow;

	pump_watch(l->pump, any ? profiling_feed : NULL, l);
}

/* --- the profile ---------------------------------------------------------------------- */

/* Begins a new profile; the counts of the last one are dropped, as in ftrace. Called before
 * functions are hooked, so that no call is missed. */
static void begin_profile(struct instances *l, const struct settings *s)
{
	const struct trace_info *info = pump_lock(l->pump);

	profile_free(l->profile);
	l->profile = profile_new(info, s, clock_tsc());
	l->profiles = true;
	watch_chunks(l);
	pump_unlock(l->pump);
}

/* Ends the profile at this moment. Its counts stay to be shown. */
static void end_profile(struct instances *l)
{
	/* Taken before the sync: records made during it are not the profile's. */
	uint64_t now = clock_tsc();

	pump_sync(l->pump);
	pump_lock(l->pump);
	profile_end(l->profile, now);
	l->profiles = false;
	watch_chunks(l);
	pump_unlock(l->pump);
}

/* pump_sync first: records made until now count by the old settings. */
static void configure_profile(struct instances *l, const struct settings *s)
{
	pump_sync(l->pump);
	pump_lock(l->pump);
	profile_configure(l->profile, s);
	pump_unlock(l->pump);
}

/* --- stacks --------------------------------------------------------------------------- */

/* The stacks found earlier stay: like in ftrace, only stack_max_size resets them. */
static void begin_stacks(struct instances *l, const struct settings *s)
{
	const struct trace_info *info = pump_lock(l->pump);

	if (!l->stacks)
		l->stacks = stacks_new(info);
	stacks_begin(l->stacks, s, clock_tsc());
	l->watches_stacks = true;
	watch_chunks(l);
	pump_unlock(l->pump);
}

static void end_stacks(struct instances *l)
{
	uint64_t now = clock_tsc();

	pump_sync(l->pump);
	pump_lock(l->pump);
	stacks_end(l->stacks, now);
	l->watches_stacks = false;
	watch_chunks(l);
	pump_unlock(l->pump);
}

static void configure_stacks(struct instances *l, const struct settings *s)
{
	pump_sync(l->pump);
	pump_lock(l->pump);
	stacks_configure(l->stacks, s);
	pump_unlock(l->pump);
}

/* --- changes of settings ---------------------------------------------------------------- */

void profiling_before(struct instances *l, const struct settings *was, const struct settings *next)
{
	if (next->function_profile && !was->function_profile)
		begin_profile(l, next);
	if (next->stack_trace && !was->stack_trace)
		begin_stacks(l, next);
}

/* Gives the new settings to those that are on. */
static void configure_all(struct instances *l, const struct settings *s)
{
	if (l->profiles)
		configure_profile(l, s);
	if (l->watches_stacks)
		configure_stacks(l, s);
}

void profiling_after(struct instances *l, const struct settings *was, const struct settings *next,
		     const char *file, int e)
{
	/* A refused write leaves the old settings, also where profiling_before() has begun
	 * something. */
	const struct settings *now = e ? was : next;

	if (l->profiles && !now->function_profile)
		end_profile(l);
	if (l->watches_stacks && !now->stack_trace)
		end_stacks(l);
	if (!e && (settings_reach(file) & REACH_COUNTS))
		configure_all(l, now);
}

/* --- what is shown ------------------------------------------------------------------------ */

void profiling_show(void *arg, unsigned cpu, const struct settings *s, struct out *out)
{
	struct instances *l = ((struct trace_array *)arg)->instances;

	pump_sync(l->pump);
	pump_lock(l->pump);
	if (l->profile)
		profile_show(l->profile, cpu, s, out);
	pump_unlock(l->pump);
}

bool profiling_show_stacks(void *arg, struct out *out)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	bool any;

	pump_sync(l->pump);
	pump_lock(l->pump);
	any = l->stacks && stacks_show(l->stacks, out);
	pump_unlock(l->pump);
	return any;
}

uint64_t profiling_stack_max(void *arg)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	uint64_t max;

	pump_sync(l->pump);
	pump_lock(l->pump);
	max = l->stacks ? stacks_max(l->stacks) : 0;
	pump_unlock(l->pump);
	return max;
}

void profiling_stack_reset(void *arg, uint64_t bytes)
{
	struct instances *l = ((struct trace_array *)arg)->instances;

	pump_sync(l->pump);
	pump_lock(l->pump);
	if (l->stacks)
		stacks_reset(l->stacks, bytes);
	pump_unlock(l->pump);
}

/* Messages of the programs' agents: returns whose calls' arguments had not been kept. */
uint64_t profiling_missed(void *arg, uint32_t event)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	const struct trace_info *info;
	uint64_t n = 0;

	pump_sync(l->pump);
	info = pump_lock(l->pump);
	for (size_t i = 0; i < info->messages.n; i++)
		if (info->messages.at[i].kind == MESSAGE_UNKEPT &&
		    info->messages.at[i].number == event)
			n += info->messages.at[i].count;
	pump_unlock(l->pump);
	return n;
}

/* The first question begins the count, so that it finds 0: counting costs a look at each chunk, and
 * few ask. It never ends. */
uint64_t profiling_hits(void *arg, uint32_t event)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	uint64_t n;

	pump_sync(l->pump);
	pump_lock(l->pump);
	if (!l->counts_hits) {
		l->counts_hits = true;
		watch_chunks(l);
	}
	n = hits_of(&l->hits, event);
	pump_unlock(l->pump);
	return n;
}
