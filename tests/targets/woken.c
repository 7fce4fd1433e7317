/* A thread that another wakes, which both measure: woken COMMANDS ANSWERS. Each byte of COMMANDS
 * (a FIFO) is a round of 20 wake-ups: `s`, or `l` with one that waits longer, because the waker
 * keeps the processor that both share. Each round's answer (a line into the FIFO ANSWERS) is the
 * woken thread's number and the longest time in us from before a wake to after the wait, and the
 * longest of those in which neither thread was preempted: a time that no tracer can tell to be
 * shorter. `e` is `l` with another answer: the numbers of waker and woken thread, and of each
 * wake-up its time in us, behind a `~` if a thread was preempted. Another byte ends it. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUND 20
#define LONG_NS 5000000u

static sem_t given, taken;
static uint64_t before, lasted, longest, undisturbed;
static struct { uint64_t lasted; int alone; } each[ROUND];
static int over, number, preempted;

static void must(int holds)
{
	if (!holds) {
		perror("woken");
		exit(1);
	}
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* How often the kernel has taken the CPU from the calling thread. */
static long preemptions(void)
{
	struct rusage r;

	must(!getrusage(RUSAGE_THREAD, &r));
	return r.ru_nivcsw;
}

__attribute__((noinline)) void wait_for_wake(void)
{
	must(!sem_wait(&given));
}

/* Keeps the processor meanwhile, if it is to take longer. True: it was not preempted on its way. */
__attribute__((noinline)) int wake(int lasts)
{
	const long were = preemptions();
	int alone;

	before = now();
	must(!sem_post(&given));
	alone = preemptions() == were;
	while (lasts && now() - before < LONG_NS)
		;
	return alone;
}

/* The idle policy: the waker, who shares the processor, is not preempted at once. */
static void *woken(void *arg)
{
	const struct sched_param p = { 0 };

	prctl(PR_SET_NAME, "woken");
	must(!sched_setscheduler(0, SCHED_IDLE, &p));
	number = (int)syscall(SYS_gettid);
	must(!sem_post(&taken));
	for (;;) {
		const long were = preemptions();

		wait_for_wake();
		lasted = now() - before;
		preempted = preemptions() != were;
		if (over)
			return NULL;
		must(!sem_post(&taken));
	}
}

/* The pause lets the woken thread come to its wait. */
static void run_round(int lasts)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	longest = undisturbed = 0;
	for (int i = 0; i < ROUND; i++) {
		int alone;

		nanosleep(&pause, NULL);
		alone = wake(lasts && i == ROUND / 2);
		must(!sem_wait(&taken));
		longest = lasted > longest ? lasted : longest;
		each[i].lasted = lasted;
		each[i].alone = alone && !preempted;
		if (alone && !preempted && lasted > undisturbed)
			undisturbed = lasted;
	}
}

static void tell_each(FILE *answers)
{
	fprintf(answers, "%d %d", (int)getpid(), number);
	for (int i = 0; i < ROUND; i++)
		fprintf(answers, " %s%llu", each[i].alone ? "" : "~",
			(unsigned long long)each[i].lasted / 1000);
	fputc('\n', answers);
	fflush(answers);
}

int main(int argc, char **argv)
{
	FILE *commands = fopen(argv[1], "r"), *answers = fopen(argv[2], "w");
	cpu_set_t one;
	pthread_t t;
	int c;

	must(commands && answers);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	must(!sched_setaffinity(0, sizeof(one), &one));
	must(!sem_init(&given, 0, 0) && !sem_init(&taken, 0, 0));
	must(!pthread_create(&t, NULL, woken, NULL) && !sem_wait(&taken));
	while ((c = getc(commands)) == 's' || c == 'l' || c == 'e') {
		run_round(c != 's');
		if (c == 'e') {
			tell_each(answers);
			continue;
		}
		fprintf(answers, "%d %llu %llu\n", number, (unsigned long long)longest / 1000,
			(unsigned long long)undisturbed / 1000);
		fflush(answers);
	}
	over = 1;
	wake(0);
	return pthread_join(t, NULL);
}
