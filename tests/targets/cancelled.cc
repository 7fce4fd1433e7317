/* SPDX-License-Identifier: MIT */
/* Two threads that wait, for a condition variable and a semaphore, from its first line of input on; at
 * the second they are cancelled. Unwinding destroys what they have and unlocks the mutex: it prints
 * how many destructors ran, and what a try of the mutex gives: "destructors 2, trylock 0". */
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static std::mutex held;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none;
static int destroyed;

struct counted {
	~counted() { __atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED); }
};

static void *wait_for_condition(void *)
{
	counted here;
	std::unique_lock<std::mutex> lock(held);

	for (;;)
		pthread_cond_wait(&never, held.native_handle());
}

static void *wait_for_semaphore(void *)
{
	counted here;

	sem_wait(&none);
	return NULL;
}

int main()
{
	pthread_t threads[2];
	char line[16];

	sem_init(&none, 0, 0);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	pthread_create(&threads[0], NULL, wait_for_condition, NULL);
	pthread_create(&threads[1], NULL, wait_for_semaphore, NULL);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (pthread_t t : threads) {
		pthread_cancel(t);
		pthread_join(t, NULL);
	}
	printf("destructors %d, trylock %d\n", destroyed, pthread_mutex_trylock(held.native_handle()));
	return 0;
}
