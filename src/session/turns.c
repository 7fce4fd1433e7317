/* SPDX-License-Identifier: MIT */
/* Owned by the control; its socket thread enters and leaves (agent_socket.c), and threads that
 * attach, change or leave are alone (control.c, control_change.c). A thread that waits to be
 * alone keeps processes from entering, so its turn comes when those inside are done. Nothing
 * fails. */
#include "session/turns.h"

#include <errno.h>
#include <time.h>

void turns_begin(struct turns *t)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	/* CLOCK_MONOTONIC: a set clock must not make a wait longer. */
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, &attr);
	pthread_condattr_destroy(&attr);
}

void turns_end(struct turns *t)
{
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->changed);
}

bool turns_enter(struct turns *t)
{
	bool free;

	pthread_mutex_lock(&t->lock);
	free = !t->alone && !t->waiting;
	t->inside += free;
	pthread_mutex_unlock(&t->lock);
	return free;
}

/* Only the last one out wakes somebody: who waits to be alone needs nobody inside. */
void turns_leave(struct turns *t)
{
	pthread_mutex_lock(&t->lock);
	if (!--t->inside)
		pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

/* Now plus ms, by CLOCK_MONOTONIC. */
static void in_ms(struct timespec *until, int ms)
{
	clock_gettime(CLOCK_MONOTONIC, until);
	until->tv_nsec += ms % 1000 * 1000000L;
	until->tv_sec += ms / 1000 + until->tv_nsec / 1000000000;
	until->tv_nsec %= 1000000000;
}

bool turns_begin_alone(struct turns *t, int ms)
{
	struct timespec until;
	int e = 0;

	if (ms >= 0)
		in_ms(&until, ms);
	pthread_mutex_lock(&t->lock);
	t->waiting++;
	while ((t->alone || t->inside) && e != ETIMEDOUT)
		e = ms < 0 ? pthread_cond_wait(&t->changed, &t->lock)
			   : pthread_cond_timedwait(&t->changed, &t->lock, &until);
	t->waiting--;
	/* The time may be over just as the last one leaves: then it is not in vain. */
	if (!t->alone && !t->inside)
		e = 0;
	if (!e)
		t->alone = true;
	pthread_mutex_unlock(&t->lock);
	return !e;
}

void turns_end_alone(struct turns *t)
{
	pthread_mutex_lock(&t->lock);
	t->alone = false;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

/* A look at one moment: the answer may be old when the caller has it. */
bool turns_are_taken_alone(struct turns *t)
{
	bool alone;

	pthread_mutex_lock(&t->lock);
	alone = t->alone;
	pthread_mutex_unlock(&t->lock);
	return alone;
}
