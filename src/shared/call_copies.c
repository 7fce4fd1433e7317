/* SPDX-License-Identifier: MIT */
/* agent/syscalls.c calls it on the thread of the call, before the call and after it: no lock, no
 * libc. The kernel reads the memory, so that a wrong pointer costs the copy and nothing else. The
 * event's description lies in shared memory and is not believed: an argument that does not exist
 * has no copy, and no length leads out of the record.
 *
 * The layout is that of Linux 6.19 and later: behind the arguments 4 bytes for each copy, length <<
 * 16 | offset; behind these the copies, one after the other. A string has its NUL, and one that was
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

static uint32_t bytes_of(uint64_t elements, uint32_t size)
{
	return elements > RECORD_BYTES / size ? RECORD_BYTES : (uint32_t)elements * size;
}

static bool has_failed(uint64_t result)
{
	return (int64_t)result < 0 && (int64_t)result >= -FAILED_MOST;
}

/* Bytes of an element of an array whose length an argument says; 0: the copy is none. */
static uint32_t element_of(uint8_t length)
{
	switch (length & 0xf0) {
	case CALL_COPY_BYTES: return 1;
	case CALL_COPY_WORDS: return 8;
	case CALL_COPY_PAIRS: return 16;
	case CALL_COPY_INTS: return 4;
	default: return 0;
	}
}

static uint32_t structure_of(uint8_t length)
{
	if (length == CALL_COPY_STATX || length == CALL_COPY_UTSNAME)
		return length == CALL_COPY_STATX ? CALL_STATX_BYTES : CALL_UTSNAME_BYTES;
	return length >= CALL_COPY_FIXED && length < CALL_COPY_RESULT
		       ? 4u * (length % CALL_COPY_FIXED)
		       : 0;
}

/* The bytes that are there to be copied, strings and messages apart. */
static uint32_t length_of(const struct call_copying *c, uint8_t length)
{
	uint64_t said = c->v->arguments[length % 0x10 % CALL_ARGUMENTS];

	if (has_failed(c->v->result))
		return 0;
	if (length == CALL_COPY_RESULT)
		return bytes_of(c->v->result, 1);
	if ((length & 0xf0) == CALL_COPY_RETURNED)
		return length % 0x10 ? bytes_of(c->v->result, 4u * (length % 0x10)) : 0;
	if ((length & 0xf0) == CALL_COPY_BITS)
		return bytes_of(said / 64 + (said % 64 != 0), 8);
	return element_of(length) ? bytes_of(said, element_of(length)) : structure_of(length);
}

/* Structures are copied whole, and some of an array, whatever is allowed for text: half of one
 * says nothing. */
