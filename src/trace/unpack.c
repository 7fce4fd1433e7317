/* SPDX-License-Identifier: MIT */
/* The decoder that every reader of records shares: files, live buffers, the profile. The words may
 * be a hostile program's: the caller guarantees that the last record ends within [at, end), and a
 * payload shorter than its type needs makes the record unknown. Nothing is allocated but stack
 * copies. Any thread: a decoder belongs to one. */
#include "trace/unpack.h"

#include "base/mem.h"
#include "shared/locks.h"
#include "shared/record.h"

/* The payload word of records about one call: the function's id below, the site above. */
static void function_and_site(struct event *e, uint64_t word)
{
	e->fn = (uint32_t)word;
	e->site = (uint32_t)(word >> 32);
}

/* The register as it was at the return. Whether the function has a value at all is not known
 * here. */
static void unpack_value(struct event *e, uint64_t result)
{
	e->flags |= EVENT_VALUE;
	e->value = result;
}

/* The record may be hostile: there is no more text than its payload has. */
static bool unpack_exit(struct unpack *u, const uint64_t *payload, struct event *e)
{
	uint64_t text = payload[0] >> 32, room = 8 * (uint64_t)(record_payload(payload[-1]) - 2);

	(void)u;
	e->kind = EVENT_EXIT;
	e->site = (uint32_t)payload[0] & (RECORD_EXIT_FLOAT - 1);
	unpack_value(e, payload[1]);
	if (text > room + 1)
		return true;
	e->flags |= EVENT_TEXT;
	e->flags |= payload[0] & RECORD_EXIT_REGISTERS ? EVENT_REGISTERS : 0;
	e->flags |= payload[0] & RECORD_EXIT_MEMORY ? EVENT_MEMORY : 0;
	e->payload = payload + 2;
	e->count = text;
	return true;
}

/* A function for each row of `types`: it fills in *e from a payload of at least the row's words,
 * and returns whether it is an event. payload[-1] is the record's header. */
static bool unpack_call(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_CALL;
	function_and_site(e, payload[0]);
	return true;
}

/* count is the depth, in the bits above the id. */
static bool unpack_span(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_SPAN;
	function_and_site(e, payload[0]);
	e->count = e->fn >> RECORD_ID_BITS;
	e->fn &= RECORD_ID_MAX;
	e->begin = payload[1];
	e->flags = e->site & RECORD_EXIT_FLOAT ? EVENT_FLOAT : 0;
	e->site &= ~RECORD_EXIT_FLOAT;
	if (record_payload(payload[-1]) > 2)
		unpack_value(e, payload[2]);
	return true;
}

/* No event, but the CPU of those that follow. */
static bool unpack_cpu(struct unpack *u, const uint64_t *payload, struct event *e)
{
	u->cpu = (uint16_t)payload[0];
	return false;
}

/* count is the number of calls that were left. */
static bool unpack_unwind(struct unpack *u, const uint64_t *payload, struct event *e)
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

/* An entry like any other, but for the mark: the kernel called the function. */
static bool unpack_handler(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_ENTRY;
	e->flags = EVENT_HANDLER;
	e->fn = (uint32_t)payload[0] & RECORD_ID_MAX;
	return true;
}

/* The depth is in the bits above the id, as in a span. */
static void kernel_function(struct event *e, enum event_kind kind, uint64_t word)
{
	e->kind = (uint8_t)kind;
	e->flags = EVENT_KERNEL;
	e->fn = (uint32_t)word & RECORD_ID_MAX;
	e->count = (uint32_t)word >> RECORD_ID_BITS;
}

static bool unpack_kernel_entry(struct unpack *u, const uint64_t *payload, struct event *e)
{
	kernel_function(e, EVENT_ENTRY, payload[0]);
	return true;
}

/* value is the time that the kernel measured, which its own text shows. */
static bool unpack_kernel_exit(struct unpack *u, const uint64_t *payload, struct event *e)
{
	kernel_function(e, EVENT_EXIT, payload[0]);
	e->value = payload[1];
	return true;
}

/* value is the address that the function returns to: the kernel has no numbered call sites. */
static bool unpack_kernel_call(struct unpack *u, const uint64_t *payload, struct event *e)
{
	kernel_function(e, EVENT_CALL, payload[0] & RECORD_ID_MAX);
	e->value = payload[1];
	return true;
}

/* Written by the store, not by programs: so many records are missing before the next one. */
static bool unpack_lost(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_LOST;
	e->count = payload[0];
	return true;
}

/* count is the stack pointer of the call that may leave the stack. Stack pointers are aligned: the
 * flags are in the bits that are 0 by that. */
static bool unpack_leaves(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_SWITCH;
	e->flags = payload[0] & RECORD_SWITCH_FLAGS;
	e->count = payload[0] & ~(uint64_t)RECORD_SWITCH_FLAGS;
	e->begin = payload[1];
	return true;
}

/* count is the stack pointer by which a second return of the call is recognised (tracks.c). */
static bool unpack_mark(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_MARK;
	e->count = payload[0];
	return true;
}

/* Tells where the thread's next event happens: count is the stack pointer, `site` the call's site,
 * 0 if it is not known. */
