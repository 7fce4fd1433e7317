/* SPDX-License-Identifier: MIT */
/* A thread that another one names, or whose system calls are not intercepted, is found to have a
 * new name when /proc is looked at: at most ten times a second for each thread, and a thousand
 * times for all. All state is the session's (names); a thread that is gone keeps its last name.
 * Nothing fails. */
#include "session/thread_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/clock.h"
#include "collect/messages.h"
#include "collect/renames.h"
#include "session/control.h"
#include "session/internal.h"

#define LOOKS_PER_SECOND 10u
#define LOOKS_MOST 100u /* in a tenth of a second */

/* --- as the kernel tells -------------------------------------------------------------------- */

/* A program that a process executes belongs to another image: the threads of the former one keep
 * their names. */
static bool name_concerns(const struct session *s, uint32_t thread, const struct producer_name *n)
{
	const struct trace_thread *t = &s->info->threads.at[thread];

	if (t->pid != n->pid || t->tid != n->tid)
		return false;
	return !slot_in_memory(s->names.at.at[thread].slot) ||
	       (!n->executed && t->tsc <= n->name.tsc);
}

/* A thread may have two places in the trace (its own slot and the kernel's), and another thread may
 * have had its number before: the newest of each counts. */
static void take_kernels(void *context, const struct producer_name *n)
{
	struct session *s = context;
	bool done[PRODUCERS_MAX] = { false };
	uint32_t left = s->producers.n;

	for (size_t i = s->names.at.n; i-- > 0 && left;) {
		uint32_t slot = s->names.at.at[i].slot;

		if (slot == UINT32_MAX || done[slot_producer(slot)] ||
		    !name_concerns(s, (uint32_t)i, n))
			continue;
		done[slot_producer(slot)] = true;
		left--;
		trace_info_rename(s->info, (uint32_t)i, n->name.tsc, n->name.comm);
	}
}

/* --- as /proc has them ---------------------------------------------------------------------- */

/* Whether a look is within the limits. */
static bool may_look(struct thread_names *n, struct named_thread *t, uint64_t now, uint64_t hz)
{
	if (now - n->since_tsc > hz / LOOKS_PER_SECOND) {
		n->since_tsc = now;
		n->looks = 0;
	}
	if (t->gone || (t->looked_tsc && now - t->looked_tsc < hz / LOOKS_PER_SECOND) ||
	    n->looks >= LOOKS_MOST)
		return false;
	t->looked_tsc = now;
	n->looks++;
	return true;
}

/* A process keeps its first thread's number when it executes another program: the thread is the one
 * in the trace only if its file is. */
static bool is_its_program(const struct session *s, const struct trace_thread *t)
{
	char name[64], file[4096];
	ssize_t n;

	if (t->tid != t->pid)
		return true;
	snprintf(name, sizeof(name), "/proc/%u/exe", t->pid);
	n = readlink(name, file, sizeof(file) - 1);
	file[n > 0 ? n : 0] = '\0';
	return n > 0 && strcmp(file, s->info->images.at[t->image].exe) == 0;
}

/* The kernel's name of the thread. False: the thread has ended. */
static bool read_comm(const struct trace_thread *t, char comm[TRACE_COMM])
{
	char name[64];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/task/%u/comm", t->pid, t->tid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, comm, TRACE_COMM - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	comm[comm[n - 1] == '\n' ? n - 1 : n] = '\0';
	return true;
}

/* In another pid namespace the session memory's numbers are other threads'. */
static bool has_its_number(struct session *s, uint32_t slot, const struct trace_thread *t)
{
	uint32_t memory = slot_memory(slot);
	struct stat st;

	return fstat(s->memories.at[memory].fd, &st) == 0 &&
	       processes_namesake(&s->names.processes[memory], t->pid, &st) == (pid_t)t->pid;
}

/* Takes the thread's name from /proc, if the limits allow a look. */
static void look_at_thread(struct session *s, uint32_t thread)
{
	struct named_thread *n = &s->names.at.at[thread];
	const struct trace_thread *t = &s->info->threads.at[thread];
	uint64_t now = clock_tsc();
	char comm[TRACE_COMM] = "";

	if (!may_look(&s->names, n, now, s->info->clock.hz))
		return;
	n->gone = !has_its_number(s, n->slot, t) || !read_comm(t, comm);
	if (!n->gone && is_its_program(s, t))
		trace_info_rename(s->info, thread, now, comm);
}

/* --- ---------------------------------------------------------------------------------------- */

void thread_names_begin(struct session *s, uint32_t slot, uint32_t thread)
{
	const struct trace_thread *t = &s->info->threads.at[thread];

	while (s->names.at.n <= thread)
		*vec_add(&s->names.at) = (struct named_thread){ .slot = UINT32_MAX };
	s->names.at.at[thread].slot = slot;
	producers_names(&s->producers, t, take_kernels, s);
}

void thread_names_follow(struct session *s, uint32_t thread)
{
	struct named_thread *n = &s->names.at.at[thread];

	producers_names(&s->producers, NULL, take_kernels, s);
	if (!slot_in_memory(n->slot))
		return;
	look_at_thread(s, thread);
	if (renames_take(memories_thread(&s->memories, n->slot), &n->seen, s->info, thread) ||
	    s->names.spoiled)
		return;
	s->names.spoiled = true;
	messages_add(&s->memories.at[0].header->messages, MESSAGE_SPOILED, 0, "");
}

/* The next slot for thread_names_look, of a thread whose image is known; UINT32_MAX: the round is
 * over. */
static uint32_t next_slot(struct session *s)
{
	struct thread_names *n = &s->names;

	while (n->memory < memories_n(&s->memories)) {
		const struct shared_memory *m = &s->memories.at[n->memory];

		while (n->slot < shared_memory_threads(m)) {
			const struct memory_thread *t = &m->threads[n->slot++];

			/* Pairs with the release in thread_start() of agent/thread.c. */
			if (__atomic_load_n(&t->ready, __ATOMIC_ACQUIRE) == 1 &&
			    t->image < s->info->images.n)
				return m->first_slot + n->slot - 1;
		}
		n->memory++;
		n->slot = 0;
	}
	n->memory = 0;
	return UINT32_MAX;
}

bool thread_names_look(struct session *s)
{
	uint64_t now = clock_tsc();
	size_t before = s->info->renames.n;

	if (now - s->names.round_tsc < s->info->clock.hz / LOOKS_PER_SECOND)
		return false;
	s->names.round_tsc = now;
	for (unsigned i = 0; i < LOOKS_MOST; i++) {
		uint32_t slot = next_slot(s);

		if (slot == UINT32_MAX)
			break;
		thread_names_follow(s, session_thread(s, slot));
	}
	return s->info->renames.n > before;
}

void thread_names_all(struct session *s)
{
	for (size_t i = 0; i < s->names.at.n; i++)
		if (s->names.at.at[i].slot != UINT32_MAX)
			thread_names_follow(s, (uint32_t)i);
}

void thread_names_free(struct thread_names *n)
{
	for (uint32_t i = 0; i < MEMORIES_MAX; i++)
		processes_free(&n->processes[i]);
	vec_free(&n->at);
}
