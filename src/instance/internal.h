/* SPDX-License-Identifier: MIT */
/* The state of a session that a tree shows, shared by instances.c (beginning and end), settings.c
 * (writes to files), target.c (reads of files), profiling.c and marker.c.
 *
 * Locks are taken in this order: changing, names, pump_lock, lock, and a buffer's own. */
#pragma once
#include "base/number_map.h"
#include "instance/addresses.h"
#include "instance/functions.h"
#include "instance/hits.h"
#include "instance/instances.h"
#include "instance/measuring.h"
#include "instance/profile.h"
#include "instance/pump.h"
#include "instance/slow.h"
#include "instance/stacks.h"
#include "instance/writer_cpus.h"

/* One instance's buffer and settings, like the kernel's struct trace_array. It is the target of the
 * files in the instance's directory. */
struct trace_array {
	struct instances *instances;
	struct instance *instance;
	char *name;               /* NULL: the top one's */
	struct buffer buffer;
	struct settings settings; /* as last applied */
	/* its tracer measures: the threads that do give it their records; under instances.lock */
	bool measures;
	bool gap_events;          /* and events of the system osnoise are armed; likewise */
};

struct instances {
	struct session *session;
	struct pump *pump;
	/* as the session has them: the union of all instances' (instances_for_session) */
	struct settings *now;
	/* instances trace functions in different ways: each buffer has a record_filter */
	bool shared;
	enum buffer_mode mode;    /* of the session's memory, since it was made */
	/* protects arrays, with `changing`: a writer holds both, a reader either */
	pthread_mutex_t lock;
	VEC(struct trace_array *) arrays; /* the first belongs to the top directory */
	/* that one; stays as it is from the first call on: needs no lock */
	struct trace_array *top;
	pthread_mutex_t changing; /* serializes changes of `now` and of the arrays' settings */
	pthread_mutex_t names;    /* protects functions */
	struct functions functions;
	/* NULL: not enabled so far; under pump_lock, and so are the next three */
	struct profile *profile;
	struct stacks *stacks;
	struct slow *slow;        /* calls over a limit; NULL: none is asked for. Under pump_lock */
	bool profiles, watches_stacks; /* function_profile_enabled, stack_tracer_enabled */
	bool counts_hits;         /* somebody has asked for them; under pump_lock, as hits are */
	struct hits hits;
	struct measuring *measuring; /* for tracers that measure */
	struct event_catalogue *events; /* the tree's */
	/* number of catalogue events that the session's trace_info has; under pump_lock */
	uint32_t named;
	struct addresses addresses; /* under pump_lock */
	/* a thread's number -> its index in trace_info, of the first writers_seen threads there;
	 * under pump_lock (marker.c) */
	struct number_map writers;
	size_t writers_seen;
	struct writer_cpus writer_cpus; /* of markers and user events */
};

/* Creates the array of an instance and adds it to l->arrays. name NULL: the top instance.
 * instances_remove removes and frees it; the pump must not have its buffer any more. */
struct trace_array *instances_add(struct instances *l, struct instance *in, const char *name,
				  const struct settings *s);
void instances_remove(struct trace_array *tr);

/* Returns after everything recorded before the call is in the buffer and its triggers have run: for
 * one instance, and for all. */
void target_sync(struct trace_array *tr);
void target_sync_all(struct instances *l);

/* The op tree_target_ops.apply. */
int instances_apply(void *arg, const struct settings *next, const char *file, struct err *err);
/* The op tree_target_ops.marker. */
int instances_marker(void *arg, pid_t thread, const char *text, size_t n, bool raw,
		     struct err *err);
/* The op tree_target_ops.user_event. */
int instances_user_event(void *arg, pid_t thread, const struct event_entry *event,
			 const void *bytes, size_t n, struct err *err);
/* The thread's index in trace_info, which is given one. Takes pump_lock. Records that the thread
 * made before are in the buffers when it returns. */
uint32_t instances_writer(struct instances *l, pid_t tid);
/* Returns the union of all instances' settings, with `next` in place of tr's.
 * instances_drop_settings frees it. Needs l->changing. */
struct settings *instances_for_session(struct instances *l, struct trace_array *tr,
				       const struct settings *next);
/* Refuses conditions on what calls return where records have to be looked at in their order:
 * -EINVAL and *err. Otherwise 0. */
int instances_check_returned(const struct settings *s, struct err *err);
/* Frees settings of instances_for_session. NULL is fine. */
void instances_drop_settings(struct settings *s);

/* pump_lock, after which trace_info has the names of all events of the catalogue. */
struct trace_info *instances_lock(struct instances *l);

/* Called by the pump for each resolved chunk, under pump_lock, while anybody wants them. */
void profiling_feed(void *context, const struct chunk *c);
/* Called before and after a write to a file of any instance, with l->changing held. was: the top
 * instance's settings before the write; next: those to come. e: 0, or why the write was refused, so
 * that `was` still holds. */
void profiling_before(struct instances *l, const struct settings *was, const struct settings *next);
void profiling_after(struct instances *l, const struct settings *was, const struct settings *next,
		     const char *file, int e);
/* The ops tree_target_ops.profile, stacks, stack_max and stack_reset. */
void profiling_show(void *arg, unsigned cpu, const struct settings *s, struct out *out);
bool profiling_show_stacks(void *arg, struct out *out);
uint64_t profiling_stack_max(void *arg);
void profiling_stack_reset(void *arg, uint64_t bytes);
uint64_t profiling_hits(void *arg, uint32_t event);
uint64_t profiling_missed(void *arg, uint32_t event);

/* The operations of a trace array, its target's `arg`. */
extern const struct tree_target_ops trace_array_ops;
/* Those of one whose settings nobody changes (instances_request.settings): trace_pipe's. */
extern const struct tree_target_ops printed_ops;