static bool unpack_at(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_AT;
	e->count = payload[0];
	e->site = (uint32_t)payload[1];
	e->flags = payload[1] & RECORD_AT_OUTERMOST ? EVENT_AT_OUTERMOST : 0;
	return true;
}

/* begin is a time, count a length, both in ticks. */
static bool unpack_slept(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_SLEPT;
	e->begin = payload[0];
	e->count = payload[1];
	return true;
}

/* A stack's words come before the record that they belong to: keeps them, and gives no event. */
static bool unpack_stack(struct unpack *u, const uint64_t *payload, struct event *e)
{
	if (!u->stack)
		return false;
	if (!*u->stack)
		*u->stack = mem_zalloc(sizeof(**u->stack));
	stack_copy_add(*u->stack, payload, record_payload(payload[-1]));
	return false;
}

/* Arguments come before the call that they are of: keeps them, and gives no event. */
static bool unpack_arguments(struct unpack *u, const uint64_t *payload, struct event *e)
{
	if (!u->arguments)
		return false;
	if (!*u->arguments)
		*u->arguments = mem_zalloc(sizeof(**u->arguments));
	call_arguments_add(*u->arguments, payload, record_payload(payload[-1]));
	return false;
}

/* fn is the event's index in the catalogue. The payload is not copied: it is valid as long as the
 * words are. */
static bool unpack_trace(struct unpack *u, uint64_t word, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_TRACE;
	e->fn = record_type(word) - RECORD_EVENT_TRACE;
	e->payload = payload;
	e->count = 8 * record_payload(word);
	return true;
}

/* fn is no event's index: those who know rows of locks ask for it. */
static bool unpack_lock(struct unpack *u, const uint64_t *payload, struct event *e)
{
	e->kind = EVENT_TRACE;
	e->fn = EVENT_LOCK_ROW;
	e->payload = payload;
	e->count = 8 * record_payload(payload[-1]);
	return true;
}

/* Types of records, and how many payload words each needs at least. */
struct event_type {
	uint32_t type;
	unsigned words; /* of payload, at least */
	bool (*unpack)(struct unpack *u, const uint64_t *payload, struct event *e);
};

static const struct event_type types[] = {
	{ RECORD_EVENT_CALL, 1, unpack_call },
	{ RECORD_EVENT_SPAN, 2, unpack_span },
	{ RECORD_EVENT_CPU, 1, unpack_cpu },
	{ RECORD_EVENT_UNWIND, 1, unpack_unwind },
	{ RECORD_EVENT_ENTRY_ONLY, 1, entry_only },
	{ RECORD_EVENT_SWITCH, 2, unpack_leaves },
	{ RECORD_EVENT_MARK, 1, unpack_mark },
	{ RECORD_EVENT_AT, 2, unpack_at },
	{ RECORD_EVENT_SLEPT, 2, unpack_slept },
	{ RECORD_EVENT_STACK, 1, unpack_stack },
	{ RECORD_EVENT_HANDLER, 1, unpack_handler },
	{ RECORD_EVENT_KERNEL_ENTRY, 1, unpack_kernel_entry },
	{ RECORD_EVENT_KERNEL_EXIT, 2, unpack_kernel_exit },
	{ RECORD_EVENT_KERNEL_CALL, 2, unpack_kernel_call },
	{ RECORD_EVENT_ARGUMENTS, 1, unpack_arguments },
	{ RECORD_EVENT_EXIT, 2, unpack_exit },
	{ RECORD_EVENT_LOCK, LOCK_ROW_HELD_AT, unpack_lock },
	{ RECORD_STORE_LOST, 1, unpack_lost },
};

/* False: the record gives no event of its own, or is shorter than its type. */
static bool unpack_event(struct unpack *u, uint64_t word, const uint64_t *payload, struct event *e)
{
	uint32_t type = record_type(word);

	if (type - RECORD_EVENT_TRACE < RECORD_TRACES)
		return unpack_trace(u, word, payload, e);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == type)
			return record_payload(word) >= types[i].words &&
			       types[i].unpack(u, payload, e);
	return false;
}

/* Unpacks records until one gives an event. False: there are no more. */
static bool next_event(struct unpack *u, struct event *e)
{
	static const uint8_t kinds[RECORD_KINDS] = {
		[RECORD_ENTRY] = EVENT_ENTRY,
		[RECORD_EXIT] = EVENT_EXIT,
		[RECORD_TAIL] = EVENT_TAIL,
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
		/* Only an exit has a payload here: the returned value. */
		if (u->at - payload) {
			e->flags = record_id(word) & RECORD_EXIT_FLOAT ? EVENT_FLOAT : 0;
			unpack_value(e, *payload);
		}
		return true;
	}
	return false;
}

/* A stack that came before the event is told with it, and so are arguments. */
bool unpack_next(struct unpack *u, struct event *e)
{
	if (!next_event(u, e))
		return false;
	if (u->stack && *u->stack)
		stack_copy_tell(*u->stack, e);
	if (u->arguments && *u->arguments)
		call_arguments_tell(*u->arguments, e);
	return true;
}
