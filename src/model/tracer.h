/* SPDX-License-Identifier: MIT */
/* ftrace's tracers, a row each. settings.tracer points to one; code that prepares programs or
 * filters records asks the row, not its name. `-K` and its printer, and readers of a finished trace
 * (ui/trace_file.c), know function_graph. The rows are constants: any thread may read them.
 *
 * A new tracer is a row in tracer.c and, unless another's suits, a printer in report/printer.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/option.h"

/* Threads whose wake-ups a tracer watches, by their scheduling policy. */
enum tracer_wakes { TRACER_WAKES_NONE, TRACER_WAKES_ALL, TRACER_WAKES_RT, TRACER_WAKES_DL };

struct tracer {
	const char *name;                /* as in current_tracer */
	/* In session memories, which a later brace may read (recover): a new row has the next free
	 * number, and no row ever has another's. */
	uint32_t number;
	enum trace_option_group options; /* its own options, beside the common ones */
	/* Functions are recorded: programs are hooked for it. */
	bool functions;
	/* Exits are recorded too: calls have durations, nest, and may have values. */
	bool exits;
	/* Its records are brace's own, by the row of its name in instance/measure.c: programs are
	 * left alone. They are of the event of its name in the system ftrace. */
	bool measures;
	/* The longest time from a wake to the run is kept, with the functions in between if the
	 * option function-trace is on (instance/wakes.h): a latency tracer, as the kernel says. */
	enum tracer_wakes wakes;
	const char *printer;             /* the name of the printer of its records */
};

/* The tracers that other code names; tracer_find() knows all. */
extern const struct tracer tracer_function_graph, tracer_function, tracer_nop;

/* Returns the row, or NULL if there is no tracer of that name. */
const struct tracer *tracer_find(const char *name);
/* Returns the row with that number, or NULL if there is none. */
const struct tracer *tracer_numbered(uint32_t number);
/* Returns the names, separated by blanks, latest registered first, as available_tracers has them;
 * malloc'ed. */
char *tracer_names(void);
