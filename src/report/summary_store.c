/* SPDX-License-Identifier: MIT */
/* The trace file as an input of the summary: a file of its own, so that summary.c and its tests
 * need no store. Workers call, each with a cursor of its own; errors are the reader's. */
#include "report/summary.h"

#include "store/store.h"

/* Threads that are hidden have no cursor, and so no row. The reader's info does not change while
 * its workers ask. */
static void *open_cursor(void *reader, uint32_t thread)
{
	return trace_info_shows(store_info(reader), thread) ? store_cursor_open(reader, thread)
							   : NULL;
}

/* `told`: how many of the first events only tell which calls are open where the part begins. bare:
 * these are left out, for a reader that has read the part before. */
static void *open_part(void *reader, uint32_t thread, unsigned part, unsigned parts, bool bare,
		       size_t *told)
{
	if (!trace_info_shows(store_info(reader), thread))
		return NULL;
	return store_cursor_open_part(reader, thread, part, parts, bare, told);
}

static int next_events(void *cursor, struct event *out, size_t n, struct err *err)
{
	return store_cursor_next(cursor, out, n, err);
}

static int next_words(void *cursor, struct unpack **out, struct err *err)
{
	return store_cursor_words(cursor, out, err);
}

static void close_cursor(void *cursor)
{
	store_cursor_close(cursor);
}

/* store_part wants a const pointer, and store_info() a reader: nothing is changed through it. */
static bool is_shown(const void *reader, uint32_t thread)
{
	return trace_info_shows(store_info((struct store_reader *)reader), thread);
}

/* Never fails by itself: errors are those of the source's next(), hence no use for *err. */
static struct source *open_all(void *reader, struct err *err)
{
	const struct store_part part = { .wants = is_shown, .arg = reader };

	(void)err;
	return store_source_part(reader, &part);
}

/* Cursors may be read by several threads at once, each by one (store/thread_packets.c). */
struct summary_input summary_from_store(struct store_reader *r)
{
	return (struct summary_input){ .info = store_info(r), .of = r, .open = open_cursor,
				       .next = next_events, .close = close_cursor,
				       .words = next_words,
				       .open_part = open_part, .all = open_all };
}
