/* Threads, and a child's, that wait, yield and compute, each between two names that it gives
 * itself; it prints how often the kernel says that it stopped meanwhile: of its own accord, and
 * preempted. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 6
#define WAITS 200

static void count(long *waits, long *preempted)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	*waits = u.ru_nvcsw;
	*preempted = u.ru_nivcsw;
}

static void *measured(void *arg)
{
	const struct timespec moment = { .tv_nsec = 20000 };
	unsigned volatile work = 0;
	long waits, preempted, waits_then, preempted_then;

	(void)arg;
	prctl(PR_SET_NAME, "begins");
	count(&waits_then, &preempted_then);
	for (int i = 0; i < WAITS; i++) {
		nanosleep(&moment, NULL);
		for (unsigned k = 0; k < 20000; k++)
			work += k;
		sched_yield();
	}
	count(&waits, &preempted);
	prctl(PR_SET_NAME, "ends");
	printf("%ld %ld %ld\n", (long)syscall(SYS_gettid), waits - waits_then, preempted - preempted_then);
	return NULL;
}

static void all(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, measured, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	measured(NULL);
	fflush(stdout);
}

/* With an argument: what it does when it is told to go on. */
int main(int argc, char **argv)
{
	pid_t child;

	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	(void)argv;
	child = fork();
	if (child == 0) {
		all();
		return 0;
	}
	waitpid(child, NULL, 0);
	all();
	return 0;
}
