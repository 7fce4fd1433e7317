/* SPDX-License-Identifier: MIT */
/* Calls after which a thread may go on elsewhere (docs/nesting.md): longjmp, coroutine switches,
 * unwinders. Their trampolines come here on the calling thread, and record the stack pointer. The
 * thread's next record then has to tell where it was made: its position is put out of every
 * buffer's reach, so that the record takes the slow path. Used by the graph tracer without state;
 * state.c has its own way. Nothing here fails; an unknown target is recorded as 0. */
#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/lend.h"
#include "agent/no_tls.h"
#include "agent/nonlocal.h"
#include "agent/site.h"
#include "agent/state.h"
#include "agent/sys.h"
#include "arch/entry.h"
#include "arch/inside.h"
#include "arch/kept_words.h"
#include "arch/trampoline_faults.h"

/* Above any user address, and far enough from the top that records of nested handlers do not wrap
 * it. */
#define ARMED (UINT64_C(1) << 62)

/* A handler may run at any instruction. Until the exchange succeeds it finds nothing changed. */
static void arm_position(struct agent_tls *t, const struct nonlocal_info *about)
{
	uint64_t pos;

	t->leaving = (uint64_t)about;
	t->inner_sp = 0;
	do {
		pos = __atomic_load_n(&t->pos, __ATOMIC_RELAXED);
		if (pos >= ARMED)
			return;
		t->room = (uint32_t)(t->end - pos);
	} while (!__atomic_compare_exchange_n(&t->pos, &pos, ARMED, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
}

/* `room` is signed: the position may have been past the end. */
bool nonlocal_disarm(struct agent_tls *t)
{
	if (t->pos < ARMED)
		return false;
	t->pos = t->end - (uint64_t)(int32_t)t->room;
	return true;
}

/* --- the record that follows ---------------------------------------------------------------- */

static bool is_entry(uint64_t word)
{
	const unsigned entries = 1u << RECORD_EVENT_CALL | 1u << RECORD_EVENT_ENTRY_ONLY |
				 1u << RECORD_EVENT_SWITCH | 1u << RECORD_EVENT_MARK |
				 1u << RECORD_EVENT_HANDLER;

	if (record_kind(word) != RECORD_EVENT)
		return record_kind(word) != RECORD_EXIT;
	return record_type(word) <= RECORD_EVENT_HANDLER && entries >> record_type(word) & 1;
}

/* True for a call made by the function itself before it leaves, or by a signal handler. */
static bool is_inner_call(const struct agent_tls *t, uint64_t ret)
{
	const struct nonlocal_info *about = (const struct nonlocal_info *)t->leaving;

	/* 0: the trampolines were changed meanwhile, and the function's own went with them. */
	return (about && ret - nonlocal_function(about) < (about->size & NONLOCAL_SIZE_MASK)) ||
	       (!site_is_in_arena(ret) && site_is_sigreturn(ret));
}

/* True if this record tells where the thread is now. Inner calls do not, until they are over. */
static bool tells_where(struct agent_tls *t, uint64_t word, uint64_t sp)
{
	if (t->inner_sp) {
		if (record_is_exit(word) && sp == t->inner_sp)
			t->inner_sp = 0;
		return false;
	}
	if (!is_entry(word) || !is_inner_call(t, entry_return(entry_before(sp))))
		return true;
	if (record_kind(word) == RECORD_ENTRY ||
	    (record_kind(word) == RECORD_EVENT && record_type(word) == RECORD_EVENT_HANDLER))
		t->inner_sp = sp;
	return false;
}

/* Returns the caller's stack pointer, outside of the call. */
static uint64_t outer_sp(uint64_t word, uint64_t sp)
{
	return is_entry(word) ? entry_outer_sp(sp) : sp;
}

static uint64_t site_of(uint64_t ret)
{
	if (site_is_in_arena(ret))
		return 0;
	return (agent_call_stub(ret) - (uint64_t)agent.arena) / SITE_STUB_BYTES;
}

static void put_at(struct agent_tls *t, uint64_t word, uint64_t sp)
{
	const uint64_t payload[2] = { sp,
				      is_entry(word) ? site_of(entry_return(entry_before(sp)))
						     : 0 };

	buffer_put(t, payload, 2,
		   record_word(agent_tsc(), record_event_id(2, RECORD_EVENT_AT), RECORD_EVENT));
}

/* Before a record of the slow path. */
bool nonlocal_before(struct agent_tls *t, bool armed, uint64_t word, uint64_t sp)
{
	sp = outer_sp(word, sp);
	if (armed && !tells_where(t, word, sp))
		return true;
	put_at(t, word, sp);
	return false;
}

void nonlocal_rearm(struct agent_tls *t)
{
	t->room = (uint32_t)(t->end - t->pos);
	t->pos = ARMED;
}

/* --- the calls themselves ------------------------------------------------------------------- */

/* Returns the stack pointer that setjmp left. glibc mixes a jmp_buf's addresses with a guard, musl
 * does not. Programs in no-TLS mode may have a longjmp of their own, and no thread pointer. 0 = not
 * known. */
static uint64_t jmp_buf_sp(const uint64_t *buf)
{
	uint64_t sp, guard;
	bool mixed;

	sp = inside_saved_sp(buf, &mixed);
	if (!mixed)
		return sp;
	if (agent.flags & AGENT_NO_TLS)
		return 0;
	guard = agent_pointer_guard;
	if (!agent_no_tls)
		guard = inside_pointer_guard();
	return inside_unmix_sp(sp, guard);
}

static uint64_t context_sp(const uint64_t *ucontext)
{
	return ucontext[UCONTEXT_SP];
}

static enum nonlocal_kind kind_of(const struct nonlocal_info *about)
{
	return about->id_word >> NONLOCAL_SHIFT & NONLOCAL_MASK;
}

/* Below sp, the address of the return address, agent_slow_nonlocal keeps the arguments. */
uint64_t nonlocal_target(const struct nonlocal_info *about, const uint64_t *sp)
{
	const uint64_t *first = (const uint64_t *)sp[KEPT_ARG0],
		       *second = (const uint64_t *)sp[KEPT_ARG1];

	switch (kind_of(about)) {
	case NONLOCAL_BY_JMP_BUF:
		return first ? jmp_buf_sp(first) : 0;
	case NONLOCAL_BY_CONTEXT:
		return first ? context_sp(first) : 0;
	case NONLOCAL_BY_SECOND_CONTEXT:
		return second ? context_sp(second) : 0;
	default:
		return 0;
	}
}

/* Fills words with the record of what the call is about to do; returns how many. */
static unsigned nonlocal_words(const struct nonlocal_info *about, const uint64_t *sp,
			       bool followed, uint64_t *words)
{
	static const uint8_t flags[NONLOCAL_KINDS] = {
		[NONLOCAL_BY_JMP_BUF] = RECORD_SWITCH_ENDS,
		[NONLOCAL_BY_CONTEXT] = RECORD_SWITCH_ENDS,
		[NONLOCAL_BY_UNWINDING] = RECORD_SWITCH_UNWINDS,
	};
	enum nonlocal_kind kind = kind_of(about);
	uint64_t now = agent_tsc(), outer = entry_outer_sp((uint64_t)sp);

	if (kind == NONLOCAL_LENDING)
		return 0;
	if (kind == NONLOCAL_MARK) {
		words[0] = record_word(now, record_event_id(1, RECORD_EVENT_MARK), RECORD_EVENT);
		words[1] = outer;
		return 2;
	}
	words[0] = record_word(now, record_event_id(2, RECORD_EVENT_SWITCH), RECORD_EVENT);
	words[1] = outer | flags[kind] | (followed ? RECORD_SWITCH_FOLLOWED : 0);
	words[2] = nonlocal_target(about, sp);
	return 3;
}

void nonlocal_tell(struct agent_tls *t, const struct nonlocal_info *about, const uint64_t *sp,
		   bool followed)
{
	uint64_t words[3];

	buffer_write_words(t, words, nonlocal_words(about, sp, followed, words), 0);
}

/* Fills words with the entry of the function itself; returns how many. None is written for a
 * function that is hooked for its non-local exits alone (NONLOCAL_SILENT): it is not traced. */
static unsigned entry_words(const struct nonlocal_info *about, const uint64_t *sp, bool tail,
			    bool followed, uint64_t *words)
{
	uint64_t now = agent_tsc();
	uint32_t id = record_id(about->id_word);

	if (about->id_word & NONLOCAL_SILENT)
		return 0;
	if (tail || followed) {
		words[0] = record_word(now, id, tail ? RECORD_TAIL : RECORD_ENTRY);
		return 1;
	}
	words[0] = record_word(now, record_event_id(1, RECORD_EVENT_ENTRY_ONLY), RECORD_EVENT);
	words[1] = id | site_of(*sp) << 32;
	return 2;
}

/* Writes the call's entry and its record in one piece, so that no handler's record comes in
 * between. */
static void write_nonlocal(struct agent_tls *t, const struct nonlocal_info *about,
			   const uint64_t *sp, bool tail, bool followed)
{
	uint64_t words[5];
	unsigned n = entry_words(about, sp, tail, followed, words);

	n += nonlocal_words(about, sp, tail || followed, words + n);
	if (n)
		buffer_write_words(t, words, n, (uint64_t)sp);
}

/* A call that makes a child which may run with this thread's block (vfork). */
static uint64_t nonlocal_lending(struct agent_tls *t, const uint64_t *sp,
				 const struct nonlocal_info *about)
{
	bool silent = about->id_word & NONLOCAL_SILENT, tail = site_is_in_arena(*sp);
	uint64_t stub = 0;

	if (agent.settings.tracer == MEMORY_FUNCTION || state_is_kept()) {
		if (!silent)
			stub = agent_state_entry((uint64_t)sp, nonlocal_id_word(about));
	} else {
		if (!tail && !(about->id_word & (STATE_ENTRY_ONLY | NONLOCAL_SILENT)))
			stub = (uint64_t)site_stub(*sp);
		write_nonlocal(t, about, sp, tail, stub != 0);
	}
	lend_begin((uint64_t)sp);
	return stub;
}

uint64_t agent_nonlocal(const uint64_t *sp, const struct nonlocal_info *about)
{
	bool tail = site_is_in_arena(*sp),
	     follow = !tail && !(about->id_word & (STATE_ENTRY_ONLY | NONLOCAL_SILENT));
	uint64_t stub = 0;
	struct agent_tls *t;

	buffer_check_fork();
	if (about->size >> NONLOCAL_START_SHIFT)
		no_tls_starts(about, sp);
	t = agent_tls_block();
	if (kind_of(about) == NONLOCAL_LENDING || agent.settings.tracer == MEMORY_FUNCTION)
		return nonlocal_lending(t, sp, about);
	if (state_is_kept())
		return agent_state_nonlocal(sp, about);
	if (follow)
		stub = (uint64_t)site_stub(*sp);
	write_nonlocal(t, about, sp, tail, stub != 0);
	if (kind_of(about) != NONLOCAL_MARK)
		arm_position(t, about);
	return stub;
}
