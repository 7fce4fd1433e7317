/* SPDX-License-Identifier: MIT */
/* Pairs of taking and releasing locks that nobody else wants: `locks N` prints, for each kind, the
 * processor time of a pair in nanoseconds. A second thread has been there, so that none is elided;
 * the mutex's pair is measured once more with another one held. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *nothing(void *arg)
{
	return arg;
}

#define PAIRS(name, take, release) do { \
	double begin = now(); \
	for (long i = 0; i < n; i++) { \
		take; \
		release; \
	} \
	printf("%s %.2f\n", name, (now() - begin) / n); \
} while (0)

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	pthread_t t;

	pthread_create(&t, NULL, nothing, NULL);
	pthread_join(t, NULL);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	sem_init(&sem, 0, 1);
	PAIRS("mutex", pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex));
	PAIRS("rwlock", pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock));
	PAIRS("spinlock", pthread_spin_lock(&spin), pthread_spin_unlock(&spin));
	PAIRS("semaphore", sem_wait(&sem), sem_post(&sem));
	pthread_mutex_lock(&outer);
	PAIRS("nested", pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex));
	pthread_mutex_unlock(&outer);
	return 0;
}
