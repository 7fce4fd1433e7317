/* SPDX-License-Identifier: MIT */
/* State mode: recording where it matters how deep a call is or how long it took. Called by entry.S
 * on the recording thread. Live calls (live.h) are keyed by the stack addresses of their return
 * addresses: one below the current stack pointer is dead (longjmp, exception). A mistake here can
 * misnest a report; it cannot misdirect a return, which only the stub knows. Without a stack for
 * its calls, a thread's functions run unrecorded and are counted as lost. */
#include "agent/buffer.h"
#include "agent/event.h"
#include "agent/faults.h"
#include "agent/lend.h"
#include "agent/live.h"
#include "agent/nonlocal.h"
#include "agent/returned.h"
#include "agent/signals.h"
#include "agent/site.h"
#include "agent/stacks.h"
#include "agent/state.h"
#include "arch/entry.h"
#include "arch/kept_words.h"
#include "arch/page.h"

/* Bits of agent_tls.known: the thread may have left its stack; the next record has to tell where it
 * is made. */
#define KNOWN_LEFT 2u
#define KNOWN_TELL 4u
/* In `function`, above the id: enum memory_returned. */
#define FUNCTION_RETURNED_SHIFT 32
/* No code is below: a program's first function finds the number of its arguments where a called one
 * has its return address, and the kernel takes at most 6 MiB of arguments, 9 bytes each or more. */
#define LOWEST_CODE UINT64_C(0x100000)
#define OVERWRITTEN_MAX 8 /* innermost calls that are looked at */

/* True if this call is to be recorded; dead calls are gone already. */
static bool call_is_recorded(struct live_calls l, uint32_t id_word)
{
	const struct memory_settings *m = &agent.settings;

	if (m->graph_functions == MEMORY_NO_GRAPH)
		return false;
	if (m->graph_functions && !l.top->depth && !(id_word & STATE_GRAPH_FUNCTION))
		return false;
	return !m->max_depth || l.top->depth < m->max_depth;
}

/* A tail call shares its caller's place on the stack, and its exit. With a threshold only the outer
 * call is timed. */
static void record_tail(struct agent_tls *t, uint32_t id)
{
	const struct memory_settings *m = &agent.settings;

	if (m->thresh_ticks || (m->max_depth && live_look(t).top->depth >= m->max_depth))
		return;
	live_deepen(t);
	buffer_write(t, record_word(agent_tsc(), id, RECORD_TAIL));
}

/* Writes the function tracer's record where no trampoline does (AGENT_NO_TLS). */
static void record_call(uint64_t ret, uint64_t function)
{
	uint64_t site = (agent_call_stub(ret) - (uint64_t)agent.arena) / SITE_STUB_BYTES;

	agent_record2(record_word(agent_tsc(), record_event_id(1, RECORD_EVENT_CALL), RECORD_EVENT),
		      function | site << 32, 0);
}

static bool must_tell(const struct agent_tls *t)
{
	return !(t->known & TLS_THREAD) || t->known & (KNOWN_LEFT | KNOWN_TELL);
}

/* Writes the place of a record: the thread's first one, or the first one after it left a stack. */
static void tell_where(struct agent_tls *t, uint64_t sp, uint64_t ret, bool outermost)
{
	const uint64_t words[3] = {
		record_word(agent_tsc(), record_event_id(2, RECORD_EVENT_AT), RECORD_EVENT),
		sp,
		(ret && !site_is_in_arena(ret)
			 ? (agent_call_stub(ret) - (uint64_t)agent.arena) / SITE_STUB_BYTES
			 : 0) |
			(outermost ? RECORD_AT_OUTERMOST : 0),
	};

	t->known &= ~(KNOWN_LEFT | KNOWN_TELL);
	if (!agent.settings.thresh_ticks)
		buffer_write_words(t, words, 3, 0);
}

