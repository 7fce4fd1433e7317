/* SPDX-License-Identifier: MIT */
/* State mode: what needs to know how deep a thread is or how long a call took. Live calls (live.h) are known by where their
 * return addresses stand: one below the current stack pointer is dead (longjmp, exception). A mistake here can misnest a
 * report; it cannot misdirect a return, which only the stub knows. */

#include "agent/lend.h"
#include "agent/live.h"
#include "shared/signal_frame.h"

/* agent_tls.known: the thread may have left its stack; and the next record is to say where it is made */
#define KNOWN_LEFT 2u
#define KNOWN_TELL 4u
#define UNRECORDED UINT64_MAX /* as a function: a call that left its stack, and must be seen to come back */

/* Is this call one to record, now that the dead are gone? */
static bool wanted(struct live l, uint32_t id_word)
{
	const struct memory_settings *m = &agent.settings;

	if (m->graph_functions && !l.calls && !(id_word & STATE_GRAPH_FUNCTION))
		return false;
	return !m->max_depth || l.top->depth < m->max_depth;
}

/* A tail call shares its caller's place on the stack, and its exit. */
static void record_tail(struct agent_tls *t, uint32_t id)
{
	const struct memory_settings *m = &agent.settings;

	if (m->thresh_ticks || (m->max_depth && live_look(t).top->depth >= m->max_depth))
		return;
	live_deepen(t);
	buffer_write(t, record_word(read_tsc(), id, RECORD_TAIL));
}

/* The function tracer's record, where no trampoline writes it (AGENT_FAR). */
static void record_call(uint64_t ret, uint64_t function)
{
	uint64_t site = (agent_site(ret) - (uint64_t)agent.arena) / SITE_STUB_BYTES;

	agent_record2(record_word(read_tsc(), record_event_id(1, RECORD_EVENT_CALL), RECORD_EVENT), function | site << 32, 0);
}

static bool must_tell(const struct agent_tls *t)
{
	return !(t->known & TLS_THREAD) || t->known & (KNOWN_LEFT | KNOWN_TELL);
}

/* The thread begins, or has left a stack, and this is its first record since: it says where it was made. */
static void tell_where(struct agent_tls *t, uint64_t sp, uint64_t ret)
{
	const uint64_t words[3] = {
		record_word(read_tsc(), record_event_id(2, RECORD_EVENT_AT), RECORD_EVENT), sp,
		ret && !in_arena(ret) ? (agent_site(ret) - (uint64_t)agent.arena) / SITE_STUB_BYTES : 0,
	};

	t->known &= ~(KNOWN_LEFT | KNOWN_TELL);
	if (!agent.settings.thresh_ticks)
		buffer_write_words(t, words, 3, 0);
}

/* A return to where a stack was left: its calls are live again. */
static void come_back(struct agent_tls *t, uint64_t sp)
{
	uint64_t signals = signals_block();

	if (signals == SIGNALS_UNTOUCHED)
		return;
	unpark(t, sp);
	t->known = (t->known & ~KNOWN_LEFT) | KNOWN_TELL;
	signals_restore(signals);
}

/* The kernel's frame: its third argument and its second, which the trampoline and CALL_C left below the return address. */
static bool is_handler(uint64_t sp, uint64_t ret)
{
	const uint64_t *slot = (const uint64_t *)sp;

	return slot[-2] == sp + 8 && slot[-19] == sp + 8 + SIGNAL_CONTEXT_BYTES && site_of_handler(ret);
}

/* sp: where its return address stands. In one piece, so that no handler's calls come between the two records. */
static void write_entry(struct agent_tls *t, uint64_t sp, uint64_t tsc, uint32_t id, uint64_t stub)
{
	bool handler = is_handler(sp, *(const uint64_t *)sp);
	const uint64_t words[5] = {
		record_word(tsc, record_event_id(2, RECORD_EVENT_AT), RECORD_EVENT), sp + 8,
		(stub - (uint64_t)agent.arena) / SITE_STUB_BYTES,
		handler ? record_word(tsc, record_event_id(1, RECORD_EVENT_HANDLER), RECORD_EVENT) : record_word(tsc, id, RECORD_ENTRY), id,
	};

	if (agent.settings.places || handler)
		buffer_write_words(t, agent.settings.places ? words : words + 3, (agent.settings.places ? 4 : 1) + handler, 0);
	else
		buffer_write(t, words[3]);
}

/* slot: of the return address. */
static struct agent_tls *block_at(uint64_t slot)
{
	buffer_check_fork();
	lend_settle(slot);
	return agent_tls_block();
}

