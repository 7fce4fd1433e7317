/* SPDX-License-Identifier: MIT */
/* Called by agent/calls.c on the calling thread, before a call and after it: no lock, no libc. The
 * kernel reads the memory, so that a wrong pointer costs the copy and nothing else. The event's
 * description lies in shared memory and is not believed: an argument that does not exist has no
 * copy, and no length leads out of the record.
 *
 * The layout is that of Linux 6.19 and later: behind the arguments 4 bytes for each copy, length <<
 * 16 | place; behind these the copies, one after the other. A string has its NUL, and one that was
 * cut ends in "...". */
#include "shared/call_copies.h"

#include <stdbool.h>

#define RECORD_BYTES (8u * CALL_RECORD_WORDS)
#define FAILED_MOST 4095 /* results from -4095 on are errors */

static const char cut_mark[4] = "...";

struct call_copying {
	uint8_t *record;
	uint32_t used, most;
	const struct call_values *v;
};

static uint32_t bytes_of(uint64_t pieces, uint32_t size)
{
	return pieces > RECORD_BYTES / size ? RECORD_BYTES : (uint32_t)pieces * size;
}

static bool has_failed(uint64_t result)
{
	return (int64_t)result < 0 && (int64_t)result >= -FAILED_MOST;
}

/* The bytes that are there to be copied, strings apart. */
static uint32_t length_of(const struct call_copying *c, uint8_t length)
{
	uint64_t said = c->v->arguments[length % 0x10 % CALL_ARGUMENTS];

	if (has_failed(c->v->result))
		return 0;
	if (length == CALL_COPY_RESULT)
		return bytes_of(c->v->result, 1);
	if (length & CALL_COPY_FIXED)
		return 4u * (length % CALL_COPY_FIXED);
	return bytes_of(said, length & CALL_COPY_PAIRS ? 16 : length & CALL_COPY_WORDS ? 8 : 1);
}

/* Structures are copied whole, whatever is allowed for text: half of one says nothing. */
static uint32_t most_of(const struct call_copying *c, uint8_t length)
{
	uint32_t room = RECORD_BYTES - c->used;
	uint32_t most = length & CALL_COPY_FIXED && !(length & CALL_COPY_RESULT) ? room : c->most;

	return most < room ? most : room;
}

/* Returns the bytes that the string takes with its NUL; 0: it is not there, or has no room. */
static uint32_t copy_string(const struct call_copying *c, uint64_t from)
{
	uint32_t room = RECORD_BYTES - c->used, most = c->most, n, got;
	uint8_t *to = c->record + c->used;

	if (room <= sizeof(cut_mark))
		return 0;
	if (most > room - sizeof(cut_mark))
		most = room - sizeof(cut_mark);
	/* One byte more tells whether it ends here. */
	got = c->v->read(from, to, most + 1);
	if (got > most + 1)
		return 0;
	for (n = 0; n < got && to[n]; n++)
		continue;
	if (!got || n < got)
		return got ? n + 1 : 0;
	/* Cut by the limit, or by the end of what can be read. */
	n = n < most ? n : most;
	for (uint32_t i = 0; i < sizeof(cut_mark); i++)
		((volatile uint8_t *)to)[n + i] = (uint8_t)cut_mark[i];
	return n + (uint32_t)sizeof(cut_mark);
}

static uint32_t copy_bytes(const struct call_copying *c, uint64_t from, uint8_t length)
{
	uint32_t n = length_of(c, length), most = most_of(c, length);

	n = n < most ? n : most;
	return n ? c->v->read(from, c->record + c->used, n) : 0;
}

#define VECTORS 16u /* structures iovec, or strings, of one copy */

