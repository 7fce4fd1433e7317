/* SPDX-License-Identifier: MIT */
/* The state of a session that a tree shows: shared by its start and end (instance.c), by writes to its files (settings.c) and by
 * reads of them (target.c). */
#pragma once
#include "instance/addresses.h"
#include "instance/functions.h"
#include "instance/instance.h"
#include "instance/profile.h"
#include "instance/pump.h"
#include "instance/stacks.h"

/* One instance's buffer and settings, as the kernel's struct trace_array: the target of the files of its directory. */
struct trace_array {
	struct live *live;
	struct instance *instance;
	char *name;               /* NULL: the top one's */
	struct buffer buffer;
	struct settings settings; /* as last applied */
};

struct live {
	struct session *session;
	struct pump *pump;
	struct settings *now;     /* as the session has them */
	bool shared;              /* instances trace functions in different ways: each buffer has a record_filter */
	enum buffer_mode mode;    /* of the session's memory, since it was made */
	pthread_mutex_t lock;     /* protects arrays, with pump_hold: a writer holds both, a reader either */
	VEC(struct trace_array *) arrays; /* the first belongs to the top directory */
	pthread_mutex_t changing; /* serializes changes of `now` and of the arrays' settings */
	pthread_mutex_t names;    /* protects functions */
	struct functions functions;
	struct profile *profile;  /* NULL: not enabled so far; under pump_hold, and so are the next three */
	struct stacks *stacks;
	bool profiles, watches_stacks; /* function_profile_enabled, stack_tracer_enabled */
	struct event_catalogue *events; /* the tree's */
	uint32_t named;           /* number of them that the session's trace_info has; under pump_hold */
	struct addresses addresses; /* under pump_hold */
};

struct trace_array *trace_array_new(struct live *l, struct instance *in, const char *name, const struct settings *s);
void trace_array_free(struct trace_array *tr);

/* Waits until everything recorded before the call is in the buffer and its triggers have run: for one instance, and for all. */
void trace_array_sync(struct trace_array *tr);
void live_sync(struct live *l);

/* As tree_target_ops.apply. */
int live_apply(void *arg, const struct settings *next, const char *file, struct err *err);
/* As tree_target_ops.marker. */
int live_marker(void *arg, pid_t thread, const char *text, size_t n, bool raw, struct err *err);
/* The union of all instances' settings, with `next` in place of tr's. live_drop_settings frees it. */
struct settings *live_for_session(struct live *l, struct trace_array *tr, const struct settings *next);
void live_drop_settings(struct settings *s);

/* pump_hold; the trace_info it returns has the names of all events. */
struct trace_info *live_hold(struct live *l);

/* Around a write to a file of any instance: the top's settings before, and as they will be, or are if e is 0; else the
 * write was refused. */
void profiling_before(struct live *l, const struct settings *was, const struct settings *next);
void profiling_after(struct live *l, const struct settings *was, const struct settings *next, const char *file, int e);
/* As tree_target_ops.profile, stacks, stack_max and stack_reset. */
void profiling_show(void *arg, unsigned cpu, const struct settings *s, struct out *out);
bool profiling_show_stacks(void *arg, struct out *out);
uint64_t profiling_stack_max(void *arg);
void profiling_stack_reset(void *arg, uint64_t bytes);

extern const struct tree_target_ops live_ops;
