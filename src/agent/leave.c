/* SPDX-License-Identifier: MIT */
/* Calls after which a thread may go on elsewhere than behind them: longjmp, coroutine switches,
 * unwinders (docs/nesting.md). They come here from trampolines of their own, and are recorded with
 * the stack pointer. The thread's next record is then made to take the slow path, so that it can tell
 * where it was made: its position is put out of every buffer's reach. */
#include "agent/agent.h"
#include "agent/lend.h"
#include "agent/sys.h"

#define ARMED (UINT64_C(1) << 62)

/* A handler may run at any instruction. Until the exchange succeeds it finds nothing changed. */
static void arm(struct agent_tls *t, const struct leave_about *about)
{
	uint64_t pos;

	t->leaving = (uint64_t)about;
	t->inner_sp = 0;
	do {
		pos = __atomic_load_n(&t->pos, __ATOMIC_RELAXED);
		if (pos >= ARMED)
			return;
		t->room = (uint32_t)(t->end - pos);
	} while (!__atomic_compare_exchange_n(&t->pos, &pos, ARMED, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

bool leave_disarm(struct agent_tls *t)
{
	if (t->pos < ARMED)
		return false;
	t->pos = t->end - (uint64_t)(int32_t)t->room;
	return true;
}

/* --- the record that follows ---------------------------------------------------------------- */

static bool is_entry(uint64_t word)
{
	const unsigned entries = 1u << RECORD_EVENT_CALL | 1u << RECORD_EVENT_ENTRY_ONLY | 1u << RECORD_EVENT_SWITCH |
				 1u << RECORD_EVENT_MARK | 1u << RECORD_EVENT_HANDLER;

	if (record_kind(word) != RECORD_EVENT)
		return record_kind(word) != RECORD_EXIT;
	return record_type(word) <= RECORD_EVENT_HANDLER && entries >> record_type(word) & 1;
}

/* Made by the function that is about to leave, before it does, or by a signal handler. */
static bool is_inner_call(const struct agent_tls *t, uint64_t ret)
{
	const struct leave_about *about = (const struct leave_about *)t->leaving;

	/* 0: the trampolines were changed meanwhile, and its own went with them. */
	return (about && ret - leave_function(about) < about->size) || (!in_arena(ret) && site_is_sigreturn(ret));
}

/* A record that says where it was made ends the matter; inner calls do not until they are over. */
static bool tells(struct agent_tls *t, uint64_t word, uint64_t sp)
{
	if (t->inner_sp) {
		if (record_kind(word) == RECORD_EXIT && sp == t->inner_sp)
			t->inner_sp = 0;
		return false;
	}
	if (!is_entry(word) || !is_inner_call(t, *(const uint64_t *)(sp - 8)))
		return true;
	if (record_kind(word) == RECORD_ENTRY || (record_kind(word) == RECORD_EVENT && record_type(word) == RECORD_EVENT_HANDLER))
		t->inner_sp = sp;
	return false;
}

/* The caller's stack pointer, outside of the call. */
static uint64_t outer_sp(uint64_t word, uint64_t sp)
{
	return is_entry(word) ? sp + 8 : sp;
}

static uint64_t site_of(uint64_t ret)
{
	return in_arena(ret) ? 0 : (agent_site(ret) - (uint64_t)agent.arena) / SITE_STUB_BYTES;
}

static void put_at(struct agent_tls *t, uint64_t word, uint64_t sp)
{
	const uint64_t payload[2] = { sp, is_entry(word) ? site_of(*(const uint64_t *)(sp - 8)) : 0 };

	buffer_put(t, payload, 2, record_word(read_tsc(), record_event_id(2, RECORD_EVENT_AT), RECORD_EVENT));
}

/* Before a record of the slow path. */
bool leave_before(struct agent_tls *t, bool armed, uint64_t word, uint64_t sp)
{
	sp = outer_sp(word, sp);
	if (armed && !tells(t, word, sp))
		return true;
	put_at(t, word, sp);
	return false;
}

void leave_rearm(struct agent_tls *t)
{
	t->room = (uint32_t)(t->end - t->pos);
	t->pos = ARMED;
}

/* --- the calls themselves ------------------------------------------------------------------- */

/* What setjmp and makecontext left: glibc scrambles a jmp_buf's addresses, musl does not. Far programs may have
 * a longjmp of their own, and no thread pointer. 0 = not known. */
static uint64_t jmp_buf_sp(const uint64_t *buf)
{
	uint64_t sp = buf[6], guard;

	if (!(sp >> 47))
		return sp;
	if (agent.flags & AGENT_FAR)
		return 0;
	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	return (sp >> 17 | sp << 47) ^ guard;
}

static uint64_t context_sp(const uint64_t *ucontext)
{
	return ucontext[20]; /* uc_mcontext.gregs[REG_RSP] */
}

/* sp: of the return address; below it what agent_slow_leave kept of the arguments. */
static uint64_t target(uint32_t kind, const uint64_t *sp)
{
	const uint64_t *first = (const uint64_t *)sp[-6], *second = (const uint64_t *)sp[-7];

	switch (kind) {
	case LEAVE_BY_JMP_BUF:
		return first ? jmp_buf_sp(first) : 0;
	case LEAVE_BY_CONTEXT:
		return first ? context_sp(first) : 0;
	case LEAVE_BY_SECOND_CONTEXT:
		return second ? context_sp(second) : 0;
	default:
		return 0;
	}
}

static enum leave_kind kind_of(const struct leave_about *about)
{
	return about->id_word >> LEAVE_SHIFT & LEAVE_MASK;
}

/* What the call is about to do. Returns the words written. */
static unsigned leave_words(const struct leave_about *about, const uint64_t *sp, bool followed, uint64_t *words)
{
	static const uint8_t flags[LEAVE_KINDS] = {
		[LEAVE_BY_JMP_BUF] = RECORD_SWITCH_ENDS, [LEAVE_BY_CONTEXT] = RECORD_SWITCH_ENDS,
		[LEAVE_BY_UNWINDING] = RECORD_SWITCH_UNWINDS,
	};
	enum leave_kind kind = kind_of(about);
	uint64_t now = read_tsc(), outer = (uint64_t)sp + 8;

	if (kind == LEAVE_LENDING)
		return 0;
	if (kind == LEAVE_MARK) {
		words[0] = record_word(now, record_event_id(1, RECORD_EVENT_MARK), RECORD_EVENT);
		words[1] = outer;
		return 2;
	}
	words[0] = record_word(now, record_event_id(2, RECORD_EVENT_SWITCH), RECORD_EVENT);
	words[1] = outer | flags[kind] | (followed ? RECORD_SWITCH_FOLLOWED : 0);
	words[2] = target(kind, sp);
	return 3;
}

void leave_tell(struct agent_tls *t, const struct leave_about *about, const uint64_t *sp, bool followed)
{
	uint64_t words[3];

	buffer_write_words(t, words, leave_words(about, sp, followed, words), 0);
}

/* After the call's entry, in one piece, so that nothing comes between. */
static void write_leave(struct agent_tls *t, const struct leave_about *about, const uint64_t *sp, bool tail,
			bool followed)
{
	uint64_t words[5], now = read_tsc();
	uint32_t id = record_id(about->id_word);
	unsigned n = 0;

	if (about->id_word & LEAVE_SILENT) {
		;
	} else if (tail || followed) {
		words[n++] = record_word(now, id, tail ? RECORD_TAIL : RECORD_ENTRY);
	} else {
		words[n++] = record_word(now, record_event_id(1, RECORD_EVENT_ENTRY_ONLY), RECORD_EVENT);
		words[n++] = id | site_of(*sp) << 32;
	}
	n += leave_words(about, sp, tail || followed, words + n);
	if (n)
		buffer_write_words(t, words, n, (uint64_t)sp);
}

/* Its child may run with this thread's block. */
static uint64_t leave_lending(struct agent_tls *t, const uint64_t *sp, const struct leave_about *about)
{
	bool silent = about->id_word & LEAVE_SILENT, tail = in_arena(*sp);
	uint64_t stub = 0;

	if (agent.settings.tracer == MEMORY_FUNCTION || keeps_state()) {
		if (!silent)
			stub = agent_state_entry((uint64_t)sp, about->id_word);
	} else {
		if (!tail && !(about->id_word & (STATE_ENTRY_ONLY | LEAVE_SILENT)))
			stub = (uint64_t)site_stub(*sp);
		write_leave(t, about, sp, tail, stub != 0);
	}
	lend_begin((uint64_t)sp);
	return stub;
}

uint64_t agent_leave(const uint64_t *sp, const struct leave_about *about)
{
	struct agent_tls *t = agent_tls_block();
	bool tail = in_arena(*sp), follow = !tail && !(about->id_word & (STATE_ENTRY_ONLY | LEAVE_SILENT));
	uint64_t stub = 0;

	buffer_check_fork();
	if (kind_of(about) == LEAVE_LENDING)
		return leave_lending(t, sp, about);
	if (keeps_state())
		return agent_state_leave(sp, about);
	if (follow)
		stub = (uint64_t)site_stub(*sp);
	write_leave(t, about, sp, tail, stub != 0);
	if (kind_of(about) != LEAVE_MARK)
		arm(t, about);
	return stub;
}
