/* SPDX-License-Identifier: MIT */
/* The session memories of a session: one for each user whose processes record, so that no process
 * maps memory that another user's process can write to. All have one layout and the same settings.
 * The first process of a user makes its user's memory, which stays to the end of the session. */
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include "collect/shared_memory.h"
#include "collect/slots.h"

struct memories {
	pthread_mutex_t lock;         /* held while a memory is made, or the settings change */
	struct shared_memory_shape shape;
	uid_t users[MEMORIES_MAX];
	struct shared_memory at[MEMORIES_MAX];
	uint32_t n;                   /* atomic; raised when at[n] is whole, from any thread */
	/* full_futex of each, as memories_read_wakeups() read it */
	uint32_t wakeups[MEMORIES_MAX];
};

/* Makes at[0], the memory for our own user. 0, or -errno and *err. */
int memories_begin(struct memories *m, const struct shared_memory_shape *shape, struct err *err);
void memories_end(struct memories *m);
/* The number of memories that are whole: at[0..n) may be used, from any thread. */
uint32_t memories_n(const struct memories *m);

/* Finds the user's memory, or makes it. From any thread. *out stays where it is to memories_end().
 * -EUSERS: too many users. */
int memories_of(struct memories *m, uid_t user, struct shared_memory **out, struct err *err);
/* Works like memories_of, for the user whose rights the process has or can take on again: root if
 * any of its user ids is 0, otherwise the saved one. -ESRCH and *err: the process has ended. */
int memories_of_process(struct memories *m, pid_t pid, struct shared_memory **out, struct err *err);
/* Works like memories_of_process, for the process that connected to us by this socket. -EAGAIN and
 * *err: the caller ended, and its number is now another user's process. */
int memories_of_peer(struct memories *m, int socket, struct shared_memory **out, struct err *err);

/* Whether the process may have this memory: it is its user's, or it maps it already (inherited by
 * fork). */
bool memories_allow(struct memories *m, pid_t pid, const struct shared_memory *memory);

/* The slot with this number in the session, which is one of a memory's (slot_in_memory). */
struct memory_thread *memories_thread(const struct memories *m, uint32_t slot);
/* Whether this thread has told of its end in any of the memories. Asking takes the answer away. */
bool memories_take_end(struct memories *m, uint32_t tid);
/* Whether the process with this number has had a slot in any memory. */
bool memories_know(const struct memories *m, uint32_t pid);

/* Changes the settings in all memories. Only while none of the processes runs and nobody else
 * changes settings. */
void memories_reshape(struct memories *m, const struct memory_settings *settings);
/* The least duration that is recorded, in TSC ticks. Takes the lock. */
uint64_t memories_thresh_ticks(struct memories *m);

/* memories_heartbeat() and the ones below do what their namesakes in shared_memory.h do, for all
 * memories. */
void memories_heartbeat(struct memories *m);
void memories_stop(struct memories *m);
void memories_wake(struct memories *m);   /* from any thread */
/* Notes the moment. Called before looking for work, so that memories_wait() misses nothing that
 * comes after. Both by one thread. */
void memories_read_wakeups(struct memories *m);
/* Waits until there is work for the tracer since memories_read_wakeups(): a thread holds wake_at
 * sub-buffers, memories_wake() was called, or ms have passed. */
void memories_wait(struct memories *m, int ms);
