/* function_profile_enabled and trace_stat/ of a live session: when a profile begins and ends, and what it shows. */
#include "live/internal.h"

#include <string.h>

#include "session/clock.h"

static void fed(void *context, const struct chunk *c)
{
	profile_feed(((struct live *)context)->profile, c);
}

/* What was counted before is forgotten, as ftrace does. Begins before functions are hooked, so that no call is missed. */
static void begin(struct live *l, const struct settings *s)
{
	const struct trace_info *info = pump_hold(l->pump);

	profile_free(l->profile);
	l->profile = profile_new(info, s, clock_tsc());
	pump_watch(l->pump, fed, l);
	pump_release(l->pump);
}

/* All that was recorded until now is counted, and stays to be shown. */
static void end(struct live *l)
{
	uint64_t now = clock_tsc();

	pump_sync(l->pump);
	pump_hold(l->pump);
	profile_end(l->profile, now);
	pump_watch(l->pump, NULL, NULL);
	pump_release(l->pump);
}

static void configure(struct live *l, const struct settings *s)
{
	pump_sync(l->pump);
	pump_hold(l->pump);
	profile_configure(l->profile, s);
	pump_release(l->pump);
}

void profiling_before(struct live *l, bool was, const struct settings *top)
{
	if (top->function_profile && !was)
		begin(l, top);
}

/* Of what a profile is, and which functions are hooked. */
static bool concerns_profile(const char *file)
{
	static const char *const files[] = { "current_tracer", "set_ftrace_filter", "set_ftrace_notrace", "set_ftrace_module",
					     "set_graph_function", "set_ftrace_pid", "set_ftrace_notrace_pid" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(file, files[i]))
			return true;
	return false;
}

void profiling_after(struct live *l, bool was, const struct settings *top, const char *file, int e)
{
	if (top->function_profile ? !was && e : was && !e)
		end(l);
	else if (was && top->function_profile && !e && concerns_profile(file))
		configure(l, top);
}

void profiling_show(void *arg, unsigned cpu, const struct settings *s, struct out *out)
{
	struct live *l = ((struct part *)arg)->live;

	pump_sync(l->pump);
	pump_hold(l->pump);
	if (l->profile)
		profile_show(l->profile, cpu, s, out);
	pump_release(l->pump);
}
