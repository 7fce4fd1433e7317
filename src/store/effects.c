/* SPDX-License-Identifier: MIT */
/* Writes what packets do to stacks. pipeline.c calls it: workers tell, each of its own packet;
 * whoever writes packets follows and adds. It must follow trace/calls.c where that follows entries,
 * jumps and returns: a tail call ends with the call that jumped, and a jump of a function to itself
 * is no call. Only a lack of memory to compress with fails: all effects are dropped then. */
#include "store/effects.h"

#include <zstd.h>

#include "base/cursor.h"
#include "shared/record.h"
#include "store/crc.h"

#define LEVEL 3
#define ENOUGH (1u << 20) /* bytes that make a packet */

/* The place of RECORD_EXIT_VALUE, which is bit 21 of an exit's id, in its word. */
#define VALUE_BIT 23

/* An open call in one word: where its record is, which says the rest; from bit 32 on the CPU; bit
 * 48: it was jumped to. A packet has fewer than 2^32 words (PACKET_WORDS_MAX). */
typedef uint64_t told_call;
#define TOLD_TAIL (UINT64_C(1) << 48)

static uint32_t told_word(told_call c)
{
	return (uint32_t)c;
}

/* A packet's effect so far. */
struct stack_effect {
	const uint64_t *words;
	told_call open[EFFECTS_FRAMES_MAX + 2]; /* from 1 on */
	size_t n, tails;
	struct start_mark marks[EFFECTS_MARKS_MAX];
	size_t n_marks;
	uint64_t returns; /* of calls that were open before the packet, each with its tail calls */
	uint64_t at;
	uint64_t cpu; /* as in a told_call */
	struct effects_jumps *jumps;
};

/* Marks are over when the calls that were open then have ended. */
static void take_return(struct stack_effect *s)
{
	bool whole = false;

	while (s->n && !whole) {
		whole = !(s->open[s->n--] & TOLD_TAIL);
		s->tails -= !whole;
	}
	while (s->n_marks && (!whole || s->marks[s->n_marks - 1].below > s->n))
		s->n_marks--;
	s->returns += !whole;
}

/* A tail entry of the function on top is a loop to its own first instruction, as in trace/calls.h:
 * no call begins. */
static void take_tail(struct stack_effect *s, uint32_t word)
{
	const uint32_t fn = record_id(s->words[word]);

	if (s->n && record_id(s->words[told_word(s->open[s->n])]) == fn) {
		s->jumps->loops++;
		return;
	}
	if (!s->n)
		*vec_add(&s->jumps->open) = (struct effects_jump){ s->returns, fn };
	s->open[++s->n] = word | s->cpu | TOLD_TAIL;
	s->tails++;
}

/* A mark at a place where there was one replaces it. False: there are too many. */
static bool take_mark(struct stack_effect *s, uint64_t sp)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n_marks; i++)
		if (s->marks[i].sp != sp)
			s->marks[kept++] = s->marks[i];
	s->n_marks = kept;
	if (kept == EFFECTS_MARKS_MAX)
		return false;
	s->marks[s->n_marks++] = (struct start_mark){ sp, (uint32_t)s->n };
	return true;
}

/* False: the record may change the stack in other ways. A type that is new in record.h falls to the
 * default, and makes a packet's effect unknown: slower for readers, never wrong. */
static bool take_event(struct stack_effect *s, uint64_t word, const uint64_t *payload)
{
	switch (record_type(word)) {
	case RECORD_EVENT_CALL:
	case RECORD_EVENT_SPAN:
	case RECORD_EVENT_ENTRY_ONLY:
	case RECORD_EVENT_STACK:
	case RECORD_EVENT_ARGUMENTS:
		return true;
	case RECORD_EVENT_CPU:
		s->cpu = record_payload(word) ? (payload[0] & 0xffff) << 32 : s->cpu;
		return true;
	case RECORD_EVENT_MARK:
		return !record_payload(word) || take_mark(s, payload[0]);
	case RECORD_EVENT_AT:
		if (record_payload(word) > 1 && !s->n && !s->returns && !s->at)
			s->at = payload[0];
		return true;
	default:
		return record_type(word) - RECORD_EVENT_TRACE < RECORD_TRACES;
	}
}

/* Takes the records that are entries, and returns of calls that the packet opened, up to one that
 * is anything else, or needs care; returns where that is. Whether an entry or a return comes next
 * is not to be guessed: a processor that did would be wrong at every third. One store a record, and
 * no index that waits for a record: 1.6 ns, and 4 without these. */
static size_t take_plain(struct stack_effect *s, size_t i, size_t n)
{
	const unsigned careful = s->n_marks || s->tails;
	const uint64_t cpu = s->cpu;
	size_t open = s->n;

	while (i < n && open < EFFECTS_FRAMES_MAX) {
		const uint64_t word = s->words[i];
		const unsigned kind = record_kind(word), is_exit = kind >> 1;

		_Static_assert(RECORD_ENTRY == 1 && RECORD_EXIT == 2, "the range below");
		if ((kind - RECORD_ENTRY > 1) |
		    (is_exit & ((open == 0) | careful | (unsigned)(word >> VALUE_BIT))))
			break;
		s->open[open + 1] = i | cpu;
		open += 1 - 2 * (size_t)is_exit;
		i++;
	}
	s->n = open;
	return i;
}

