/* SPDX-License-Identifier: MIT */
/* The options event-fork and function-fork: threads that are made by those in set_event_pid, set_ftrace_pid and their
 * notrace lists come into these, and go out of them when they end.
 *
 * Who made a thread its creator tells, by sched:sched_process_fork, which is armed for this whether anybody wants to see it or
 * not. The new thread may have written before: what it wrote waits until it is known whose it is. */
#pragma once
#include "instance/ring.h"
#include "model/settings.h"
#include "trace/trace_info.h"

enum family_list { FAMILY_PIDS, FAMILY_NOTRACE_PIDS, FAMILY_EVENT_PIDS, FAMILY_EVENT_NOTRACE_PIDS, FAMILY_LISTS };

struct family_chunk { struct chunk *chunk; pid_t tid; };

struct family {
	struct pid_list lists[FAMILY_LISTS];
	struct pid_list shown[FAMILY_LISTS]; /* as the settings were told last */
	bool follows[FAMILY_LISTS];          /* forks */
	struct pid_list known;               /* threads about which the lists say the truth */
	struct pid_list ended;               /* of those in the lists; who tells of it may be faster than their last records */
	uint32_t fork, exit;                 /* the numbers of these events */
	VEC(struct family_chunk) waiting;    /* in their order */
};

/* Whether any option follows forks for a list that names somebody. */
bool family_wanted(const struct settings *s);
/* Threads that there are are in the lists or are not; what is made from now on is told. */
struct family *family_new(const struct settings *s, const struct pid_list *threads);
void family_free(struct family *f); /* NULL is fine */
/* Other settings: if the lists are not those that family_present gave, they are what counts from now on. */
void family_configure(struct family *f, const struct settings *s, const struct pid_list *threads);
/* The lists as they have become, without threads that have ended. */
void family_present(struct family *f, struct settings *s);
/* A chunk that this thread wrote, settled or not. */
void family_offer(struct family *f, struct chunk *c, pid_t tid);
/* The next chunk of which it is known what it is (enum keep; what the lists allow), the caller's to put; false: there is none now.
 * Nothing is missing from before `complete`; a thread that nobody has told of by so much later was made by nobody in
 * the lists. */
bool family_next(struct family *f, uint64_t complete, uint64_t patience, struct chunk **c, unsigned *what);
