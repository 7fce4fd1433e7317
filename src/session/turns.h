/* SPDX-License-Identifier: MIT */
/* The turns of a session's processes: many are set up at the same time, and a thread that changes
 * all of them is alone. The turn of a process lasts until it has answered, and passes from thread
 * to thread meanwhile: so this is a count, not a lock that a thread owns. */
#pragma once
#include <pthread.h>
#include <stdbool.h>

struct turns {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned inside;              /* processes that are being set up */
	unsigned waiting;             /* threads that wait for them, to be alone */
	bool alone;
};

/* Nobody is inside or alone at first; turns_end requires the same. */
void turns_begin(struct turns *t);
void turns_end(struct turns *t);
/* Takes a turn for one more process. False: somebody is alone, or waits to be. Never waits. */
bool turns_enter(struct turns *t);
void turns_leave(struct turns *t);
/* Waits until all processes have left; none enters until turns_end_alone. ms: how long at most, -1
 * = as long as it takes. False: the time is over, and the caller is not alone. */
bool turns_begin_alone(struct turns *t, int ms);
void turns_end_alone(struct turns *t);
bool turns_are_taken_alone(struct turns *t);
