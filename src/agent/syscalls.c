/* SPDX-License-Identifier: MIT */
/* Records of system calls. The probes before and after a call come here (probe.c, syscall.S), on
 * the calling thread. They share nothing but the stack pointer, which no other thread has while the
 * call lasts; a table keeps the call's number by it, where the second probe cannot know it. The
 * table is shared by all threads without a lock: an entry that another thread overwrote costs the
 * record of one return, never more. */
#include <asm/unistd.h>
#include <linux/prctl.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/syscalls.h"
#include "agent/event.h"
#include "agent/needs.h"
#include "agent/scope.h"
#include "agent/tasks.h"
#include "arch/old_calls.h"
#include "shared/call_copies.h"
#include "shared/calls.h"
#include "arch/probe_regs.h"
#include "shared/filter.h"

/* Slots beyond the last hash value keep the WAYS neighbours inside of the array. */
#define SLOTS 4096u
#define WAYS 8u
#define KEPT_BITS 16         /* bits of a slot for the call's number */
#define MIX UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio: multiplicative hashing */


/* An entry is stack pointer << KEPT_BITS | number, which fits as user addresses have 47 bits; 0:
 * free. */
static uint64_t kept[SLOTS + WAYS];

static uint64_t *slots_of(uint64_t sp)
{
	return &kept[sp * MIX >> 52];
}

static void keep_entry(uint64_t sp, uint32_t number)
{
	uint64_t *slots = slots_of(sp), *to = NULL;

	if (number >= CALL_NUMBERS)
		return;
	for (unsigned i = 0; i < WAYS; i++) {
		uint64_t s = __atomic_load_n(&slots[i], __ATOMIC_RELAXED);

		if (s >> KEPT_BITS == sp) { /* a call that did not return */
			to = &slots[i];
			break;
		}
		if (!s && !to)
			to = &slots[i];
	}
	/* All taken: a random one goes, so that entries of calls that never return do not stay for
	 * ever. */
	if (!to)
		to = &slots[agent_tsc() / 64 % WAYS];
	__atomic_store_n(to, sp << KEPT_BITS | number, __ATOMIC_RELAXED);
}

/* Returns the kept number; CALL_UNKNOWN: there is none. */
static uint32_t take_entry(uint64_t sp)
{
	uint64_t *slots = slots_of(sp);

	for (unsigned i = 0; i < WAYS; i++) {
		uint64_t s = __atomic_load_n(&slots[i], __ATOMIC_RELAXED);

		if (s >> KEPT_BITS != sp)
			continue;
		__atomic_store_n(&slots[i], 0, __ATOMIC_RELAXED);
		return s & ((1u << KEPT_BITS) - 1);
	}
	return CALL_UNKNOWN;
}

/* A child returns from these, too, on a stack and with thread-local memory that may be its
 * parent's. */
static bool is_child(uint32_t number, uint64_t result)
{
	return result == 0 && old_calls_makes_task(number);
}

struct call_at { const struct call_info *about; const struct probe_regs *regs; uint64_t ip; };

/* Writes one event of the call, if it is wanted and passes. words[0] is left for the header. */
static void write_event(const struct call_at *at, const struct call_event *e, uint64_t *words,
			unsigned n)
{
	const struct call_info *c = at->about;
	const struct filter_program *f =
		(const struct filter_program *)((const uint8_t *)c + e->filter);

	if (e->event == CALL_NO_EVENT || !scope_is_open(e->scopes, at->regs->at[PROBE_SP]) ||
	    (e->filter && !event_passes(f, f->bytes, e->event, words, 8 * n)))
		return;
	if (e->stacked)
		probe_stack(at->regs, at->ip, e->event);
	words[0] = record_word(agent_tsc(), record_event_id(n - 1, RECORD_EVENT_TRACE + e->event),
			       RECORD_EVENT);
	buffer_write_words(agent_tls_block(), words, n, 0);
}

static const struct call_event *names_call(const struct call_info *c, uint32_t number)
{
	static const struct call_event none = { .event = CALL_NO_EVENT };
	uint32_t i = c->number == CALL_UNKNOWN ? number : 0;

	return i < c->n ? &c->named[i] : &none;
}

static const struct task_block *write_task_events(const struct call_info *c)
{
	return (const struct task_block *)((const uint8_t *)c + c->tasks);
}

/* Out of line, as write_return() is: their records take half of the stack that there is. */
__attribute__((noinline)) static void write_entry(const struct call_at *at, uint32_t number)
{
	const uint64_t *regs = at->regs->at;
	const struct call_info *c = at->about;
	const uint64_t arguments[CALL_ARGUMENTS] = { c->ahead ? 0 : regs[PROBE_ARG0],
						     regs[PROBE_ARG1],
						     regs[PROBE_ARG2],
						     regs[PROBE_ARG3],
						     regs[PROBE_ARG4],
						     regs[PROBE_ARG5] };
	const struct call_values values = { arguments, 0, probe_read_anywhere };
	uint64_t words[CALL_RECORD_WORDS];
	const struct call_event *e = names_call(c, number);
	unsigned n = 2 + (e->arguments < CALL_ARGUMENTS ? e->arguments : CALL_ARGUMENTS);

	words[1] = number;
	for (unsigned i = 0; i < CALL_ARGUMENTS; i++)
		words[2 + i] = arguments[i];
	write_event(at, &c->raw, words, 2 + CALL_ARGUMENTS);
	if (e->event != CALL_NO_EVENT)
		write_event(at, e, words, call_copies_add(e, words, n, &values));
}

