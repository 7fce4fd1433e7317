/* SPDX-License-Identifier: MIT */
/* A live session's own state, shared by its beginning and end (live.c), what a write does (settings.c) and what
 * the tree asks (target.c). */
#pragma once
#include "instance/addresses.h"
#include "instance/functions.h"
#include "instance/instance.h"
#include "instance/profile.h"
#include "instance/pump.h"
#include "instance/stacks.h"

/* An instance's part: the target of its files. */
struct part {
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
	bool shared;              /* several things are wanted of the programs' functions: parts have sieves */
	enum buffer_mode mode;    /* of the session's memory: as it was made */
	pthread_mutex_t lock;     /* of parts: to change them both locks are held, to read them one */
	VEC(struct part *) parts; /* the first is the top one's */
	pthread_mutex_t changing; /* one change at a time: of `now`, and the parts' settings */
	pthread_mutex_t names;    /* of functions */
	struct functions functions;
	struct profile *profile;  /* NULL: there was none yet; under pump_hold, as the three that follow */
	struct stacks *stacks;
	bool profiles, watches_stacks; /* at the moment */
	struct event_catalogue *events; /* the tree's */
	uint32_t named;           /* so many of them are in the session's trace_info; under pump_hold */
	struct addresses addresses; /* under pump_hold */
};

struct part *part_new(struct live *l, struct instance *in, const char *name, const struct settings *s);
void part_free(struct part *p);

/* What was recorded before the call is in the buffer, and p's triggers have been run; in all buffers. */
void part_sync(struct part *p);
void live_sync(struct live *l);

/* As tree_target_ops.apply. */
int live_apply(void *arg, const struct settings *next, const char *file, struct err *err);
/* As tree_target_ops.marker. */
int live_marker(void *arg, pid_t thread, const char *text, size_t n, bool raw, struct err *err);
/* What the programs are to do when part p has the settings `next`; settings_free and free() it. */
struct settings *live_for_session(struct live *l, struct part *p, const struct settings *next);
void live_drop_settings(struct settings *s);

/* pump_hold, with the names of all events. */
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
