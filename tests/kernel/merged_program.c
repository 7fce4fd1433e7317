/* SPDX-License-Identifier: MIT */
/* A program for record -k: N system calls that read, on two CPUs in turn, one sleep and one page
 * fault, each in a function of its own. `threads` instead of N: 8 threads, each of which reads 3
 * bytes. `work`: a watch of a directory, whose end a worker makes, and sleeps. `steps`: a read and
 * a sleep, until it is killed. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ON_ONE_CPU 1000 /* calls */

__attribute__((noipa)) static long one_read(int fd, char *to)
{
	return read(fd, to, 1);
}

__attribute__((noipa)) static int one_sleep(void)
{
	const struct timespec t = { .tv_nsec = 20000000 };

	return nanosleep(&t, NULL);
}

__attribute__((noipa)) static int one_fault(volatile char *page)
{
	*page = 1;
	return *page;
}

/* Stays where it is on a machine with one CPU. */
__attribute__((noipa)) static void move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *read_three(void *fd)
{
	char three[3];

	return read(*(int *)fd, three, sizeof(three)) == sizeof(three) ? NULL : fd;
}

static int threads_that_read(int fd)
{
	pthread_t threads[7];
	int bad = 0;
	void *result;

	for (int i = 0; i < 7; i++)
		bad |= pthread_create(&threads[i], NULL, read_three, &fd);
	bad |= read_three(&fd) != NULL;
	for (int i = 0; i < 7; i++)
		bad |= pthread_join(threads[i], &result) || result;
	return bad;
}

/* The last watch of a directory gone, the kernel queues work that frees what it had for it. */
static int watch_and_sleep(void)
{
	const int fd = inotify_init(), watch = inotify_add_watch(fd, "/", IN_CREATE);
	int bad = fd < 0 || watch < 0 || inotify_rm_watch(fd, watch);

	for (int i = 0; i < 10; i++)
		bad |= one_sleep();
	return bad;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 0, fd = open("/dev/zero", O_RDONLY);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char byte;

	if (fd < 0 || page == MAP_FAILED)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "work"))
		return watch_and_sleep();
	if (argc > 1 && !strcmp(argv[1], "threads"))
		return threads_that_read(fd);
	while (argc > 1 && !strcmp(argv[1], "steps"))
		if (one_read(fd, &byte) != 1 || one_sleep())
			return 1;
	for (int i = 0; i < n; i++) {
		if (i % ON_ONE_CPU == 0)
			move_to(i / ON_ONE_CPU % 2);
		if (one_read(fd, &byte) != 1)
			return 1;
	}
	if (one_sleep() || one_fault(page) != 1)
		return 1;
	return 0;
}