/* False: the packet tells nothing. */
static bool follow(struct stack_effect *s, size_t n)
{
	for (size_t i = 0; (i = take_plain(s, i, n)) < n;) {
		const uint64_t word = s->words[i];

		if (s->n == EFFECTS_FRAMES_MAX)
			return false;
		if (record_kind(word) == RECORD_TAIL)
			take_tail(s, (uint32_t)i);
		else if (record_kind(word) == RECORD_EXIT)
			take_return(s);
		else if (record_kind(word) == RECORD_EVENT &&
			 !take_event(s, word, s->words + i + 1))
			return false;
		i += 1 + record_payload(word);
	}
	return true;
}

/* Writes the calls that are open. In a packet that lasts long their times have to be restored from
 * one record to the next. */
static void put_open(struct bytes *out, const struct stack_effect *s,
		     const struct packet_records *head)
{
	const uint64_t most = UINT64_C(1) << (RECORD_TSC_BITS - 2);
	const bool is_short = head->last_tsc - head->first_tsc < most;
	uint64_t tsc = head->first_tsc, before = tsc;
	size_t at = 0;

	bytes_uleb(out, s->n);
	for (size_t i = 0; i < s->n; i++) {
		const uint32_t word = told_word(s->open[i + 1]);

		for (; at < word && !is_short; at += 1 + record_payload(s->words[at]))
			tsc = record_tsc(s->words[at], tsc);
		tsc = record_tsc(s->words[word], tsc);
		bytes_uleb(out, (uint64_t)record_id(s->words[word]) << 1 |
					!!(s->open[i + 1] & TOLD_TAIL));
		bytes_uleb(out, bytes_zigzag((int64_t)(tsc - before)));
		bytes_uleb(out, s->open[i + 1] >> 32 & 0xffff);
		before = tsc;
	}
}

/* 0 stands for an effect that is not known; known numbers of returns are counted from 1. */
void effects_tell(struct bytes *out, struct effects_jumps *jumps, const uint64_t *words, size_t n,
		  const struct packet_records *head)
{
	struct stack_effect s;

	jumps->open.n = jumps->loops = 0;
	s.words = words;
	s.n = s.tails = s.n_marks = 0;
	s.returns = s.at = 0;
	s.jumps = jumps;
	s.cpu = (uint64_t)head->cpu << 32;
	jumps->known = follow(&s, n);
	if (!jumps->known) {
		bytes_uleb(out, 0);
		return;
	}
	bytes_uleb(out, s.returns + 1);
	bytes_uleb(out, s.at);
	put_open(out, &s, head);
	bytes_uleb(out, s.n_marks);
	for (size_t i = 0; i < s.n_marks; i++) {
		bytes_uleb(out, s.marks[i].sp);
		bytes_uleb(out, s.marks[i].below);
	}
}

/* Once no call is open, more returns change nothing. */
static void return_calls(struct loops *l, uint64_t n)
{
	while (n-- && (l->open.n || l->hidden))
		loops_return(l);
}

/* The bytes are this program's own. */
uint32_t effects_follow(const struct bytes *told, const struct effects_jumps *jumps,
			struct loops *l)
{
	struct cursor c = cursor_of(told->at, told->n);
	const uint64_t returns = cursor_uleb(&c) - 1;
	uint32_t loops = jumps->loops;
	uint64_t returned = 0, n;

	for (size_t i = 0; i < jumps->open.n; i++) {
		return_calls(l, jumps->open.at[i].returns - returned);
		returned = jumps->open.at[i].returns;
		loops += loops_on_top(l, jumps->open.at[i].fn);
	}
	return_calls(l, returns - returned);
	cursor_uleb(&c); /* where the stack begins */
	for (n = cursor_uleb(&c); n && !c.bad; n--) {
		const uint64_t fn = cursor_uleb(&c);

		cursor_uleb(&c); /* its time, its CPU */
		cursor_uleb(&c);
		loops_enter(l, (uint32_t)(fn >> 1), fn & 1);
	}
	return loops;
}

/* Compresses what is collected into a packet. `first` is the number of the first packet of records
 * that it tells of: readers count the others from there, and one that is left out would shift all
 * later ones. So a failure drops everything. */
static void put_packet(struct effects_writer *w)
{
	struct effects_packet p = { .head = { .type = PACKET_EFFECTS } };
	struct bytes raw = { 0 };
	size_t n;

	bytes_uleb(&raw, w->first);
	bytes_uleb(&raw, w->n);
	bytes_put(&raw, w->raw.at, w->raw.n);
	vec_reserve(&p.payload, ZSTD_compressBound(raw.n));
	n = ZSTD_compress(p.payload.at, p.payload.cap, raw.at, raw.n, LEVEL);
	p.head.raw = (uint32_t)raw.n;
	vec_free(&raw);
	w->first += w->n;
	w->n = w->raw.n = 0;
	if (ZSTD_isError(n)) {
		vec_free(&p.payload);
		effects_drop(w);
		return;
	}
	p.payload.n = n;
	p.head.payload = (uint32_t)n;
	p.head.crc = crc32c(p.payload.at, n);
	*vec_add(&w->packets) = p;
}

void effects_add(struct effects_writer *w, const struct bytes *told)
{
	if (w->dropped)
		return;
	bytes_put(&w->raw, told->at, told->n);
	w->n++;
	if (w->raw.n >= ENOUGH)
		put_packet(w);
}

void effects_end(struct effects_writer *w)
{
	if (!w->dropped && w->n)
		put_packet(w);
}

void effects_drop(struct effects_writer *w)
{
	effects_free(w);
	w->dropped = true;
}

void effects_free(struct effects_writer *w)
{
	for (size_t i = 0; i < w->packets.n; i++)
		vec_free(&w->packets.at[i].payload);
	vec_free(&w->packets);
	vec_free(&w->raw);
	*w = (struct effects_writer){ 0 };
}
