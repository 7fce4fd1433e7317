/* SPDX-License-Identifier: MIT */
/* An excerpt of one thread, for readers that take threads side by side (report/summary.c). All
 * state is the cursor's; the excerpt is only looked at. Fails as the reader does, and on more calls
 * than there are bits for. */
#include "base/mem.h"
#include "excerpt/extract.h"

#define BATCH 1024

struct excerpt_cursor {
	struct store_cursor *inner;
	struct excerpt_reading extract;
	struct event events[BATCH];
	int next, n;
	struct err failed;
	bool ended;
};

/* Feeds all of the thread's events. 0, or -errno and *err. */
static int feed_thread(struct excerpt *x, uint32_t thread, struct event *events,
		       struct call_bits *bits, struct err *err)
{
	struct store_cursor *inner = store_cursor_open_at(x->reader, thread, x->start);
	struct excerpt_reading e;
	int n = 0;

	extract_begin(&e, x, thread, true, NULL);
	while (inner && !e.full && (n = store_cursor_next(inner, events, BATCH, err)) > 0)
		for (int i = 0; i < n; i++)
			extract_take(&e, &events[i]);
	if (n >= 0)
		extract_end(&e);
	store_cursor_close(inner);
	*bits = e.bits;
	e.bits = (struct call_bits){ 0 };
	n = n < 0 ? n : e.full ? extract_too_many(err) : 0;
	extract_free(&e);
	return n;
}

/* Where the trace is read twice, the first reading is done here. Its failure is kept for
 * excerpt_cursor_next(), because NULL means that the thread has nothing. */
struct excerpt_cursor *excerpt_cursor_open(struct excerpt *x, uint32_t thread)
{
	struct excerpt_cursor *c;
	struct store_cursor *inner = NULL;
	struct call_bits bits = { 0 };

	if (thread < x->threads.n && x->threads.at[thread])
		inner = store_cursor_open_at(x->reader, thread, x->start);
	if (!inner)
		return NULL;
	c = mem_zalloc(sizeof(*c));
	c->inner = inner;
	if (x->later)
		feed_thread(x, thread, c->events, &bits, &c->failed);
	extract_begin(&c->extract, x, thread, false, &bits);
	call_bits_free(&bits);
	return c;
}

/* Takes the next event of the thread, or ends, or fails with c->failed. */
static void take_next(struct excerpt_cursor *c)
{
	if (c->next == c->n) {
		c->next = 0;
		c->n = store_cursor_next(c->inner, c->events, BATCH, &c->failed);
		if (c->n < 0) {
			c->n = 0;
			return;
		}
	}
	if (c->n && extract_take(&c->extract, &c->events[c->next++]))
		return;
	extract_end(&c->extract);
	c->ended = true;
}

/* Arguments are gone when the thread's next event is taken. */
static bool give_step(struct excerpt_cursor *c, struct event *out)
{
	if (!extract_give(&c->extract, out))
		return false;
	if (out->kind == EVENT_STEP)
		((struct call_step *)out->step)->flags &= (uint8_t)~CALL_ARGUMENTS;
	return true;
}

/* The steps are the cursor's own until the next call. */
int excerpt_cursor_next(struct excerpt_cursor *c, struct event *out, size_t n, struct err *err)
{
	size_t done = 0;

	while (done < n && give_step(c, &out[done]))
		done++;
	if (done)
		return (int)done;
	while (!c->ended && !c->failed.code && c->extract.out.n < n)
		take_next(c);
	while (done < n && give_step(c, &out[done]))
		done++;
	if (done || !c->failed.code)
		return (int)done;
	if (err)
		*err = c->failed;
	return -c->failed.code;
}

/* Adds this thread's counts to the excerpt's, by which excerpt_is_empty() tells why nothing
 * came. */
void excerpt_cursor_close(struct excerpt_cursor *c)
{
	if (!c)
		return;
	store_cursor_close(c->inner);
	extract_free(&c->extract);
	free(c);
}
