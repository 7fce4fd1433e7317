/* Threads that sleep, wait and compute, and know of each call how long it ran: "TID FUNCTION CALLS
 * CPU-NS WALL-NS STOLEN-NS" of each thread and function, where CPU is the kernel's own count of the
 * time that the thread ran. That count leaves out the time that a hypervisor takes from a
 * processor. No switch tells of such time: the thread computed, waited for no processor, and the
 * clock went on. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 6
#define ROUNDS 8
#define MOMENT 3000000 /* ns */
#define STORM 60000 /* times that one of two threads waits for the other */

static const char *const names[] = { "outer", "sleeps", "computes", "locks", "reads", "both", "storms" };
enum { OUTER, SLEEPS, COMPUTES, LOCKS, READS, BOTH, STORMS, FUNCTIONS };

static __thread struct account { uint64_t calls, cpu, wall, stolen; } accounts[FUNCTIONS];
static __thread uint64_t stolen; /* so far, ns */
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct moment { uint64_t cpu, wall, stolen; };

static inline __attribute__((always_inline)) struct moment begin(void)
{
	return (struct moment){ now(CLOCK_THREAD_CPUTIME_ID), now(CLOCK_MONOTONIC_RAW), stolen };
}

static inline __attribute__((always_inline)) void end(int function, struct moment m)
{
	accounts[function].calls++;
	accounts[function].wall += now(CLOCK_MONOTONIC_RAW) - m.wall;
	accounts[function].cpu += now(CLOCK_THREAD_CPUTIME_ID) - m.cpu;
	accounts[function].stolen += stolen - m.stolen;
}

/* The ns that the thread was ready and had no processor; false: this kernel does not count them. */
static int waited(uint64_t *ns)
{
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	char text[96] = "";
	unsigned long ran = 0, waits = 0;
	int n = fd < 0 ? 0 : (int)read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0 || sscanf(text, "%lu %lu", &ran, &waits) != 2 || !ran)
		return 0;
	*ns = waits;
	return 1;
}

__attribute__((noinline)) void computes(uint64_t ns)
{
	struct moment m = begin();
	volatile unsigned work = 0;
	uint64_t before, after;
	int known = waited(&before);

	while (now(CLOCK_THREAD_CPUTIME_ID) - m.cpu < ns)
		for (unsigned i = 0; i < 1000; i++)
			work += i;
	if (known && waited(&after)) {
		int64_t gone = (int64_t)(now(CLOCK_MONOTONIC_RAW) - m.wall - (now(CLOCK_THREAD_CPUTIME_ID) - m.cpu) - (after - before));

		stolen += gone > 0 ? (uint64_t)gone : 0;
	}
	end(COMPUTES, m);
}

__attribute__((noinline)) void sleeps(uint64_t ns)
{
	struct moment m = begin();

	nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
	end(SLEEPS, m);
}

/* One of them has it, and sleeps; the others wait. */
__attribute__((noinline)) void locks(void)
{
	struct moment m = begin();

	pthread_mutex_lock(&busy);
	nanosleep(&(struct timespec){ .tv_nsec = MOMENT / 10 }, NULL);
	pthread_mutex_unlock(&busy);
	end(LOCKS, m);
}

/* Written by a child in a while. */
__attribute__((noinline)) void reads(int fd)
{
	struct moment m = begin();
	char byte;

	if (read(fd, &byte, 1) != 1)
		exit(1);
	end(READS, m);
}

__attribute__((noinline)) void both(uint64_t ns)
{
	struct moment m = begin();

	computes(ns);
	sleeps(ns);
	computes(ns / 2);
	end(BOTH, m);
}

__attribute__((noinline)) void outer(int fd)
{
	struct moment m = begin();

	computes(MOMENT / 2);
	sleeps(2 * MOMENT);
	locks();
	both(MOMENT);
	reads(fd);
	end(OUTER, m);
}

static int start_writer(void)
{
	int ends[2];

	if (pipe(ends))
		exit(1);
	if (fork() == 0) {
		for (int i = 0; i < THREADS * ROUNDS; i++) {
			nanosleep(&(struct timespec){ .tv_nsec = MOMENT / 2 }, NULL);
			if (write(ends[1], "x", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	return ends[0];
}

static void say(void)
{
	for (int f = 0; f < FUNCTIONS; f++)
		printf("%ld %s %lu %lu %lu %lu\n", (long)syscall(SYS_gettid), names[f], accounts[f].calls, accounts[f].cpu, accounts[f].wall,
		       accounts[f].stolen);
}

static void *run(void *fd)
{
	for (int i = 0; i < ROUNDS; i++)
		outer(*(int *)fd);
	say();
	return NULL;
}

static int ways[2][2];

static void *echo(void *arg)
{
	char byte;

	for (int i = 0; i < STORM; i++)
		if (read(ways[0][0], &byte, 1) != 1 || write(ways[1][1], &byte, 1) != 1)
			exit(1);
	return arg;
}

__attribute__((noinline)) void storms(void)
{
	struct moment m = begin();
	char byte = 0;

	for (int i = 0; i < STORM; i++)
		if (write(ways[0][1], &byte, 1) != 1 || read(ways[1][0], &byte, 1) != 1)
			exit(1);
	end(STORMS, m);
}

static void storm(void)
{
	pthread_t other;

	if (pipe(ways[0]) || pipe(ways[1]))
		exit(1);
	pthread_create(&other, NULL, echo, NULL);
	sleeps(MOMENT);
	storms();
	pthread_join(other, NULL);
	say();
}

static void usual(void)
{
	pthread_t threads[THREADS];
	int fd = start_writer();

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &fd);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	wait(NULL);
}

/* With an argument it begins when a line of input comes, and ends when there is no more: as usual,
 * or in a "storm". */
int main(int argc, char **argv)
{
	int c;

	if (argc < 2) {
		usual();
		return 0;
	}
	printf("ready\n");
	fflush(stdout);
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		if (strcmp(argv[1], "storm"))
			usual();
		else
			storm();
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
