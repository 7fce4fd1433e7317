/* SPDX-License-Identifier: MIT */
/* An excerpt of a trace file as an input of the summary, as summary_store.c has the whole of one.
 * Workers call, each with a cursor of its own; errors are the reader's. */
#include "report/summary.h"

#include "excerpt/excerpt.h"

static void *open_cursor(void *excerpt, uint32_t thread)
{
	return excerpt_cursor_open(excerpt, thread);
}

static int next_events(void *cursor, struct event *out, size_t n, struct err *err)
{
	return excerpt_cursor_next(cursor, out, n, err);
}

static void close_cursor(void *cursor)
{
	excerpt_cursor_close(cursor);
}

static struct source *open_all(void *excerpt, struct err *err)
{
	return excerpt_source(excerpt, err);
}

struct summary_input summary_from_excerpt(struct excerpt *x, struct store_reader *r)
{
	return (struct summary_input){ .info = store_info(r), .of = x, .open = open_cursor,
				       .next = next_events, .close = close_cursor,
				       .at_once = true, .all = open_all };
}
