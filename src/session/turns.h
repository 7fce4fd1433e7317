/* SPDX-License-Identifier: MIT */
/* Whose turn it is in a session: many processes are set up at the same time, and who changes all of them is alone. The
 * turn of one that is set up lasts until it has answered, and passes from thread to thread meanwhile: a count, not a
 * lock that a thread owns. */
#pragma once
#include <pthread.h>
#include <stdbool.h>

struct turns {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned inside;              /* processes that are set up */
	unsigned waiting;             /* for them to be done, to be alone */
	bool alone;
};

void turns_begin(struct turns *t);
void turns_end(struct turns *t);
/* One more; false: somebody is alone, or waits to be. Never waits. */
bool turns_enter(struct turns *t);
void turns_leave(struct turns *t);
/* Waits until all have left; nobody enters until turns_end_alone. ms: how long at most, -1 = as long as it takes; false: in
 * vain. */
bool turns_begin_alone(struct turns *t, int ms);
void turns_end_alone(struct turns *t);
bool turns_are_taken_alone(struct turns *t);
