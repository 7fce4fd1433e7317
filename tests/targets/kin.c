/* Makes threads and processes when it is told to, a line at a time, and says what each of them did:
 * how often it called leaf(), and emitted the event kin:met.
 *
 *	N     the main thread: N times
 *	tN    the main thread makes a thread, that one a process, that one a thread: each N times
 *	oN    the same begun by a thread that was there from the beginning
 *	vN    the main thread spawns the same program, which does it N times and ends
 *	s     the main thread makes a thread, which stays
 *	e     it ends
 *	q     ends
 *
 * The first line says "ready TID PID", of the thread that was there. Every other one is answered
 * with "done", and for each who did anything " TID=N". */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "brace/event.h"

BRACE_EVENT(kin, met,
	BRACE_PROTO(int who, long n),
	BRACE_ARGS(who, n),
	BRACE_FIELDS(BRACE_FIELD(int, who, who), BRACE_FIELD(long, n, n)),
	BRACE_PRINT("who=%d n=%ld", REC->who, REC->n))

extern char **environ;
static struct { int n; struct { int tid; long n; } at[64]; } *done;
static char **self;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static long for_other;
static int stays;

__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void work(long n)
{
	done->at[done->n].tid = gettid();
	done->at[done->n++].n = n;
	for (long i = 0; i < n; i++) {
		leaf();
		brace_kin_met(gettid(), i);
	}
}

static void *work_only(void *arg)
{
	work((long)arg);
	return NULL;
}

static void by_thread(void *(*f)(void *), long n)
{
	pthread_t t;

	if (pthread_create(&t, NULL, f, (void *)n))
		abort();
	pthread_join(t, NULL);
}

static void *work_and_fork(void *arg)
{
	pid_t pid;

	work((long)arg);
	pid = fork();
	if (!pid) {
		work((long)arg);
		by_thread(work_only, (long)arg);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return NULL;
}

static void *other(void *arg)
{
	pthread_mutex_lock(&lock);
	for_other = -gettid();
	pthread_cond_broadcast(&turn);
	for (;;) {
		while (for_other <= 0)
			pthread_cond_wait(&turn, &lock);
		by_thread(work_and_fork, for_other);
		for_other = 0;
		pthread_cond_broadcast(&turn);
	}
	return NULL;
}

static void let_other(long n)
{
	pthread_mutex_lock(&lock);
	for_other = n;
	pthread_cond_broadcast(&turn);
	while (for_other)
		pthread_cond_wait(&turn, &lock);
	pthread_mutex_unlock(&lock);
}

static void spawn(char *n)
{
	char *args[] = { self[0], (char *)"work", n, NULL };
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ))
		abort();
	waitpid(pid, NULL, 0);
	done->at[done->n].tid = pid;
	done->at[done->n++].n = atol(n);
}

static void *stay(void *arg)
{
	pthread_mutex_lock(&lock);
	work(1);
	stays = 1;
	pthread_cond_broadcast(&turn);
	while (stays)
		pthread_cond_wait(&turn, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void let_stay(int begins)
{
	static pthread_t t;

	pthread_mutex_lock(&lock);
	stays = 0;
	if (begins && pthread_create(&t, NULL, stay, NULL))
		abort();
	pthread_cond_broadcast(&turn);
	while (begins && !stays)
		pthread_cond_wait(&turn, &lock);
	pthread_mutex_unlock(&lock);
	if (!begins)
		pthread_join(t, NULL);
}

static void obey(char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (*line == 't')
		by_thread(work_and_fork, atol(line + 1));
	else if (*line == 'o')
		let_other(atol(line + 1));
	else if (*line == 'v')
		spawn(line + 1);
	else if (*line == 's' || *line == 'e')
		let_stay(*line == 's');
	else
		work(atol(line));
}

int main(int argc, char **argv)
{
	char line[64];
	pthread_t t;

	self = argv;
	done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3) {
		work(atol(argv[2]));
		return 0;
	}
	pthread_create(&t, NULL, other, NULL);
	pthread_mutex_lock(&lock);
	while (!for_other)
		pthread_cond_wait(&turn, &lock);
	printf("ready %ld %d\n", -for_other, getpid());
	for_other = 0;
	pthread_mutex_unlock(&lock);
	while (fgets(line, sizeof(line), stdin) && *line != 'q') {
		done->n = 0;
		obey(line);
		printf("done");
		for (int i = 0; i < done->n; i++)
			printf(" %d=%ld", done->at[i].tid, done->at[i].n);
		printf("\n");
	}
	return 0;
}