/* Takes up the calls of a stack that was left and is returned to. */
static void come_back(struct agent_tls *t, uint64_t sp)
{
	uint64_t signals = signals_block();

	if (signals == SIGNALS_UNTOUCHED)
		return;
	saved_stack_take(t, sp);
	t->known = (t->known & ~KNOWN_LEFT) | KNOWN_TELL;
	signals_restore(signals);
}

/* True if the kernel entered this function as a handler. The trampoline and CALL_C left its third
 * and its second argument below the return address. */
static bool is_handler(uint64_t sp, uint64_t ret)
{
	return faults_is_frame(sp) && site_is_of_handler(ret);
}

/* sp: stack address of the return address. Both records in one piece, so that no handler's calls
 * come in between. */
static void write_entry(struct agent_tls *t, uint64_t sp, uint64_t tsc, uint32_t id, uint64_t stub)
{
	bool handler = is_handler(sp, entry_return(sp));
	const uint64_t words[5] = {
		record_word(tsc, record_event_id(2, RECORD_EVENT_AT), RECORD_EVENT),
		entry_outer_sp(sp),
		(stub - (uint64_t)agent.arena) / SITE_STUB_BYTES,
		handler ? record_word(tsc, record_event_id(1, RECORD_EVENT_HANDLER), RECORD_EVENT)
			: record_word(tsc, id, RECORD_ENTRY),
		id,
	};

	if (agent.settings.record_sp || handler)
		buffer_write_words(t, agent.settings.record_sp ? words : words + 3,
				   (agent.settings.record_sp ? 4 : 1) + handler, 0);
	else
		buffer_write(t, words[3]);
}

/* Returns the thread's block, after a fork or a vfork was noticed. slot: stack address of the
 * return address. */
static struct agent_tls *block_at(uint64_t slot)
{
	buffer_check_fork();
	lend_look(slot);
	return agent_tls_block();
}

/* Reads the word at `from`, which is above sp. Behind the page of sp the stack may end, if the
 * thread has moved to another one. There the kernel is asked, which takes as long as ten calls: at
 * a handler's entry, and for the `innermost` call if it is near, as one whose frame lies across two
 * pages. Anything else counts as not there. */
static bool read_above(uint64_t from, uint64_t sp, bool innermost, uint64_t *word)
{
	if ((from ^ sp) >= ARCH_PAGE)
		return ((innermost && from - sp < ARCH_PAGE) ||
			is_handler(sp, entry_return(sp))) &&
		       probe_read_kernel(from, word, sizeof(*word)) == sizeof(*word);
	*word = *(const uint64_t *)from;
	return true;
}

/* True if the call's return is not followed, and its return address is not in its place any
 * more. */
static bool is_overwritten(const struct call_state *call, uint64_t sp, bool innermost)
{
	uint64_t now;

	return call->function == LIVE_UNFOLLOWED && read_above(call->sp, sp, innermost, &now) &&
	       now != call->tsc;
}

/* Takes off unfollowed calls that are over, though their places are above sp: arguments were pushed
 * there, a handler of exceptions, or the return address of a function that is not hooked. */
static struct live_calls forget_returned(struct agent_tls *t, struct live_calls l, uint64_t sp)
{
	uint64_t over = 0;

	for (uint64_t i = 0; i < l.calls && i < OVERWRITTEN_MAX; i++)
		if (is_overwritten(l.top - i, sp, i == 0))
			over = (l.top - i)->sp;
	return over ? live_forget(t, over + 1) : l;
}

/* A call that no stub sees the end of. It is live until the stack pointer says that it is over. The
 * program's first function was not called and does not count as a level. */
static void enter_unfollowed(struct agent_tls *t, struct live_calls l, uint64_t sp, uint64_t tsc,
			     uint32_t id, uint8_t scopes)
{
	const struct memory_settings *m = &agent.settings;
	const uint64_t words[2] = {
		record_word(tsc, record_event_id(1, RECORD_EVENT_ENTRY_ONLY), RECORD_EVENT), id
	};

	if ((m->max_depth || m->graph_functions || scopes) && entry_return(sp) >= LOWEST_CODE)
		live_push(t, l, sp, entry_return(sp), LIVE_UNFOLLOWED, scopes);
	if (!m->thresh_ticks)
		buffer_write_words(t, words, 2, 0);
}

