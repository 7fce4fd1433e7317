/* SPDX-License-Identifier: MIT */
/* The stack of functions behind loops.h. It follows records as calls.c does where that does not
 * need times or call sites. The writer of a trace file calls it for packets that do not tell of
 * their jumps, on the thread that writes them; a session without a file calls it on the thread
 * that drains. Nothing fails. */
#include "trace/loops.h"

#include "shared/record.h"
#include "trace/calls.h"

static uint32_t function_of(uint32_t open)
{
	return open & ~LOOPS_TAIL;
}

void loops_free(struct loops *l)
{
	vec_free(&l->open);
	vec_free(&l->dead);
}

void loops_forget(struct loops *l)
{
	l->open.n = 0;
	l->hidden = 0;
	l->dead.n = 0;
	l->unwinding = l->away = false;
}

/* Ends the call on top. */
static uint32_t pop(struct loops *l)
{
	const uint32_t top = l->open.at[--l->open.n];

	dead_runs_end(&l->dead, l->open.n);
	return top;
}

void loops_return(struct loops *l)
{
	if (l->hidden) {
		l->hidden--;
		return;
	}
	while (l->open.n && pop(l) & LOOPS_TAIL)
		;
}

bool loops_on_top(const struct loops *l, uint32_t fn)
{
	return !l->hidden && l->open.n && function_of(l->open.at[l->open.n - 1]) == fn;
}

bool loops_enter(struct loops *l, uint32_t fn, bool tail)
{
	const size_t n = l->open.n;

	if (tail && loops_on_top(l, fn))
		return false;
	if (l->hidden || n >= CALLS_DEPTH_MAX)
		l->hidden += !tail;
	else
		*vec_add(&l->open) = fn | (tail && n ? LOOPS_TAIL : 0);
	return true;
}

/* Ends calls that an unwinder has left, as soon as nothing is above them. */
static void drop_dead(struct loops *l)
{
	while (dead_runs_on_top(&l->dead, l->open.n))
		pop(l);
}

/* Marks the topmost call below `from` that an unwinder may still leave, with all that share its
 * exit. Returns the index of the first of them; 0: nothing is left below. */
static size_t mark_dead(struct loops *l, size_t from)
{
	size_t k = l->dead.n, high = dead_runs_pass(&l->dead, &k, from), low = high, floor;

	if (!high)
		return 0;
	floor = k ? l->dead.at[k - 1].high : 0;
	do
		low--;
	while (low > floor && l->open.at[low] & LOOPS_TAIL);
	dead_runs_add(&l->dead, low, high);
	return low;
}

/* The number is the program's to choose. */
static void unwind(struct loops *l, uint64_t n)
{
	const uint64_t hidden = n < l->hidden ? n : l->hidden;
	size_t from = l->unwinding && l->unwinder < l->open.n ? l->unwinder : l->open.n;

	l->hidden -= hidden;
	for (n -= hidden; n && from; n--)
		from = mark_dead(l, from);
	drop_dead(l);
}

/* The first record since the thread may have left its stack: an unwinder's own calls have ended;
 * after any other switch the calls that are open here are not known. */
static void arrive(struct loops *l)
{
	if (l->away) {
		loops_forget(l);
		return;
	}
	while (l->unwinding && l->open.n > l->unwinder)
		pop(l);
	l->unwinding = false;
	drop_dead(l);
}

static void take_event(struct loops *l, uint64_t word, const uint64_t *payload)
{
	switch (record_payload(word) ? record_type(word) : RECORD_EVENT_NONE) {
	case RECORD_EVENT_HANDLER:
		loops_enter(l, (uint32_t)payload[0] & RECORD_ID_MAX, false);
		break;
	case RECORD_EVENT_EXIT:
		loops_return(l);
		break;
	case RECORD_EVENT_UNWIND:
		unwind(l, payload[0]);
		break;
	case RECORD_EVENT_SWITCH:
		l->away |= !l->unwinding && !(payload[0] & RECORD_SWITCH_UNWINDS);
		l->unwinder = l->unwinding ? l->unwinder : l->open.n;
		l->unwinding |= !l->away;
		break;
	case RECORD_EVENT_AT:
		arrive(l);
		break;
	default:
		break;
	}
}

uint64_t loops_follow(struct loops *l, const uint64_t *words, size_t n)
{
	uint64_t loops = 0;
	size_t len;

	for (size_t i = 0; i < n && (len = 1 + record_payload(words[i])) <= n - i; i += len) {
		const enum record_kind kind = record_kind(words[i]);

		if (kind == RECORD_EVENT) {
			take_event(l, words[i], words + i + 1);
			continue;
		}
		drop_dead(l);
		if (kind == RECORD_EXIT)
			loops_return(l);
		else
			loops += !loops_enter(l, record_id(words[i]), kind == RECORD_TAIL);
	}
	return loops;
}
