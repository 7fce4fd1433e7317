/* SPDX-License-Identifier: MIT */
/* Writes what packets do to stacks. Workers of the pipeline tell, each of its own packet; whoever
 * writes packets adds. It must follow trace/calls.c where that follows entries and returns: a tail
 * call ends with the call that jumped, and a jump of a function to itself is no call. */
#include "store/effects.h"

#include <zstd.h>

#include "shared/record.h"
#include "store/crc.h"

#define LEVEL 3
#define ENOUGH (1u << 20) /* bytes that make a packet */

/* A packet's effect so far. */
struct stack_effect {
	struct start_frame open[EFFECTS_FRAMES_MAX];
	size_t n;
	struct start_mark marks[EFFECTS_MARKS_MAX];
	size_t n_marks;
	uint64_t returns; /* of calls that were open before the packet, each with its tail calls */
	uint64_t at;
	uint64_t tsc;
	uint16_t cpu;
};

/* False: there are too many. */
static bool take_entry(struct stack_effect *s, uint32_t fn, bool tail)
{
	if (tail && s->n && s->open[s->n - 1].fn == fn)
		return true;
	if (s->n == EFFECTS_FRAMES_MAX)
		return false;
	s->open[s->n++] = (struct start_frame){ s->tsc, fn, s->cpu, tail };
	return true;
}

/* Marks are over when the calls that were open then have ended. */
static void take_return(struct stack_effect *s)
{
	bool whole = false;

	while (s->n && !whole)
		whole = !s->open[--s->n].tail;
	while (s->n_marks && (!whole || s->marks[s->n_marks - 1].below > s->n))
		s->n_marks--;
	s->returns += !whole;
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

/* False: the record may change the stack in other ways. */
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
		s->cpu = record_payload(word) ? (uint16_t)payload[0] : s->cpu;
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

/* False: the packet tells nothing. */
static bool follow(struct stack_effect *s, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i += 1 + record_payload(words[i])) {
		const uint64_t word = words[i];
		bool fine = true;

		s->tsc = record_tsc(word, s->tsc);
		switch (record_kind(word)) {
		case RECORD_ENTRY:
		case RECORD_TAIL:
			fine = take_entry(s, record_id(word), record_kind(word) == RECORD_TAIL);
			break;
		case RECORD_EXIT:
			take_return(s);
			break;
		case RECORD_EVENT:
			fine = take_event(s, word, words + i + 1);
			break;
		}
		if (!fine)
			return false;
	}
	return true;
}

void effects_tell(struct bytes *out, const uint64_t *words, size_t n,
		 const struct packet_records *head)
{
	struct stack_effect s;
	uint64_t tsc = head->first_tsc;

	s.n = s.n_marks = 0;
	s.returns = s.at = 0;
	s.tsc = head->first_tsc;
	s.cpu = head->cpu;
	if (!follow(&s, words, n)) {
		bytes_uleb(out, 0);
		return;
	}
	bytes_uleb(out, s.returns + 1);
	bytes_uleb(out, s.at);
	bytes_uleb(out, s.n);
	for (size_t i = 0; i < s.n; i++) {
		bytes_uleb(out, (uint64_t)s.open[i].fn << 1 | s.open[i].tail);
		bytes_uleb(out, bytes_zigzag((int64_t)(s.open[i].tsc - tsc)));
		bytes_uleb(out, s.open[i].cpu);
		tsc = s.open[i].tsc;
	}
	bytes_uleb(out, s.n_marks);
	for (size_t i = 0; i < s.n_marks; i++) {
		bytes_uleb(out, s.marks[i].sp);
		bytes_uleb(out, s.marks[i].below);
	}
}

/* Compresses what is collected into a packet. */
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