/* Programs that libc_calls.c does not lead, and calls without libc, would die of the next copy. */
static void see_filter(const uint64_t *regs, uint32_t number)
{
	if (number == __NR_seccomp)
		seccomp_seen(regs[PROBE_ARG0] + 1, regs[PROBE_ARG2]);
	else if (number == __NR_prctl && (uint32_t)regs[PROBE_ARG0] == PR_SET_SECCOMP)
		seccomp_seen(regs[PROBE_ARG1], regs[PROBE_ARG2]);
}

static void begin_call(const struct call_at *at)
{
	const uint64_t *regs = at->regs->at;
	const struct call_info *c = at->about;
	uint32_t number = c->number == CALL_UNKNOWN ? (uint32_t)regs[PROBE_NUMBER] : c->number;

	if (c->kept)
		keep_entry(regs[PROBE_SP], number);
	write_entry(at, number);
	see_filter(regs, number);
	if (c->tasks)
		task_before(&(struct task_at){ write_task_events(c), at->regs, at->ip }, number);
}

__attribute__((noinline)) static void write_return(const struct call_at *at, uint32_t number)
{
	const uint64_t *regs = at->regs->at;
	const struct call_info *c = at->about;
	/* Linux preserves the registers that arguments are in. */
	const uint64_t arguments[CALL_ARGUMENTS] = { regs[PROBE_ARG0], regs[PROBE_ARG1],
						     regs[PROBE_ARG2], regs[PROBE_ARG3],
						     regs[PROBE_ARG4], regs[PROBE_ARG5] };
	const struct call_values values = { arguments, regs[PROBE_RESULT], probe_read_anywhere };
	const struct call_event *e = names_call(c, number);
	uint64_t words[CALL_RECORD_WORDS];

	words[1] = number;
	words[2] = values.result;
	write_event(at, &c->raw, words, 3);
	if (e->event != CALL_NO_EVENT)
		write_event(at, e, words, call_copies_add(e, words, 3, &values));
}

static void end_call(const struct call_at *at)
{
	const uint64_t *regs = at->regs->at;
	const struct call_info *c = at->about;
	uint32_t number = c->number;

	if (c->kept)
		number = take_entry(regs[PROBE_SP]);
	if (c->tasks)
		task_behind(&(struct task_at){ write_task_events(c), at->regs, at->ip }, number);
	if (number != CALL_UNKNOWN && !is_child(number, regs[PROBE_RESULT]))
		write_return(at, number);
}

void syscall_hit(const struct probe_regs *regs, const struct probe_site *site)
{
	const struct call_at at = { (const struct call_info *)&site->program, regs, site->ip };

	if (at.about->behind)
		end_call(&at);
	else
		begin_call(&at);
}

/* Fills in one of the two records of a quick call; returns its words. `empty`: with copies of
 * nothing. */
static unsigned fill_record(uint64_t *words, const uint64_t *regs, const struct call_quick *q,
			    uint64_t header, unsigned arguments, bool empty)
{
	const uint64_t of[] = { regs[PROBE_ARG0], regs[PROBE_ARG1], regs[PROBE_ARG2],
				regs[PROBE_ARG3], regs[PROBE_ARG4], regs[PROBE_ARG5] };

	if (!header)
		return 0;
	words[0] = header | record_word(agent_tsc(), 0, RECORD_EVENT);
	words[1] = q->number;
	words[2] = regs[PROBE_RESULT];
	for (unsigned i = 0; !q->behind && i < arguments; i++)
		words[2 + i] = of[i];
	arguments = q->behind ? 1 : arguments;
	if (empty)
		words[2 + arguments] = CALL_NOTHING_COPIED * UINT64_C(0x100000001);
	return 2 + arguments + empty;
}

void agent_syscall_full(const struct probe_regs *regs, const struct probe_site *site, uint64_t at)
{
	const struct call_quick *q = &((const struct call_info *)&site->program)->quick;
	uint64_t words[2 * (2 + CALL_ARGUMENTS) + 1];
	unsigned n = fill_record(words, regs->at, q, q->raw, CALL_ARGUMENTS, false);

	n += fill_record(words + n, regs->at, q, q->named,
			 q->arguments < CALL_ARGUMENTS ? q->arguments : CALL_ARGUMENTS, q->empty);
	buffer_place_words(words, n, at);
}
