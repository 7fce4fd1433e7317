/* SPDX-License-Identifier: MIT */
/* An instance's triggers and function commands, compiled: looked up by an event's index and by the
 * function of a record. Rules hold from one TSC on, until the settings change. Not locked: the
 * triggers own them. */
#pragma once
#include "instance/wake_events.h"
#include "model/settings.h"
#include "trace/trace_info.h"

/* A trigger with the event that it switches on or off. */
struct rule_trigger {
	struct event_trigger *trigger;
	uint32_t target;             /* the event it switches */
};

struct rule_command {
	struct function_command *command;
	uint32_t target;
};

/* An event that is recorded, switched, or has triggers. */
struct rule {
	uint32_t index;              /* in the catalogue */
	uint16_t id;
	bool always;                 /* markers and such: recorded while recording is on at all */
	bool conditional;            /* triggers look at the record: they run after it is made */
	const struct filter_program *filter; /* NULL: all records are kept */
	VEC(struct rule_trigger) triggers;   /* the newest first */
	VEC(const struct event_entry *) made; /* armed events that are made of its records */
};

struct rule_switch { uint32_t index; bool on; };
struct rule_range { uint32_t first, n; }; /* of `matching` */

struct rules {
	uint64_t from;               /* TSC */
	struct cpumask cpus;         /* records of other CPUs are dropped */
	struct event_set events;
	struct function_commands functions;
	VEC(struct rule) at;         /* by index */
	VEC(struct rule_command) commands;   /* the newest first */
	/* enabled or disabled by the write that made these settings */
	VEC(struct rule_switch) switched;
	bool stacks;                 /* a stack may be needed */
	bool makes;                  /* events are made of others */
	/* the options stacktrace, userstacktrace: a stack after each event */
	bool event_stacks, user_stacks;
	/* func_stack_trace, func-no-repeats: for the function tracer's records */
	bool call_stacks, no_repeats;
	enum tracer_wakes wakes;     /* a latency tracer's */
	struct wake_events_armed made_wakes;
	bool makes_wakes;            /* one of these is armed */
	struct rv_settings rv;       /* monitors, and the events that they make */
	struct { const struct event_entry *step, *error; } monitors[RV_MONITORS_N];
	/* By image and function id: 1 + the index in `ranges` of its commands; 0: not looked up
	 * yet. */
	VEC(struct { VEC(uint16_t) of; }) images;
	VEC(struct rule_range) ranges;       /* the first has no commands */
	VEC(uint32_t) matching;      /* commands, by place in `commands` */
};

/* Whether the settings have triggers, function commands or options that need rules. */
bool rules_wanted(const struct settings *s);
/* Whether options need stacks made from entries and returns, while the tracer records no
 * returns. */
bool rules_want_calls(const struct settings *s);
/* Whether triggers or options need the stack at this event. */
bool rules_want_stack(const struct settings *s, uint32_t event);
/* Rules of s from the TSC `from` on. before: the settings until then, NULL for none. rules_free
 * frees the result. */
struct rules *rules_new(const struct settings *before, const struct settings *s, uint64_t from);
void rules_free(struct rules *r);
/* Whether it has triggers or commands to run; otherwise it only says which events are enabled. */
bool rules_run(const struct rules *r);
/* The rule of the event with this index; NULL: the event is not wanted. */
const struct rule *rules_of_event(const struct rules *r, uint32_t index);
/* Returns the commands of a function, newest first: matching.at[first ...]. Looks them up at the
 * first call for the function. */
struct rule_range rules_of_function(struct rules *r, const struct trace_info *info, uint32_t image,
				    uint32_t fn);
