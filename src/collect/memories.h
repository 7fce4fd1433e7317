/* SPDX-License-Identifier: MIT */
/* The session memories of a session: one for each user whose processes record. What a process can write to, no process of
 * another user maps. All have one layout, and the settings of all are the same. They are made when the first process of a
 * user comes, and stay to the end of the session. */
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include "collect/shared_memory.h"
#include "collect/slots.h"

struct memories {
	pthread_mutex_t lock;         /* held while one is made, or the settings change */
	struct shared_memory_shape shape;
	uid_t users[MEMORIES_MAX];
	struct shared_memory at[MEMORIES_MAX];
	uint32_t n;                   /* raised when the one behind it is whole: from any thread */
	uint32_t seen[MEMORIES_MAX];  /* memories_moment's */
};

/* With one for our own user, at[0]. */
int memories_begin(struct memories *m, const struct shared_memory_shape *shape, struct err *err);
void memories_end(struct memories *m);
uint32_t memories_n(const struct memories *m);

/* The user's, made if there is none. From any thread; it stays where it is. */
int memories_of(struct memories *m, uid_t user, struct shared_memory **out, struct err *err);
/* The same of the user whose rights the process has, or can take on again: root if any of its user ids is 0, otherwise the saved
 * one. -ESRCH and *err: it has ended. */
int memories_of_process(struct memories *m, pid_t pid, struct shared_memory **out, struct err *err);
/* The same of the process that connected to us by this socket. -EAGAIN and *err: who has its number now is not who called. */
int memories_of_peer(struct memories *m, int socket, struct shared_memory **out, struct err *err);

/* May the process have this one: is it of its user, or of one that it was forked from? */
bool memories_allow(struct memories *m, pid_t pid, const struct shared_memory *memory);

/* The slot of a number in the session; it must not be one of the kernel's. */
struct memory_thread *memories_thread(const struct memories *m, uint32_t slot);
/* Has this thread told of its end, in whichever? Not any more, then. */
bool memories_take_end(struct memories *m, uint32_t tid);
/* Has the process with this number had a slot in any? */
bool memories_know(const struct memories *m, uint32_t pid);

/* Other settings in all: none of the processes runs, and nobody else changes them. */
void memories_reshape(struct memories *m, const struct memory_settings *settings);
uint64_t memories_thresh_ticks(struct memories *m);

/* As the same of shared_memory.h, of all. */
void memories_beat(struct memories *m);
void memories_stop(struct memories *m);
void memories_nudge(struct memories *m);   /* from any thread */
/* Before it is looked whether there is something to do, so that memories_wait misses nothing. Both by one thread. */
void memories_moment(struct memories *m);
/* Until there is work for the tracer since then: a thread holds wake_at sub-buffers, memories_nudge was called, or ms have passed. */
void memories_wait(struct memories *m, int ms);
