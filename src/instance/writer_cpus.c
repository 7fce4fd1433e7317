/* SPDX-License-Identifier: MIT */
/* Called by marker.c, on the tree's threads, several at once. A kept file is of one thread for
 * good: when that has ended, reading fails, also if its number is another thread's by then, which
 * is then opened anew. Nothing fails: a thread that cannot be asked is taken to run where we do. */
#include "instance/writer_cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "tracee/proc_status.h"

#define STAT_MOST 1024

void writer_cpus_init(struct writer_cpus *w)
{
	*w = (struct writer_cpus){ 0 };
	pthread_mutex_init(&w->lock, NULL);
}

void writer_cpus_free(struct writer_cpus *w)
{
	for (unsigned i = 0; i < WRITER_CPUS; i++)
		if (w->kept[i].thread)
			close(w->kept[i].fd);
	pthread_mutex_destroy(&w->lock);
}

/* -1: the thread is gone. */
static int read_cpu(int fd)
{
	char bytes[STAT_MOST];
	const ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	struct proc_stat s;

	return n > 0 && proc_stat_parse(bytes, (size_t)n, &s) == 0 ? s.cpu : -1;
}

/* With the lock. The place of the thread's file, or of one that is given up for it. */
static unsigned find_place(struct writer_cpus *w, pid_t thread)
{
	for (unsigned i = 0; i < WRITER_CPUS; i++)
		if (w->kept[i].thread == thread)
			return i;
	return w->next++ % WRITER_CPUS;
}

/* With the lock. -1: there is no such thread, or no descriptor for its file. */
static int open_at(struct writer_cpus *w, unsigned place, pid_t thread)
{
	char name[64];

	if (w->kept[place].thread)
		close(w->kept[place].fd);
	snprintf(name, sizeof(name), "/proc/%d/task/%d/stat", (int)thread, (int)thread);
	w->kept[place].fd = open(name, O_RDONLY | O_CLOEXEC);
	w->kept[place].thread = w->kept[place].fd < 0 ? 0 : thread;
	return w->kept[place].fd < 0 ? -1 : read_cpu(w->kept[place].fd);
}

uint16_t writer_cpus_last(struct writer_cpus *w, pid_t thread)
{
	unsigned place;
	int cpu = -1;

	if (thread) {
		pthread_mutex_lock(&w->lock);
		place = find_place(w, thread);
		if (w->kept[place].thread == thread)
			cpu = read_cpu(w->kept[place].fd);
		if (cpu < 0)
			cpu = open_at(w, place, thread);
		pthread_mutex_unlock(&w->lock);
	}
	if (cpu < 0)
		cpu = sched_getcpu();
	return cpu < 0 ? 0 : (uint16_t)cpu;
}
