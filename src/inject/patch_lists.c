/* SPDX-License-Identifier: MIT */
/* Owned by the control; the socket's thread uses it while somebody is inside, and whoever is alone
 * (session/turns.h): no lock. Nothing fails; a process whose memory cannot be read counts as
 * nobody's child. */
#include "inject/patch_lists.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/vec.h"

/* Bytes compared to tell parents apart; all of them would take long. */
#define SAMPLES 64u
#define LOOK_MS 500u     /* for one process */
#define IN_VAIN_MOST 8u  /* processes that were waited for in vain; then none is */
/* lists of ended processes, whose children may live: a build runs thousands of them */
#define DEAD_MAX 64u

/* The process' own list, or NULL. */
static struct process_patches *own_list(const struct patch_lists *l, pid_t pid)
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

/* Drops the oldest lists of ended processes, beyond DEAD_MAX. */
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
	struct process_patches *p = own_list(l, pid);

	/* find_parent() needs the lists of ended parents, so they are not dropped at once. */
	if (!p) {
		drop_dead(l);
		p = vec_add(l);
		*p = (struct process_patches){ .pid = pid };
	}
	p->list.n = 0;
}

static void copy_list(struct patch_list *to, const struct patch_list *from)
{
	for (size_t i = 0; i < from->n; i++)
		*vec_add(to) = from->at[i];
}

/* The number of sampled patches that stand in the process. */
static unsigned stand_in(int fd, const struct patch_list *list)
{
	unsigned found = 0;

	for (unsigned i = 0; i < SAMPLES && i < list->n; i++) {
		const struct patch *p =
			&list->at[list->n <= SAMPLES ? i : i * (list->n - 1) / (SAMPLES - 1)];
		uint8_t there[sizeof(p->bytes)];

		/* The program changes semaphores itself. */
		if (p->function == PATCH_SEMAPHORE)
			continue;
		found += pread(fd, there, p->length, (off_t)p->address) == p->length &&
			 memcmp(there, p->bytes, p->length) == 0;
	}
	return found;
}

struct evidence {
	const struct patch_lists *lists;
	int fd;           /* the process's memory */
	unsigned found[]; /* by list */
};

static void find_standing(void *work)
{
	struct evidence *e = work;

	for (size_t i = 0; i < e->lists->n; i++)
		e->found[i] = stand_in(e->fd, &e->lists->at[i].list);
}

/* A page of the process may be filled by somebody who never does (userfaultfd): it is read aside.
 * After a few waits in vain nobody is looked at: others wait for the socket thread meanwhile. */
static bool look_aside(struct evidence *e, size_t bytes)
{
	/* Relaxed: planners count in it, and nothing is read by it. */
	static atomic_uint in_vain;
	int r;

	if (atomic_load_explicit(&in_vain, memory_order_relaxed) >= IN_VAIN_MOST)
		return false;
	r = aside_run(find_standing, e, bytes, LOOK_MS);
	atomic_fetch_add_explicit(&in_vain, r == -ETIMEDOUT, memory_order_relaxed);
	return r == 0;
}

/* NULL: none of them. found: patches that stand there, by list. */
static const struct process_patches *most_found(const struct patch_lists *l, pid_t pid,
						const unsigned *found)
{
	const struct process_patches *best = NULL;
	unsigned most = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct process_patches *p = &l->at[i];

		/* The most matches win, then the longer list. */
		if (!found[i] || found[i] < most ||
		    (found[i] == most && best && p->list.n <= best->list.n) || !p->memory ||
		    !memories_allow(l->memories, pid, p->memory))
			continue;
		most = found[i];
		best = p;
	}
	return best;
}

/* The process whose patches stand in this one. NULL: nobody's do. */
static const struct process_patches *find_parent(const struct patch_lists *l, pid_t pid)
{
	const size_t bytes = sizeof(struct evidence) + l->n * sizeof(unsigned);
	struct evidence *e = mem_zalloc(bytes);
	const struct process_patches *best = NULL;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	*e = (struct evidence){ .lists = l, .fd = l->n ? open(name, O_RDONLY | O_CLOEXEC) : -1 };
	if (e->fd >= 0 && look_aside(e, bytes))
		best = most_found(l, pid, e->found);
	if (e->fd >= 0)
		close(e->fd);
	free(e);
	return best;
}

void patch_lists_add(struct patch_lists *l, pid_t pid, const struct shared_memory *memory,
		     const struct patch *patches, size_t n)
{
	struct process_patches *p = own_list(l, pid);

	if (!p) {
		const struct process_patches *parent = find_parent(l, pid);
		struct process_patches child = { .pid = pid,
						 .memory = parent ? parent->memory : NULL };

		if (parent)
			copy_list(&child.list, &parent->list);
		patch_lists_begin(l, pid);
		/* vec_add() may have moved the lists. */
		p = own_list(l, pid);
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
	const struct process_patches *p = own_list(l, pid);

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