/* A call that cannot be followed: the thread has no stack for its calls, or no room on it. So it
 * is not known how deep the call is, nor how long it takes: its records count as lost, whatever
 * the settings would have left out. It may have led to another stack: the next record tells. */
static void lose_call(struct agent_tls *t, uint32_t id_word, bool tail)
{
	if (agent.memory && !memory_is_stopped(agent.memory) &&
	    agent.settings.graph_functions != MEMORY_NO_GRAPH)
		buffer_lose_records(t, tail || id_word & STATE_ENTRY_ONLY ||
					       agent.settings.thresh_ticks ? 1 : 2);
	t->known |= KNOWN_TELL;
}

/* Function tracers get their record where no trampoline writes it. */
static void record_for_function(uint64_t ret, uint32_t id)
{
	if (agent.settings.tracer == MEMORY_FUNCTION ||
	    (agent.settings.record_both && agent.flags & AGENT_NO_TLS))
		record_call(ret, id);
}

/* A trampoline that opens scopes has a word that names them, in front of the moved instructions.
 * The trampoline has stored their address below the stack pointer. 0: the function opens no
 * scope. */
static uint32_t scope_word(uint64_t sp, uint32_t id_word)
{
	const uint64_t *kept = (const uint64_t *)sp;

	return id_word & STATE_SCOPE ? ((const uint32_t *)kept[KEPT_SCOPE])[-1] : 0;
}

/* A tail call opens its scopes in the call that it continues, whose exit is its own. */
static void enter_tail(struct agent_tls *t, uint64_t sp, uint32_t id, uint32_t scope)
{
	struct live_calls l = live_forget(t, sp);

	if (!(scope & SCOPE_SILENT) && agent.settings.graph_functions != MEMORY_NO_GRAPH)
		record_tail(t, id);
	if (l.calls && l.top->sp == sp) {
		l.top->scopes |= (uint8_t)scope;
		l.top->open |= (uint8_t)scope;
	}
}

/* A call that is not recorded, and opens a scope or is a level in one, is followed. Returns its
 * stub, or 0. */
static uint64_t enter_silent(struct agent_tls *t, struct live_calls l, uint64_t sp,
			     uint32_t id_word, uint32_t scope)
{
	uint8_t opens = (uint8_t)scope;
	uint64_t ret = entry_return(sp), stub;

	if (!opens && !l.top->open)
		return 0;
	stub = id_word & STATE_ENTRY_ONLY ? 0 : (uint64_t)site_stub(ret);
	if (!stub && ret < LOWEST_CODE)
		return 0;
	return live_push(t, l, sp, ret, stub ? LIVE_SILENT : LIVE_UNFOLLOWED, opens) ? stub : 0;
}

uint64_t agent_state_entry(uint64_t sp, uint32_t id_word)
{
	uint32_t scope = scope_word(sp, id_word);
	struct agent_tls *t = block_at(sp);
	uint64_t ret = is_handler(sp, entry_return(sp)) ? faults_enter(sp, entry_return(sp))
							: entry_return(sp),
		 tsc;
	uint32_t id = record_id(id_word);
	struct live_calls l;
	uint64_t stub;

	if (!(scope & SCOPE_SILENT))
		record_for_function(ret, id);
	if (agent.settings.tracer == MEMORY_FUNCTION)
		return 0;
	if (!stack_ready(t)) {
		if (!(scope & SCOPE_SILENT))
			lose_call(t, id_word, site_is_in_arena(ret));
		return 0;
	}
	if (site_is_in_arena(ret)) {
		enter_tail(t, sp, id, scope);
		return 0;
	}
	/* +1: a live call with this very sp is dead as well, since its place holds a new return
	 * address. */
	l = forget_returned(t, live_forget(t, sp + 1), sp);
	if (scope & SCOPE_SILENT || !call_is_recorded(l, id_word))
		return id_word & STATE_SCOPE ? enter_silent(t, l, sp, id_word, scope) : 0;
	if (must_tell(t))
		tell_where(t, entry_outer_sp(sp), ret,
			   !l.top->depth && agent.settings.graph_functions);
	stub = id_word & STATE_ENTRY_ONLY ? 0 : (uint64_t)site_stub(ret);
	tsc = agent_tsc();
	if (!stub) {
		enter_unfollowed(t, l, sp, tsc, id, (uint8_t)scope);
		return 0;
	}
	if (!live_push(t, l, sp, tsc,
		       id | (uint64_t)(id_word >> RETURNED_SHIFT) << FUNCTION_RETURNED_SHIFT,
		       (uint8_t)scope)) {
		lose_call(t, id_word, false);
		return 0;
	}
	if (!agent.settings.thresh_ticks)
		write_entry(t, sp, tsc, id, stub);
	return stub;
}

