/* SPDX-License-Identifier: MIT */
/* The CPU on which a thread that writes a marker or a user event runs. The kernel tells it in a
 * file of /proc, which takes longer to open than to read: those of the latest writers stay open. */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#define WRITER_CPUS 16u

struct writer_cpus {
	pthread_mutex_t lock;     /* protects the others */
	struct { pid_t thread; int fd; } kept[WRITER_CPUS]; /* thread 0: none */
	unsigned next;            /* the one that makes room */
};

/* Makes an empty one; writer_cpus_free() closes what it keeps, when no thread uses it any more. */
void writer_cpus_init(struct writer_cpus *w);
void writer_cpus_free(struct writer_cpus *w);
/* The CPU on which the thread last ran; our own if it has ended, or is 0. From any thread. */
uint16_t writer_cpus_last(struct writer_cpus *w, pid_t thread);
