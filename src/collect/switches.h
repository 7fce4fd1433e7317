/* SPDX-License-Identifier: MIT */
/* sched:sched_switch and signal:signal_deliver of the traced threads, and the ends of threads that
 * could not tell of them, made from what the kernel tells (perf_rings.h). The records come as runs,
 * as if every thread had a second place in the session memory: slots from SLOT_FOLLOWED on
 * (slots.h).
 *
 * Also the threads' sleeps (nosleep-time): records that are woven into the threads' own runs before
 * these are passed on. */
#pragma once
#include "event/event_set.h"
#include "collect/drain.h"
#include "collect/pending_sleeps.h"
#include "trace/trace_info.h"

struct switches;
struct memories;

/* Events that the kernel tells. Every program has them, where perf may tell of it. */
extern const struct event_provider switches_provider;

/* `memories`: where threads note that they have told of their ends */
struct switches *switches_new(struct memories *memories);
void switches_free(struct switches *s);

/* Sets events and sleeps. If an event is armed or sleeps are wanted, this process and all that it
 * makes are followed from now on. 0, or -errno and *err: it cannot be followed. From any thread. */
int switches_follow(struct switches *s, const struct event_set *set, bool sleeps, pid_t pid,
		    struct err *err);
/* Works like switches_follow, for all processes that there are. They stand still meanwhile, or have
 * made no others: where everything is followed anew, a child is followed for itself, though its
 * parent is followed too. */
int switches_follow_all(struct switches *s, const struct event_set *set, bool sleeps,
			const pid_t *pids, size_t n, struct err *err);
/* Copies the run's records with its thread's sleeps into *words. False: there are none, or they are
 * not known. */
bool switches_merge_sleeps(struct switches *s, pid_t tid, const struct drain_run *run,
			   record_words *words);
/* All records before this time have been merged: older sleeps are fused. */
void switches_forget_before(struct switches *s, uint64_t tsc);
/* Empties the kernel's rings, which makes room there. */
void switches_gather(struct switches *s);
/* The number of switches for which the kernel had no room while sleeps were wanted. */
uint64_t switches_unseen(struct switches *s);
/* One pass, as drain_pass; last: takes everything, and follows nothing any more. Not from two
 * threads at once. */
int switches_pass(struct switches *s, bool last, drain_sink *sink, void *context, struct err *err);
/* Fills *out with the thread in the slot: pid, tid and its first known name. False: the slot is not
 * one of these. */
bool switches_thread(struct switches *s, uint32_t slot, struct trace_thread *out);

/* A name that the kernel said a thread has got. */
struct switches_name {
	uint32_t pid, tid;
	bool executed;            /* by execve, after the program's file */
	struct trace_name name;
};
typedef void switches_name_sink(void *context, const struct switches_name *n);
/* Gives the names that came since the last call; switches_names_of: all names that one thread has
 * got. From any thread. The sink runs with the lock held and must call nothing here. */
void switches_take_names(struct switches *s, switches_name_sink *sink, void *context);
void switches_names_of(struct switches *s, uint32_t pid, uint32_t tid, switches_name_sink *sink,
		       void *context);
