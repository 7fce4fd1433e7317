/* pthread_cancel and pthread_exit unwind through traced frames; cleanup handlers run on the way. */
#include <pthread.h>
#include <semaphore.h>

#include "truth.h"

static sem_t ready;
static int cleaned;

TRACED static void clean(void *arg)
{
	__atomic_add_fetch(&cleaned, 1 + (int)(long)arg, __ATOMIC_RELAXED);
}

TRACED static int hang(int depth)
{
	int r = 0;

	pthread_cleanup_push(clean, (void *)(long)depth);
	if (depth) {
		r = hang(depth - 1);
	} else {
		sem_post(&ready);
		for (;;)
			pause();
	}
	pthread_cleanup_pop(0);
	return r + 1;
}

TRACED static int leave(int depth)
{
	int r = 0;

	pthread_cleanup_push(clean, NULL);
	if (!depth)
		pthread_exit((void *)42l);
	r = leave(depth - 1);
	pthread_cleanup_pop(0);
	return r + 1;
}

static void *cancelled(void *arg) { return (void *)(long)hang(10); }
static void *leaving(void *arg) { return (void *)(long)leave(10); }

int main(void)
{
	void *result;
	pthread_t t;

	sem_init(&ready, 0, 0);
	for (int i = 0; i < 20; i++) {
		pthread_create(&t, NULL, cancelled, NULL);
		while (sem_wait(&ready))
			;
		pthread_cancel(t);
		pthread_join(t, &result);
		require(result == PTHREAD_CANCELED, "cancelled");
		pthread_create(&t, NULL, leaving, NULL);
		pthread_join(t, &result);
		require(result == (void *)42l, "the value of pthread_exit");
	}
	printf("cleaned %d\n", cleaned);
	truth("hang", 220);
	truth("leave", 220);
	truth("clean", 440);
	return 0;
}