bool state_is_inside(uint64_t sp)
{
	struct agent_tls *t = agent_tls_block();

	if (agent.settings.tracer != MEMORY_GRAPH_STATE || !live_look(t).calls)
		return false;
	/* The rest is agent_state_entry()'s view. A tail call is inside of what it continues. */
	t = block_at(sp);
	if (site_is_in_arena(entry_return(sp)))
		return true;
	return stack_ready(t) && forget_returned(t, live_forget(t, sp + 1), sp).top->depth;
}

/* The kind of value that the call of a pushed function returns. */
static enum memory_returned function_returned(const struct call_state *call)
{
	uint64_t returned = call->function >> FUNCTION_RETURNED_SHIFT;

	return returned < RETURNED_KINDS ? (enum memory_returned)returned : RETURNED_WORD;
}

/* Writes a SPAN, with the slow path, since few calls last that long. sp: as agent_state_exit's. */
static void write_span(uint64_t now, const struct call_state *call, uint64_t site, uint64_t sp)
{
	uint64_t signals = signals_block();
	struct agent_tls *t = agent_tls_block();
	bool number = function_returned(call) == RETURNED_FLOAT;
	const uint64_t payload[3] = {
		record_span((uint32_t)call->function, call->depth,
			    site | (number ? RECORD_EXIT_FLOAT : 0)),
		call->tsc, ((const uint64_t *)sp)[number ? KEPT_FLOAT : KEPT_RESULT]
	};
	unsigned n = agent.settings.values ? 3 : 2;

	if (signals == SIGNALS_UNTOUCHED) {
		buffer_lose();
		return;
	}
	buffer_prepare(t);
	buffer_put(t, payload, n,
		   record_word(now, record_event_id(n, RECORD_EVENT_SPAN), RECORD_EVENT));
	signals_restore(signals);
}

static void write_exit(struct agent_tls *t, uint64_t now, uint32_t site,
		       enum memory_returned returned, uint64_t sp)
{
	uint64_t words[RETURNED_WORDS];

	if (agent.settings.values)
		buffer_write_words(t, words, returned_words(words, now, site, returned, sp), 0);
	else
		buffer_write(t, record_word(now, site, RECORD_EXIT));
}

/* sp: the caller's stack pointer, after the return. The return address stood right below it, and
 * below that the stub left the value. */
void agent_state_exit(uint64_t sp, uint32_t site)
{
	struct agent_tls *t;
	uint64_t now = agent_tsc(), limit;
	struct call_state call;
	bool known;

	if (!agent.memory)
		return; /* detached: a return that was under way */
	limit = agent.settings.thresh_ticks;

	t = block_at(entry_before(sp));
	if (!state_is_kept()) { /* called while another tracer was attached */
		agent_record(record_word(now, site, RECORD_EXIT), UNRESERVED, sp);
		return;
	}
	if (t->known & KNOWN_LEFT)
		come_back(t, sp);
	known = live_pop(t, entry_before(sp), &call);
	if ((known && call.function == LIVE_SILENT) ||
	    agent.settings.graph_functions == MEMORY_NO_GRAPH)
		return;
	if (!limit && t->known & KNOWN_TELL)
		tell_where(t, sp, 0, false);
	if (!limit)
		write_exit(t, now, site, known ? function_returned(&call) : RETURNED_WORD, sp);
	else if (known && now - call.tsc >= limit)
		write_span(now, &call, site, sp);
}