static uint32_t most_of(const struct call_copying *c, uint8_t length)
{
	uint32_t room = RECORD_BYTES - c->used, most = c->most;

	if (structure_of(length))
		most = room;
	else if (length != CALL_COPY_RESULT && element_of(length) != 1)
		most = CALL_ARRAY_MOST;
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

/* Copies what an array of structures iovec leads to, one behind another, to `n` bytes behind the
 * copy's begin. Returns the bytes, at most `most`. */
static uint32_t copy_iovecs(const struct call_copying *c, uint64_t from, uint64_t elements,
			    uint32_t n, uint32_t most)
{
	uint32_t done = 0, got;
	uint64_t iovec[2];

	for (uint32_t i = 0; i < CALL_IOVECS && i < elements && done < most; i++) {
		uint64_t bytes;

		if (c->v->read(from + 16 * i, iovec, sizeof(iovec)) != sizeof(iovec))
			break;
		bytes = iovec[1] < most - done ? iovec[1] : most - done;
		got = bytes ? c->v->read(iovec[0], c->record + c->used + n + done, (uint32_t)bytes)
			    : 0;
		done += got < bytes ? got : (uint32_t)bytes;
		if (got < bytes)
			break;
	}
	return done;
}

static uint32_t smaller(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

static uint32_t copy_gathered(const struct call_copying *c, uint64_t from, uint8_t length)
{
	uint64_t elements = c->v->arguments[length % 0x10 % CALL_ARGUMENTS];
	uint32_t most = smaller(RECORD_BYTES - c->used, c->most);

	if ((length & 0xf0) == CALL_COPY_SCATTER)
		most = has_failed(c->v->result) ? 0 : smaller(c->v->result, most);
	return copy_iovecs(c, from, elements, 0, most);
}

/* Copies a part of a message behind its n bytes; false: it is not all there. */
static bool add_part(const struct call_copying *c, uint64_t from, uint64_t bytes, uint32_t most,
		     uint32_t *n)
{
	uint32_t room = RECORD_BYTES - c->used - *n, wanted = smaller(bytes, most), got;

	wanted = wanted < room ? wanted : room;
	if (!from || !wanted)
		return true;
	got = c->v->read(from, c->record + c->used + *n, wanted);
	*n += got < wanted ? got : wanted;
	return got >= wanted;
}

/* The fields of a struct msghdr, in words. */
enum { MSG_NAME, MSG_NAMELEN, MSG_IOV, MSG_IOVLEN, MSG_CONTROL, MSG_CONTROLLEN };

/* The header is read twice, once to look at: a reader that finds other lengths in the copy than
 * were used here keeps to the copy's end. */
static uint32_t copy_message(const struct call_copying *c, uint64_t from, uint64_t bytes)
{
	uint64_t header[CALL_MESSAGE_HEADER / 8];
	uint32_t n = 0, most = smaller(bytes, c->most);

	if (RECORD_BYTES - c->used < CALL_MESSAGE_HEADER || has_failed(c->v->result) ||
	    c->v->read(from, header, sizeof(header)) != sizeof(header) ||
	    !add_part(c, from, CALL_MESSAGE_HEADER, CALL_MESSAGE_HEADER, &n))
		return 0;
	if (add_part(c, header[MSG_NAME], (uint32_t)header[MSG_NAMELEN], CALL_MESSAGE_NAME, &n) &&
	    add_part(c, header[MSG_IOV], bytes_of(header[MSG_IOVLEN], 16), 16 * CALL_MESSAGE_IOVECS,
		     &n) &&
	    add_part(c, header[MSG_CONTROL], header[MSG_CONTROLLEN], CALL_MESSAGE_CONTROL, &n))
		n += copy_iovecs(c, header[MSG_IOV],
				 smaller(header[MSG_IOVLEN], CALL_MESSAGE_IOVECS), n,
				 smaller(RECORD_BYTES - c->used - n, most));
	return n;
}

#define MMSGHDR_BYTES 64u

/* Copies structures mmsghdr: messages that are sent whole, others as far as bytes were
 * received. */
static uint32_t copy_messages(const struct call_copying *c, uint64_t from, bool received)
{
	uint64_t said = c->v->result ? c->v->result : c->v->arguments[2];
	uint32_t messages = has_failed(said) ? 0 : smaller(said, CALL_MESSAGES), n = 0;

	for (uint32_t i = 0; i < messages; i++, from += MMSGHDR_BYTES) {
		struct call_copying one = { c->record, c->used + n + 8, c->most, c->v };
		uint32_t head[2] = { 0 };

		if (one.used > RECORD_BYTES || c->v->read(from + CALL_MESSAGE_HEADER, &head[1],
							  sizeof(head[1])) != sizeof(head[1]))
			break;
		head[0] = copy_message(&one, from, received ? head[1] : UINT64_MAX);
		if (!head[0])
			break;
		for (uint32_t k = 0; k < sizeof(head); k++)
			((volatile uint8_t *)c->record)[c->used + n + k] =
				(uint8_t)(head[k / 4] >> 8 * (k % 4));
		n += (uint32_t)sizeof(head) + head[0];
	}
	return n;
}

#define SIGNAL_SET_BYTES 8u

static uint32_t copy_signals_at(const struct call_copying *c, uint64_t from)
{
	uint64_t two[2];
	uint32_t n = 0;

	if (RECORD_BYTES - c->used < sizeof(two) + SIGNAL_SET_BYTES ||
	    c->v->read(from, two, sizeof(two)) != sizeof(two) ||
	    !add_part(c, from, sizeof(two), sizeof(two), &n))
		return 0;
	add_part(c, two[0], two[1], SIGNAL_SET_BYTES, &n);
	return n;
}

#define COUNT_AT_ONCE 16u
#define COUNT_MOST 1024u

/* Counts an array of addresses that ends with NULL, or where no more can be read. */
static uint32_t copy_count(const struct call_copying *c, uint64_t from)
{
	uint64_t some[COUNT_AT_ONCE];
	uint32_t n = 0, got, i;

	if (RECORD_BYTES - c->used < sizeof(n))
		return 0;
	do {
		got = c->v->read(from + 8 * n, some, sizeof(some)) / 8;
		got = got < COUNT_AT_ONCE ? got : COUNT_AT_ONCE;
		if (!got && !n)
			return 0;
		for (i = 0; i < got && some[i]; i++)
			continue;
		n += i;
	} while (i == COUNT_AT_ONCE && n < COUNT_MOST);
	for (i = 0; i < sizeof(n); i++)
		((volatile uint8_t *)c->record)[c->used + i] = (uint8_t)(n >> 8 * i);
	return sizeof(n);
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

	for (uint32_t i = 0; i < CALL_IOVECS && n + 1 < most; i++) {
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
	switch (length) {
	case CALL_COPY_STRING: return copy_string(c, from);
	case CALL_COPY_STRINGS: return copy_strings(c, from);
	case CALL_COPY_COUNT: return copy_count(c, from);
	case CALL_COPY_MESSAGE: return copy_message(c, from, UINT64_MAX);
	case CALL_COPY_MESSAGE_RETURNED: return copy_message(c, from, c->v->result);
	case CALL_COPY_MESSAGES: return copy_messages(c, from, false);
	case CALL_COPY_MESSAGES_RETURNED: return copy_messages(c, from, true);
	case CALL_COPY_SIGNALS_AT: return copy_signals_at(c, from);
	default: break;
	}
	if ((length & 0xf0) == CALL_COPY_GATHER || (length & 0xf0) == CALL_COPY_SCATTER)
		return copy_gathered(c, from, length);
	return copy_bytes(c, from, length);
}

/* No program has memory there: numbers in an argument that may lead somewhere are not looked at. */
#define LOWEST_ADDRESS 4096u

/* Returns the __data_loc of the copy. */
static uint32_t add_copy(struct call_copying *c, uint8_t argument, uint8_t length)
{
	uint64_t from = argument <= CALL_ARGUMENTS ? c->v->arguments[argument - 1] : 0;
	uint32_t n = 0, offset = c->used;

	if (from >= LOWEST_ADDRESS && c->most)
		n = copy_of_any(c, from, length);
	if (!n || n > RECORD_BYTES - c->used)
		return CALL_NOTHING_COPIED;
	c->used += n;
	return n << 16 | offset;
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
