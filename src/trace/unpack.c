/* SPDX-License-Identifier: MIT */
#include "trace/unpack.h"

#include "base/mem.h"
#include "shared/record.h"

static void function_and_site(struct event *e, uint64_t word)
{
	e->fn = (uint32_t)word;
	e->site = (uint32_t)(word >> 32);
}

static void value(struct event *e, uint64_t rax)
{
	e->flags = EVENT_VALUE;
	e->value = rax;
}

static bool call(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_CALL;
	function_and_site(e, payload[0]);
	return true;
}

static bool span(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_SPAN;
	function_and_site(e, payload[0]);
	e->count = e->fn >> RECORD_ID_BITS;
	e->fn &= RECORD_ID_MAX;
	e->begin = payload[1];
	if (record_payload(payload[-1]) > 2)
		value(e, payload[2]);
	return true;
}

static bool cpu(struct unpack *u, const uint64_t *payload, struct event *e)
{
	u->cpu = (uint16_t)payload[0];
	return false;
}

static bool unwind(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_UNWIND;
	e->count = payload[0];
	return true;
}

static bool entry_only(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_ENTRY_ONLY;
	function_and_site(e, payload[0]);
	return true;
}

static bool handler(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_ENTRY;
	e->flags = EVENT_HANDLER;
	e->fn = (uint32_t)payload[0] & RECORD_ID_MAX;
	return true;
}

static bool lost(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_LOST;
	e->count = payload[0];
	return true;
}

static bool leaves(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_SWITCH;
	e->flags = payload[0] & RECORD_SWITCH_FLAGS;
	e->count = payload[0] & ~(uint64_t)RECORD_SWITCH_FLAGS;
	e->begin = payload[1];
	return true;
}

static bool mark(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_MARK;
	e->count = payload[0];
	return true;
}

static bool at(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_AT;
	e->count = payload[0];
	e->site = (uint32_t)payload[1];
	return true;
}

static bool slept(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_SLEPT;
	e->begin = payload[0];
	e->count = payload[1];
	return true;
}

static bool stack(struct unpack *u, const uint64_t *payload, struct event *e)
{
	if (!u->stack)
		return false;
	if (!*u->stack)
		*u->stack = mem_zalloc(sizeof(**u->stack));
	stack_copy_add(*u->stack, payload, record_payload(payload[-1]));
	return false;
}

static bool trace(struct unpack *u, uint64_t word, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_TRACE;
	e->fn = record_type(word) - RECORD_EVENT_TRACE;
	e->payload = payload;
	e->count = 8 * record_payload(word);
	return true;
}

struct event_type {
	uint32_t type;
	unsigned words; /* of payload, at least */
	bool (*unpack)(struct unpack *u, const uint64_t *payload, struct event *e);
};

static const struct event_type types[] = {
	{ RECORD_EVENT_CALL, 1, call },
	{ RECORD_EVENT_SPAN, 2, span },
	{ RECORD_EVENT_CPU, 1, cpu },
	{ RECORD_EVENT_UNWIND, 1, unwind },
	{ RECORD_EVENT_ENTRY_ONLY, 1, entry_only },
	{ RECORD_EVENT_SWITCH, 2, leaves },
	{ RECORD_EVENT_MARK, 1, mark },
	{ RECORD_EVENT_AT, 2, at },
	{ RECORD_EVENT_SLEPT, 2, slept },
	{ RECORD_EVENT_STACK, 1, stack },
	{ RECORD_EVENT_HANDLER, 1, handler },
	{ RECORD_STORE_LOST, 1, lost },
};

static bool unpack_event(struct unpack *u, uint64_t word, const uint64_t *payload, struct event *e)
{
	uint32_t type = record_type(word);

	if (type - RECORD_EVENT_TRACE < RECORD_TRACES)
		return trace(u, word, payload, e);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == type)
			return record_payload(word) >= types[i].words &&
			       types[i].unpack(u, payload, e);
	return false;
}

static bool next_event(struct unpack *u, struct event *e)
{
	static const uint8_t kinds[] = {
		[RECORD_ENTRY] = EVENT_ENTRY, [RECORD_EXIT] = EVENT_EXIT, [RECORD_TAIL] = EVENT_TAIL,
	};

	while (u->at < u->end) {
		uint64_t word = *u->at;
		enum record_kind kind = record_kind(word);
		const uint64_t *payload = u->at + 1;

		u->tsc = record_tsc(word, u->tsc);
		u->record = u->at;
		u->at += 1 + record_payload(word);
		*e = (struct event){ .tsc = u->tsc, .thread = u->thread, .cpu = u->cpu };
		if (kind == RECORD_EVENT) {
			if (unpack_event(u, word, payload, e))
				return true;
			continue;
		}
		e->kind = kinds[kind];
		if (kind == RECORD_EXIT)
			e->site = record_site(word);
		else
			e->fn = record_id(word);
		if (u->at - payload)
			value(e, *payload);
		return true;
	}
	return false;
}

bool unpack_next(struct unpack *u, struct event *e)
{
	if (!next_event(u, e))
		return false;
	if (u->stack && *u->stack)
		stack_copy_tell(*u->stack, e);
	return true;
}
