/* SPDX-License-Identifier: MIT */
/* Cursors are those of the inner input, each with the counter beside it; the workers of a summary
 * have several at once. The number only tells a user how far it is, so its order does not matter.
 * The thread that loads a part reads through it; the screen's thread reads the number, and stops
 * the reading: it then fails with EINTR. browse.c makes it. */
#include "view/progress.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/flag.h"
#include "trace/unpack.h"

struct progress_cursor { struct progress *p; void *inner; };

/* NULL if the inner one has none: there is nothing to count. */
static void *count_cursor(struct progress *p, void *inner)
{
	struct progress_cursor *c;

	if (!inner)
		return NULL;
	c = mem_zalloc(sizeof(*c));
	*c = (struct progress_cursor){ p, inner };
	return c;
}

/* Goes between the reader and the source to count what is read; the records pass through
 * unchanged. */
static void *open_cursor(void *of, uint32_t thread)
{
	struct progress *p = of;

	return count_cursor(p, p->inner.open(p->inner.of, thread));
}

static void *open_part(void *of, uint32_t thread, unsigned part, unsigned parts, bool bare,
		       size_t *told)
{
	struct progress *p = of;

	return count_cursor(p, p->inner.open_part(p->inner.of, thread, part, parts, bare, told));
}

/* A user's stop comes as -EINTR from here, so that every reader ends as for a fault of the
 * input. */
static int next_events(void *cursor, struct event *out, size_t n, struct err *err)
{
	struct progress_cursor *c = cursor;
	int got;

	if (flag_is_set(&c->p->stop))
		return err_set(err, EINTR, "interrupted");
	got = c->p->inner.next(c->inner, out, n, err);
	if (got > 0)
		atomic_fetch_add_explicit(&c->p->done, (uint64_t)got, memory_order_relaxed);
	return got;
}

/* A packet's words stand for as many events: few records have more than one. */
static int next_words(void *cursor, struct unpack **out, struct err *err)
{
	struct progress_cursor *c = cursor;
	int got;

	if (flag_is_set(&c->p->stop))
		return err_set(err, EINTR, "interrupted");
	got = c->p->inner.words(c->inner, out, err);
	if (got > 0)
		atomic_fetch_add_explicit(&c->p->done, (uint64_t)((*out)->end - (*out)->at),
					  memory_order_relaxed);
	return got;
}

static void close_cursor(void *cursor)
{
	struct progress_cursor *c = cursor;

	c->p->inner.close(c->inner);
	free(c);
}

/* The whole is the number of records that the trace's table tells; there are about as many events.
 * *p and `inner` outlive the reading. The shape of the inner input stays: a function that it lacks
 * is NULL here, too, since readers choose their way by that. */
struct summary_input progress_input(struct progress *p, const struct summary_input *inner)
{
	struct summary_input in = *inner;
	uint64_t all = 0;

	p->inner = *inner;
	for (size_t i = 0; i < inner->info->threads.n; i++)
		all += inner->info->threads.at[i].records;
	/* The screen's thread may look at both already. */
	atomic_store_explicit(&p->all, all, memory_order_relaxed);
	atomic_store_explicit(&p->done, 0, memory_order_relaxed);
	in.of = p;
	in.inner = &p->inner;
	in.open = open_cursor;
	in.open_part = inner->open_part ? open_part : NULL;
	in.next = next_events;
	in.words = inner->words ? next_words : NULL;
	in.close = close_cursor;
	return in;
}

/* In hundredths of a percent. An input without records is at 0 until it ends. */
unsigned progress_share(const struct progress *p)
{
	const uint64_t all = atomic_load_explicit(&p->all, memory_order_relaxed),
		       done = atomic_load_explicit(&p->done, memory_order_relaxed);

	if (!all || done >= all)
		return all ? 10000 : 0;
	return (unsigned)((unsigned __int128)done * 10000 / all);
}
