/* SPDX-License-Identifier: MIT */
/* A function that copies from an iterator is known by its name, because the kernel's copying itself
 * cannot be traced (docs/follow.md). Between its entry and its return the BPF program tells of each
 * copy (FOLLOW_BY_COPY) on the same thread, if it sees one. Called on brace's thread. */
#include "follow/copies.h"

#include <string.h>

#include "base/glob.h"

/* Calls that are kept while their return has not come. A return may be lost. */
#define OPEN_MAX 1024u

/* Ways of bytes out of a buffer. They take the iterator from which they copy, or the message. Those
 * of direct I/O hand the pages on themselves. */
static const char *const takers[] = {
	"pipe_write", "tcp_sendmsg_locked", "generic_perform_write", "iomap_file_buffered_write",
	"*_buffered_write", "*_dio_write*", "*_direct_write*", NULL,
};

static bool is_of_buffer(const struct follow_event *e)
{
	return e->group & FOLLOW_IS_BUFFER;
}

/* Whether the call takes bytes of the buffer elsewhere. */
static bool begins(const struct follow_event *e, const struct follow_function *f)
{
	return e->why == FOLLOW_BY_ADDRESS && f && glob_match_any(takers, f->name) &&
	       (e->kind == FOLLOW_ITERATOR || e->kind == FOLLOW_MESSAGE);
}

/* The innermost call of this function that is open on the thread, or SIZE_MAX. */
static size_t find_call(const struct follow_copies *c, const struct follow_event *e)
{
	for (size_t i = c->open.n; i-- > 0;)
		if (c->open.at[i].tid == e->tid && c->open.at[i].function == e->function)
			return i;
	return SIZE_MAX;
}

static void remove_call(struct follow_copies *c, size_t i)
{
	memmove(c->open.at + i, c->open.at + i + 1, (--c->open.n - i) * sizeof(*c->open.at));
}

static void add_call(struct follow_copies *c, const struct follow_event *e)
{
	if (c->open.n == OPEN_MAX)
		remove_call(c, 0);
	*vec_add(&c->open) = (struct follow_copies_call){ e->tid, e->function, false };
}

static void count(struct follow_copies *c, const char *function)
{
	for (size_t i = 0; i < c->rows.n; i++)
		if (!strcmp(c->rows.at[i].function, function)) {
			c->rows.at[i].calls++;
			return;
		}
	*vec_add(&c->rows) = (struct follow_copies_row){ function, 1 };
}

/* Nested calls pass the same bytes on: the outermost one counts. */
static bool is_nested(const struct follow_copies *c, uint32_t tid)
{
	for (size_t i = 0; i < c->open.n; i++)
		if (c->open.at[i].tid == tid)
			return true;
	return false;
}

/* A call that failed, or took nothing, copied nothing. */
static void end_call(struct follow_copies *c, const struct follow_event *e,
		     const struct follow_function *f)
{
	const size_t i = find_call(c, e);
	bool copied;

	if (i == SIZE_MAX)
		return;
	copied = c->open.at[i].copied;
	remove_call(c, i);
	if (f && !copied && (int32_t)e->result > 0 && !is_nested(c, e->tid))
		count(c, f->name);
}

void follow_copies_event(struct follow_copies *c, const struct follow_event *e,
			 const struct follow_function *f)
{
	c->buffer |= is_of_buffer(e);
	if (e->is_return) {
		end_call(c, e, f);
		return;
	}
	for (size_t i = 0; e->why == FOLLOW_BY_COPY && i < c->open.n; i++)
		c->open.at[i].copied |= c->open.at[i].tid == e->tid;
	if (is_of_buffer(e) && begins(e, f))
		add_call(c, e);
}

uint64_t follow_copies_calls(const struct follow_copies *c)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < c->rows.n; i++)
		calls += c->rows.at[i].calls;
	return calls;
}

void follow_copies_free(struct follow_copies *c)
{
	vec_free(&c->open);
	vec_free(&c->rows);
}