/* --- calls that may leave their stack (nonlocal.c) -------------------------------------------- */

/* True if the call may return: its target cannot be known here, so the calls above stay. */
static bool may_come_back(const struct nonlocal_info *about)
{
	uint32_t kind = about->id_word >> NONLOCAL_SHIFT & NONLOCAL_MASK;

	return kind == NONLOCAL_SOMEWHERE || kind == NONLOCAL_BY_SECOND_CONTEXT;
}

static void save_at(struct agent_tls *t, uint64_t sp)
{
	uint64_t signals = signals_block();

	if (signals == SIGNALS_UNTOUCHED)
		return;
	saved_stack_put(t, sp);
	t->known |= KNOWN_LEFT;
	signals_restore(signals);
}

/* Follows a call that is not recorded: its return tells that the thread is on this stack again. */
static uint64_t follow_unrecorded(struct agent_tls *t, const uint64_t *sp)
{
	uint64_t stub = (uint64_t)site_stub(entry_return((uint64_t)sp));

	return stub && live_push(t, live_forget(t, (uint64_t)sp + 1), (uint64_t)sp, 0, LIVE_SILENT,
				 0)
		       ? stub
		       : 0;
}

/* A longjmp up the stack ends the calls below its target, which an event may want to know before
 * the next call tells. */
static void leave_scopes(struct agent_tls *t, uint64_t target, uint64_t sp)
{
	if (target > sp && live_look(t).top->open)
		live_forget(t, target);
}

/* The unwinder leaves the innermost call that returns through a stub. */
void state_unwound(void)
{
	struct agent_tls *t = agent_tls_block();
	struct live_calls l = live_look(t);
	uint64_t i = 0;

	if (!state_is_kept() || !stack_is_there(t) || !l.top->open)
		return;
	while (i + 1 < l.calls && (l.top - i)->function == LIVE_UNFOLLOWED)
		i++;
	live_forget(t, (l.top - i)->sp + 1);
}

uint64_t agent_state_nonlocal(const uint64_t *sp, const struct nonlocal_info *about)
{
	struct agent_tls *t = agent_tls_block();
	bool silent = about->id_word & NONLOCAL_SILENT;
	bool tail = site_is_in_arena(entry_return((uint64_t)sp));
	bool followed, inside;
	uint64_t stub = 0;

	if (!stack_ready(t)) {
		if (!silent) {
			record_for_function(entry_return((uint64_t)sp), record_id(about->id_word));
			lose_call(t, about->id_word, tail);
		}
		return 0;
	}
	inside = live_look(t).top->depth;
	if (!silent)
		stub = agent_state_entry((uint64_t)sp, nonlocal_id_word(about));
	followed = tail || stub;
	if (!agent.settings.thresh_ticks && (inside || stub || !agent.settings.graph_functions)) {
		if (must_tell(t))
			tell_where(t, entry_outer_sp((uint64_t)sp),
				   entry_return((uint64_t)sp), false);
		nonlocal_tell(t, about, sp, followed);
	}
	if ((about->id_word >> NONLOCAL_SHIFT & NONLOCAL_MASK) == NONLOCAL_MARK)
		return stub;
	if (!may_come_back(about)) {
		t->known |= KNOWN_LEFT;
		leave_scopes(t, nonlocal_target(about, sp), (uint64_t)sp);
		return stub;
	}
	if (!followed && !(about->id_word & STATE_ENTRY_ONLY) && live_look(t).calls)
		stub = follow_unrecorded(t, sp);
	/* Behind a PLT entry that was hooked the same way the calls are saved already. */
	if (!tail || live_look(t).calls)
		save_at(t, entry_outer_sp((uint64_t)sp));
	else
		t->known |= KNOWN_LEFT;
	return stub;
}
