/* SPDX-License-Identifier: MIT */
/* The options event-fork and function-fork: a thread that a thread in set_event_pid, set_ftrace_pid
 * or their notrace lists makes joins that list, and leaves it when it ends.
 *
 * The creator's record sched:sched_process_fork names the new thread; the event is armed for this
 * even if no instance enabled it. The new thread's records may arrive before that record: they wait
 * until its lists are known. */
#pragma once
#include "instance/ring.h"
#include "model/settings.h"
#include "trace/trace_info.h"

enum fork_follow_list {
	FOLLOW_PIDS,
	FOLLOW_NOTRACE_PIDS,
	FOLLOW_EVENT_PIDS,
	FOLLOW_EVENT_NOTRACE_PIDS,
	FOLLOW_LISTS
};

/* A chunk that waits, and its thread's number. */
struct fork_follow_chunk { struct chunk *chunk; pid_t tid; };

struct fork_follow {
	struct pid_list lists[FOLLOW_LISTS];
	struct pid_list shown[FOLLOW_LISTS]; /* as fork_follow_present gave them last */
	bool follows[FOLLOW_LISTS];          /* the list's option is set */
	struct pid_list known;               /* threads that the lists have judged */
	/* threads of the lists that have ended; their last records may come later */
	struct pid_list ended;
	/* indices of sched_process_fork and sched_process_exit in the catalogue */
	uint32_t fork, exit;
	/* chunks of threads not judged yet, in order of arrival */
	VEC(struct fork_follow_chunk) waiting;
};

/* Whether an option follows forks for a list that is not empty. */
bool fork_follow_wanted(const struct settings *s);
/* threads: all that exist now. They are judged by the lists as they stand; later ones by their fork
 * records. */
struct fork_follow *fork_follow_new(const struct settings *s, const struct pid_list *threads);
void fork_follow_free(struct fork_follow *f); /* NULL is fine */
/* Takes new settings over. Lists that differ from what fork_follow_present gave replace the current
 * ones. */
void fork_follow_configure(struct fork_follow *f, const struct settings *s,
			   const struct pid_list *threads);
/* Writes the current lists, without threads that have ended, into *s. */
void fork_follow_present(struct fork_follow *f, struct settings *s);
/* Queues a chunk of thread tid, resolved or not; takes a reference. */
void fork_follow_offer(struct fork_follow *f, struct chunk *c, pid_t tid);
/* Dequeues the next chunk whose thread is judged: the caller owns the reference, and *what is the
 * enum chunk_content that the lists allow. False: there is none now. complete: TSC before which
 * every record has arrived. A thread without a fork record `patience` ticks later was made by none
 * in the lists. */
bool fork_follow_next(struct fork_follow *f, uint64_t complete, uint64_t patience, struct chunk **c,
		      unsigned *what);
