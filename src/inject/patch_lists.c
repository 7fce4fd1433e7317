/* SPDX-License-Identifier: MIT */
#include "inject/patch_lists.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

#define SAMPLES 64u
#define DEAD_MAX 64u /* lists of ended processes, whose children may live: a build runs thousands */

static struct process_patches *own(const struct patch_lists *l, pid_t pid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].pid == pid)
			return &l->at[i];
	return NULL;
}

static bool is_dead(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

/* The oldest of the dead beyond the limit. */
static void drop_dead(struct patch_lists *l)
{
	size_t dead = 0, kept = 0;

	for (size_t i = 0; i < l->n; i++)
		dead += is_dead(l->at[i].pid);
	for (size_t i = 0; i < l->n; i++) {
		if (dead > DEAD_MAX && is_dead(l->at[i].pid)) {
			vec_free(&l->at[i].list);
			dead--;
		} else {
			l->at[kept++] = l->at[i];
		}
	}
	l->n = kept;
}

void patch_lists_begin(struct patch_lists *l, pid_t pid)
{
	struct process_patches *p = own(l, pid);

	if (!p) {
		drop_dead(l);
		p = vec_add(l);
		*p = (struct process_patches){ .pid = pid };
	}
	p->list.n = 0;
}

static void copy(struct patch_list *to, const struct patch_list *from)
{
	for (size_t i = 0; i < from->n; i++)
		*vec_add(to) = from->at[i];
}

/* How many of some patches stand in the process. */
static unsigned stand_in(int fd, const struct patch_list *list)
{
	unsigned found = 0;

	for (unsigned i = 0; i < SAMPLES && i < list->n; i++) {
		const struct patch *p = &list->at[list->n <= SAMPLES ? i : i * (list->n - 1) / (SAMPLES - 1)];
		uint8_t there[sizeof(p->bytes)];

		if (p->function == PATCH_SEMAPHORE)
			continue;
		found += pread(fd, there, p->length, (off_t)p->address) == p->length &&
			 memcmp(there, p->bytes, p->length) == 0;
	}
	return found;
}

/* NULL: nobody's patches stand in it. */
static const struct process_patches *find_parent(const struct patch_lists *l, pid_t pid)
{
	const struct process_patches *best = NULL;
	unsigned most = 0;
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; fd >= 0 && i < l->n; i++) {
		const struct process_patches *p = &l->at[i];
		unsigned found = stand_in(fd, &p->list);

		if (!found || found < most || (found == most && best && p->list.n <= best->list.n) ||
		    !p->memory || !memories_allow(l->memories, pid, p->memory))
			continue;
		most = found;
		best = p;
	}
	if (fd >= 0)
		close(fd);
	return best;
}

void patch_lists_add(struct patch_lists *l, pid_t pid, const struct shared_memory *memory, const struct patch *patches, size_t n)
{
	struct process_patches *p = own(l, pid);

	if (!p) {
		const struct process_patches *parent = find_parent(l, pid);
		struct process_patches child = { .pid = pid, .memory = parent ? parent->memory : NULL };

		if (parent)
			copy(&child.list, &parent->list);
		patch_lists_begin(l, pid);
		p = own(l, pid);
		*p = child;
	}
	if (memory)
		p->memory = memory;
	for (size_t i = 0; i < n; i++)
		if (patches[i].status == PATCH_APPLIED)
			*vec_add(&p->list) = patches[i];
}

const struct patch_list *patch_lists_of(const struct patch_lists *l, pid_t pid)
{
	static const struct patch_list none;
	const struct process_patches *p = own(l, pid);

	if (!p)
		p = find_parent(l, pid);
	return p ? &p->list : &none;
}

void patch_lists_free(struct patch_lists *l)
{
	for (size_t i = 0; i < l->n; i++)
		vec_free(&l->at[i].list);
	vec_free(l);
}
