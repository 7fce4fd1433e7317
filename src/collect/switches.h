/* SPDX-License-Identifier: MIT */
/* sched:sched_switch, signal:signal_deliver and exceptions:page_fault_user of the traced threads,
 * and the ends of threads that died without a record of it, made from what the kernel tells
 * (perf_rings.h): a source of records (producer.h), with threads of its own beside those of the
 * session memories.
 *
 * Also the threads' sleeps (nosleep-time): session/merge_sleeps.c merges them into the threads'
 * own runs. */
#pragma once
#include "collect/pending_sleeps.h"
#include "collect/producer.h"
#include "event/provider.h"

struct switches;
struct memories;

/* Events that the kernel tells. Every program has them, where perf may tell of it. */
extern const struct event_provider switches_provider;
/* sched:sched_waking and sched:sched_wakeup, which an instance of a tree makes of switches and
 * system calls (instance/wake_events.h). They are there where switches are. */
extern const struct event_provider wakes_provider;

/* `memories`: where threads note that they have told of their ends */
struct switches *switches_new(struct memories *memories);
/* The source that it is: whoever adds it to a list (producers_add) frees it there. */
struct producer *switches_producer(struct switches *s);

/* Copies the run's records with its thread's sleeps into *words. False: there are none, or they are
 * not known. */
bool switches_merge_sleeps(struct switches *s, pid_t tid, const struct drain_run *run,
			   record_words *words);
/* All records before this time have been merged: older sleeps are fused. */
void switches_forget_before(struct switches *s, uint64_t tsc);
/* The number of switches for which the kernel had no room while sleeps were wanted. */
uint64_t switches_unseen(struct switches *s);