/* Copies what an array of structures iovec leads to, one behind another. Returns the bytes. */
static uint32_t copy_gathered(const struct call_copying *c, uint64_t from, uint8_t length)
{
	uint64_t pieces = c->v->arguments[length % 0x10 % CALL_ARGUMENTS], iovec[2];
	uint32_t room = RECORD_BYTES - c->used, most = c->most < room ? c->most : room, n = 0, got;

	for (uint32_t i = 0; i < VECTORS && i < pieces && n < most; i++) {
		uint64_t bytes;

		if (c->v->read(from + 16 * i, iovec, sizeof(iovec)) != sizeof(iovec))
			break;
		bytes = iovec[1] < most - n ? iovec[1] : most - n;
		got = bytes ? c->v->read(iovec[0], c->record + c->used + n, (uint32_t)bytes) : 0;
		n += got < bytes ? got : (uint32_t)bytes;
		if (got < bytes)
			break;
	}
	return n;
}

/* Copies one string behind the n bytes that are there, with a NUL, cut or not. Returns its bytes;
 * 0: it is not there. */
static uint32_t copy_one(const struct call_copying *c, uint64_t from, uint32_t n, uint32_t most)
{
	uint8_t *to = c->record + c->used + n;
	uint32_t room = most - n - 1, length = 0, got = from ? c->v->read(from, to, room) : 0;

	while (length < got && length < room && to[length])
		length++;
	if (got)
		*(volatile uint8_t *)(to + length) = 0;
	return got ? length + 1 : 0;
}

static uint32_t copy_strings(const struct call_copying *c, uint64_t from)
{
	uint32_t room = RECORD_BYTES - c->used, most = c->most < room ? c->most : room, n = 0, one;
	uint64_t at = 0;

	for (uint32_t i = 0; i < VECTORS && n + 1 < most; i++) {
		if (c->v->read(from + 8 * i, &at, sizeof(at)) != sizeof(at) || !at)
			break;
		one = copy_one(c, at, n, most);
		if (!one)
			break;
		n += one;
	}
	return n;
}

static uint32_t copy_of_any(const struct call_copying *c, uint64_t from, uint8_t length)
{
	if (length == CALL_COPY_STRING)
		return copy_string(c, from);
	if (length == CALL_COPY_STRINGS)
		return copy_strings(c, from);
	return length >= CALL_COPY_GATHER ? copy_gathered(c, from, length)
					  : copy_bytes(c, from, length);
}

/* Returns the __data_loc of the copy. */
static uint32_t add_copy(struct call_copying *c, uint8_t argument, uint8_t length)
{
	uint64_t from = argument <= CALL_ARGUMENTS ? c->v->arguments[argument - 1] : 0;
	uint32_t n = 0, place = c->used;

	if (from && c->most)
		n = copy_of_any(c, from, length);
	if (!n || n > RECORD_BYTES - c->used)
		return CALL_NOTHING_COPIED;
	c->used += n;
	return n << 16 | place;
}

unsigned call_copies_add(const struct call_event *e, uint64_t *words, unsigned n,
			 const struct call_values *v)
{
	struct call_copying c = { (uint8_t *)words, 8 * n, e->most, v };
	uint32_t *loc = (uint32_t *)&words[n];
	struct call_copy copies[CALL_COPIES];
	unsigned count = 0;

	for (; count < CALL_COPIES; count++) {
		/* Loaded once: it lies in shared memory. */
		copies[count].argument = *(const volatile uint8_t *)&e->copies[count].argument;
		copies[count].length = *(const volatile uint8_t *)&e->copies[count].length;
		if (!copies[count].argument)
			break;
	}
	if (!count)
		return n;
	c.most = c.most < CALL_COPY_MOST ? c.most : CALL_COPY_MOST;
	c.used += 4 * count;
	for (unsigned i = 0; i < count; i++)
		loc[i] = add_copy(&c, copies[i].argument, copies[i].length);
	/* The padding up to a word must not show the stack. */
	for (; c.used % 8; c.used++)
		((volatile uint8_t *)words)[c.used] = 0;
	return c.used / 8;
}