uint64_t agent_state_entry(uint64_t sp, uint32_t id_word)
{
	struct agent_tls *t = block_at(sp);
	uint64_t ret = *(uint64_t *)sp, tsc;
	uint32_t id = record_id(id_word);
	struct live l;
	uint64_t stub;

	if (agent.settings.tracer == MEMORY_FUNCTION || (agent.settings.calls_too && agent.flags & AGENT_FAR))
		record_call(ret, id);
	if (agent.settings.tracer == MEMORY_FUNCTION)
		return 0;
	if (!stack_ready(t))
		return 0;
	if (in_arena(ret)) {
		live_forget(t, sp);
		record_tail(t, id);
		return 0;
	}
	l = live_forget(t, sp + 1);
	if (!wanted(l, id_word))
		return 0;
	if (must_tell(t))
		tell_where(t, sp + 8, ret);
	stub = id_word & STATE_ENTRY_ONLY ? 0 : (uint64_t)site_stub(ret);
	tsc = read_tsc();
	if (!stub && !agent.settings.thresh_ticks)
		agent_record2(record_word(tsc, record_event_id(1, RECORD_EVENT_ENTRY_ONLY), RECORD_EVENT), id, 0);
	if (!stub || !live_push(t, l, sp, tsc, id))
		return 0;
	if (!agent.settings.thresh_ticks)
		write_entry(t, sp, tsc, id, stub);
	return stub;
}

/* sp: as agent_state_exit's. */
static void write_span(uint64_t now, const struct call_state *call, uint64_t site, uint64_t sp)
{
	uint64_t signals = signals_block();
	struct agent_tls *t = agent_tls_block();
	const uint64_t payload[3] = { record_span(call->function, call->depth, site), call->tsc, ((const uint64_t *)sp)[-2] };
	unsigned n = agent.settings.values ? 3 : 2;

	if (signals == SIGNALS_UNTOUCHED) {
		buffer_lose();
		return;
	}
	buffer_prepare(t);
	buffer_put(t, payload, n, record_word(now, record_event_id(n, RECORD_EVENT_SPAN), RECORD_EVENT));
	signals_restore(signals);
}

static void write_exit(struct agent_tls *t, uint64_t now, uint32_t site, uint64_t sp)
{
	const uint64_t words[2] = { record_word(now, site | RECORD_EXIT_VALUE, RECORD_EXIT), ((const uint64_t *)sp)[-2] };

	if (agent.settings.values)
		buffer_write_words(t, words, 2, 0);
	else
		buffer_write(t, record_word(now, site, RECORD_EXIT));
}

/* sp: the caller's, after the return; the return address stood right below, and below that its stub left rax. */
void agent_state_exit(uint64_t sp, uint32_t site)
{
	struct agent_tls *t;
	uint64_t now = read_tsc(), limit;
	struct call_state call;
	bool known;

	if (!agent.memory)
		return; /* detached: a return that was under way */
	limit = agent.settings.thresh_ticks;

	t = block_at(sp - 8);
	if (!keeps_state()) { /* called when another tracer did */
		agent_record(record_word(now, site, RECORD_EXIT), UNRESERVED, sp);
		return;
	}
	if (t->known & KNOWN_LEFT)
		come_back(t, sp);
	known = live_pop(t, sp - 8, &call);
	if (known && call.function == UNRECORDED)
		return;
	if (!limit && t->known & KNOWN_TELL)
		tell_where(t, sp, 0);
	if (!limit)
		write_exit(t, now, site, sp);
	else if (known && now - call.tsc >= limit)
		write_span(now, &call, site, sp);
}

/* --- calls that may leave their stack (leave.c) --------------------------------------------- */

/* Where it goes cannot be told from where it is: what is above stays, for it may come back. */
static bool may_come_back(const struct leave_about *about)
{
	uint32_t kind = about->id_word >> LEAVE_SHIFT & LEAVE_MASK;

	return kind == LEAVE_SOMEWHERE || kind == LEAVE_BY_SECOND_CONTEXT;
}

static void park_at(struct agent_tls *t, uint64_t sp)
{
	uint64_t signals = signals_block();

	if (signals == SIGNALS_UNTOUCHED)
		return;
	park(t, sp);
	t->known |= KNOWN_LEFT;
	signals_restore(signals);
}

static uint64_t follow_unrecorded(struct agent_tls *t, const uint64_t *sp)
{
	uint64_t stub = (uint64_t)site_stub(*sp);

	return stub && live_push(t, live_forget(t, (uint64_t)sp + 1), (uint64_t)sp, 0, UNRECORDED) ? stub : 0;
}

uint64_t agent_state_leave(const uint64_t *sp, const struct leave_about *about)
{
	struct agent_tls *t = agent_tls_block();
	bool silent = about->id_word & LEAVE_SILENT, tail = in_arena(*sp);
	bool followed, inside;
	uint64_t stub = 0;

	if (!stack_ready(t))
		return 0;
	inside = live_look(t).calls;
	if (!silent)
		stub = agent_state_entry((uint64_t)sp, about->id_word);
	followed = tail || stub;
	if (!agent.settings.thresh_ticks && (inside || stub || !agent.settings.graph_functions)) {
		if (must_tell(t))
			tell_where(t, (uint64_t)sp + 8, *sp);
		leave_tell(t, about, sp, followed);
	}
	if ((about->id_word >> LEAVE_SHIFT & LEAVE_MASK) == LEAVE_MARK)
		return stub;
	if (!may_come_back(about)) {
		t->known |= KNOWN_LEFT;
		return stub;
	}
	if (!followed && !(about->id_word & STATE_ENTRY_ONLY) && live_look(t).calls)
		stub = follow_unrecorded(t, sp);
	park_at(t, (uint64_t)sp + 8);
	return stub;
}
