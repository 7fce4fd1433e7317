/* Threads that name themselves and call: each tells what it did in the file that $ACCOUNT names, as
 * "NAME-TID CALLS", and the least nanoseconds that it spent in its calls, between two readings of
 * the clock inside of them. One calls nothing. */
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "truth.h"

enum { CREW = 5, CALLS = 100 };
static FILE *account;

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

TRACED unsigned long inner(unsigned long n) { BARRIER(); return n + 1; }
TRACED unsigned long outer(unsigned long calls, unsigned long long *spent)
{
	unsigned long long begin = now();
	unsigned long n = 0;

	while (n < calls)
		n = inner(n);
	*spent = now() - begin;
	return n;
}

static void *work(void *arg)
{
	unsigned long i = (unsigned long)arg, calls = 0;
	unsigned long long spent = 0;
	char name[16];

	snprintf(name, sizeof(name), i == 1 ? "crew %lu" : "crew-%lu", i);
	prctl(PR_SET_NAME, name);
	if (i)
		calls = 1 + outer(i * CALLS, &spent);
	flockfile(account);
	if (calls)
		fprintf(account, "%s-%ld %lu %llu\n", name, syscall(SYS_gettid), calls, spent);
	funlockfile(account);
	return NULL;
}

int main(void)
{
	const char *path = getenv("ACCOUNT");
	pthread_t threads[CREW];

	account = fopen(path ? path : "/dev/null", "w");
	require(account != NULL, "the account");
	for (unsigned long i = 0; i < CREW; i++)
		require(!pthread_create(&threads[i], NULL, work, (void *)i), "a thread");
	for (int i = 0; i < CREW; i++)
		pthread_join(threads[i], NULL);
	return fclose(account);
}
