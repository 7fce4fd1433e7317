/* SPDX-License-Identifier: MIT */
/* The table of tracers. Everything here is constant; nothing fails but the look-up of a name. Any
 * thread. */
#include "model/tracer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const struct tracer tracer_function_graph = {
	.name = "function_graph",
	.number = 4,
	.options = OPTION_GRAPH,
	.functions = true,
	.exits = true,
	.printer = "function_graph",
};
/* A record is an entry and its caller. Without exits there are no durations. */
const struct tracer tracer_function = {
	.name = "function",
	.number = 8,
	.options = OPTION_FUNCTION,
	.functions = true,
	.printer = "function",
};
/* Records events only. The function printer prints their lines. */
const struct tracer tracer_nop = {
	.name = "nop",
	.number = 9,
	.options = OPTION_NOP,
	.printer = "function",
};

/* The latency tracers; wakeup_rt has the deadline threads, too, as the kernel's. */
static const struct tracer tracer_wakeup = {
	.name = "wakeup",
	.number = 7,
	.options = OPTION_COMMON,
	.functions = true,
	.wakes = TRACER_WAKES_ALL,
	.printer = "function",
};
static const struct tracer tracer_wakeup_rt = {
	.name = "wakeup_rt",
	.number = 6,
	.options = OPTION_COMMON,
	.functions = true,
	.wakes = TRACER_WAKES_RT,
	.printer = "function",
};
static const struct tracer tracer_wakeup_dl = {
	.name = "wakeup_dl",
	.number = 5,
	.options = OPTION_COMMON,
	.functions = true,
	.wakes = TRACER_WAKES_DL,
	.printer = "function",
};

/* Record what brace's own threads measure. */
static const struct tracer tracer_osnoise = {
	.name = "osnoise",
	.number = 2,
	.options = OPTION_NOP,
	.measures = true,
	.printer = "function",
};
static const struct tracer tracer_timerlat = {
	.name = "timerlat",
	.number = 1,
	.options = OPTION_NOP,
	.measures = true,
	.printer = "function",
};

static const struct tracer tracer_hwlat = {
	.name = "hwlat",
	.number = 3,
	.options = OPTION_NOP,
	.measures = true,
	.printer = "function",
};

/* available_tracers shows the latest registered first. */
static const struct tracer *const tracers[] = { &tracer_timerlat, &tracer_osnoise,
						&tracer_hwlat, &tracer_function_graph,
						&tracer_wakeup_dl, &tracer_wakeup_rt,
						&tracer_wakeup, &tracer_function,
						&tracer_nop };
#define TRACERS_N (sizeof(tracers) / sizeof(*tracers))

const struct tracer *tracer_find(const char *name)
{
	for (size_t i = 0; i < TRACERS_N; i++)
		if (!strcmp(name, tracers[i]->name))
			return tracers[i];
	return NULL;
}

const struct tracer *tracer_numbered(uint32_t number)
{
	for (size_t i = 0; i < TRACERS_N; i++)
		if (tracers[i]->number == number)
			return tracers[i];
	return NULL;
}

char *tracer_names(void)
{
	char *names = mem_strdup(tracers[0]->name);

	for (size_t i = 1; i < TRACERS_N; i++) {
		char *more = mem_printf("%s %s", names, tracers[i]->name);

		free(names);
		names = more;
	}
	return names;
}
