/* SPDX-License-Identifier: MIT */
/* What is to happen when events and calls do, as an instance's settings say from one time on: triggers and commands
 * by the number of the event, and by the function, that records have. */
#pragma once
#include "model/settings.h"
#include "trace/trace_info.h"

struct rule_trigger {
	struct event_trigger *trigger;
	uint32_t target;             /* the event it switches */
};

struct rule_command {
	struct function_command *command;
	uint32_t target;
};

/* An event that is recorded, or switched, or that triggers. */
struct rule {
	uint32_t index;              /* in the catalogue */
	uint16_t id;
	bool always;                 /* what is written into the trace by hand is recorded while anything is */
	bool conditional;            /* triggers look at the record: they run when it has been made */
	const struct filter_program *filter; /* NULL: all records are kept */
	VEC(struct rule_trigger) triggers;   /* the newest first */
};

struct rule_switch { uint32_t index; bool on; };
struct rule_range { uint32_t first, n; }; /* of `matching` */

struct rules {
	uint64_t from;               /* TSC */
	struct cpumask cpus;         /* whose records are kept */
	struct event_set events;
	struct function_commands functions;
	VEC(struct rule) at;         /* by index */
	VEC(struct rule_command) commands;   /* the newest first */
	VEC(struct rule_switch) switched;    /* enabled or disabled by who wrote the settings */
	bool stacks;                 /* a stack may be asked for */
	bool event_stacks, user_stacks; /* the options stacktrace, userstacktrace: behind each event */
	bool call_stacks, no_repeats; /* func_stack_trace, func-no-repeats: of the function tracer's records */
	/* By image and function id: which of `ranges` holds its commands + 1; 0: not looked up yet. */
	VEC(struct { VEC(uint16_t) of; }) images;
	VEC(struct rule_range) ranges;       /* the first: none */
	VEC(uint32_t) matching;      /* commands, by place in `commands` */
};

/* Whether there is anything of the kind. */
bool rules_wanted(const struct settings *s);
/* Whether options ask for stacks that only entries and ends of calls tell, and the tracer does not say when calls end. */
bool rules_want_calls(const struct settings *s);
/* Whether triggers or options ask for the stack at this event. */
bool rules_want_stack(const struct settings *s, uint32_t event);
/* before: what was set until then; NULL: nothing. */
struct rules *rules_new(const struct settings *before, const struct settings *s, uint64_t from);
void rules_free(struct rules *r);
/* Whether it runs anything: else all that matters of it is what is enabled. */
bool rules_run(const struct rules *r);
const struct rule *rules_of_event(const struct rules *r, uint32_t index); /* NULL: the event is not wanted */
/* The commands of a function, newest first: matching.at[first ...] */
struct rule_range rules_of_function(struct rules *r, const struct trace_info *info, uint32_t image, uint32_t fn);
