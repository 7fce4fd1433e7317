/* SPDX-License-Identifier: MIT */
/* Processes whose descriptors the monitor ebadf cannot follow. monitors.c calls, with pump_lock;
 * nothing fails. What does not fit into the lists puts all processes in doubt.
 *
 * A child of clone3 is a thread, as of pthread_create, or a process, as of posix_spawn: its flags
 * are in memory that may have changed. Hence each is kept until info has it as a thread of its
 * parent, or in another program: exec gives a process a table of its own. While one is kept, the
 * parent and the child are in doubt. A clone whose return is not seen stays, and with it the doubt
 * about all that began after it. */
#include "instance/table_sharing.h"

#include <stdlib.h>
#include <string.h>

#define CLONES_MOST 64u
#define SPOILED_MOST 1024u
/* Ticks, about a millisecond: a hostile program has a fault each microsecond. */
#define LOOK_EVERY (UINT64_C(1) << 22)

void table_sharing_free(struct table_sharing *s)
{
	vec_free(&s->clones);
	vec_free(&s->spoiled);
}

static bool is_spoiled(const struct table_sharing *s, uint32_t pid)
{
	for (size_t i = 0; i < s->spoiled.n; i++)
		if (s->spoiled.at[i] == pid)
			return true;
	return s->blind;
}

void table_sharing_spoil(struct table_sharing *s, uint32_t pid)
{
	if (is_spoiled(s, pid))
		return;
	if (s->spoiled.n == SPOILED_MOST)
		s->blind = true;
	else
		*vec_add(&s->spoiled) = pid;
}

/* The child as it was seen last, after the call; NULL: it was not. */
static const struct trace_thread *find_child(const struct table_sharing *s,
					     const struct table_clone *c)
{
	for (size_t i = s->info->threads.n; c->child && i-- > 0;) {
		const struct trace_thread *t = &s->info->threads.at[i];

		if (t->tid == c->child)
			return t->tsc >= c->tsc ? t : NULL;
	}
	return NULL;
}

/* Whether the clone is no longer in doubt at tsc. */
static bool is_settled(const struct table_sharing *s, const struct table_clone *c, uint64_t tsc,
		       table_sharing_over *over, void *arg)
{
	const struct trace_thread *child = find_child(s, c);

	if (!child || child->pid == c->parent)
		return child;
	if (child->image == c->image || child->tsc > tsc)
		return false;
	over(arg, c->parent, child->tsc);
	over(arg, c->child, child->tsc);
	return true;
}

static void settle_clones(struct table_sharing *s, uint64_t tsc, table_sharing_over *over,
			  void *arg)
{
	size_t kept = 0;

	if (s->threads == s->info->threads.n && tsc - s->looked < LOOK_EVERY)
		return;
	s->threads = s->info->threads.n;
	s->looked = tsc;
	for (size_t i = 0; i < s->clones.n; i++)
		if (!is_settled(s, &s->clones.at[i], tsc, over, arg))
			s->clones.at[kept++] = s->clones.at[i];
	s->clones.n = kept;
}

/* Makes room for one clone: the processes of the oldest that has returned are in doubt for
 * good. */
static bool make_room(struct table_sharing *s)
{
	for (size_t i = 0; i < s->clones.n; i++) {
		const struct table_clone c = s->clones.at[i];

		if (!c.child)
			continue;
		table_sharing_spoil(s, c.parent);
		table_sharing_spoil(s, c.child);
		s->clones.n--;
		memmove(&s->clones.at[i], &s->clones.at[i + 1],
			(s->clones.n - i) * sizeof(s->clones.at[0]));
		return true;
	}
	return false;
}

void table_sharing_clone(struct table_sharing *s, const struct event *e, bool certain,
			 table_sharing_over *over, void *arg)
{
	const struct trace_thread *t = &s->info->threads.at[e->thread];

	if (certain)
		table_sharing_spoil(s, t->pid);
	if (s->clones.n == CLONES_MOST)
		settle_clones(s, e->tsc, over, arg);
	if (s->clones.n == CLONES_MOST && !make_room(s))
		s->blind = true;
	if (!s->blind)
		*vec_add(&s->clones) = (struct table_clone){ e->tsc, t->pid, e->thread, t->image,
							     0, certain };
}

void table_sharing_cloned(struct table_sharing *s, uint32_t thread, int64_t result)
{
	for (size_t i = s->clones.n; i-- > 0;) {
		struct table_clone *c = &s->clones.at[i];

		if (c->thread != thread)
			continue;
		c->thread = UINT32_MAX;
		c->child = (uint32_t)result;
		s->threads = 0; /* look for it */
		if (c->certain && result > 0)
			table_sharing_spoil(s, (uint32_t)result);
		if (c->certain || result <= 0)
			*c = s->clones.at[--s->clones.n];
		return;
	}
}

/* Whether the clone, as far as is known, may have shared the process's table. A child may run
 * before the call returns: until then it may be any process that was not seen before. */
static bool concerns(const struct table_clone *c, const struct trace_thread *t)
{
	return c->parent == t->pid || c->child == t->pid || (!c->child && t->tsc >= c->tsc);
}

bool table_sharing_is_clear(struct table_sharing *s, const struct event *e,
			    table_sharing_over *over, void *arg)
{
	const struct trace_thread *t = &s->info->threads.at[e->thread];
	bool any = false;

	if (is_spoiled(s, t->pid))
		return false;
	for (size_t i = 0; i < s->clones.n; i++)
		any |= concerns(&s->clones.at[i], t);
	if (!any)
		return true;
	settle_clones(s, e->tsc, over, arg);
	for (size_t i = 0; i < s->clones.n; i++)
		if (concerns(&s->clones.at[i], t))
			return false;
	return true;
}
