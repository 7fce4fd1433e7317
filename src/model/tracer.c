/* SPDX-License-Identifier: MIT */
/* The table of tracers. Everything here is constant; nothing fails but the look-up of a name. Any
 * thread. */
#include "model/tracer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const struct tracer tracer_function_graph = {
	.name = "function_graph",
	.options = OPTION_GRAPH,
	.functions = true,
	.exits = true,
	.printer = "function_graph",
};
/* A record is an entry and its caller. Without exits there are no durations. */
const struct tracer tracer_function = {
	.name = "function",
	.options = OPTION_FUNCTION,
	.functions = true,
	.printer = "function",
};
/* Records events only. The function printer prints their lines. */
const struct tracer tracer_nop = {
	.name = "nop",
	.options = OPTION_NOP,
	.printer = "function",
};

/* The latency tracers; wakeup_rt has the deadline threads, too, as the kernel's. */
static const struct tracer tracer_wakeup = {
	.name = "wakeup",
	.options = OPTION_COMMON,
	.functions = true,
	.wakes = TRACER_WAKES_ALL,
	.printer = "function",
};
static const struct tracer tracer_wakeup_rt = {
	.name = "wakeup_rt",
	.options = OPTION_COMMON,
	.functions = true,
	.wakes = TRACER_WAKES_RT,
	.printer = "function",
};
static const struct tracer tracer_wakeup_dl = {
	.name = "wakeup_dl",
	.options = OPTION_COMMON,
	.functions = true,
	.wakes = TRACER_WAKES_DL,
	.printer = "function",
};

/* Record what brace's own threads measure. */
static const struct tracer tracer_osnoise = {
	.name = "osnoise",
	.options = OPTION_NOP,
	.measures = true,
	.printer = "function",
};
static const struct tracer tracer_timerlat = {
	.name = "timerlat",
	.options = OPTION_NOP,
	.measures = true,
	.printer = "function",
};

static const struct tracer tracer_hwlat = {
	.name = "hwlat",
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

/* A row that is not in the table gets a number that no tracer has. */
uint32_t tracer_number(const struct tracer *t)
{
	uint32_t i = 0;

	while (i < TRACERS_N && tracers[i] != t)
		i++;
	return i + 1;
}

const struct tracer *tracer_numbered(uint32_t number)
{
	return number >= 1 && number <= TRACERS_N ? tracers[number - 1] : NULL;
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
