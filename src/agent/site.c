/* SPDX-License-Identifier: MIT */
/* Call sites: the table from a return address to its stub, and the making of stubs. Slow paths call
 * it on their own thread, and a signal handler may interrupt any of it and do the same. If there is
 * no stub, the entry is recorded without its return.
 *
 * Only memory of this process decides where a stub returns to: a forked child has a copy. The image
 * memory, which a child that gave up its rights shares, counts sites for all forks and tells the
 * tracer what they are. The agent takes only the count from there, and skips a number that is used
 * here already.
 *
 * A process only adds to its table, without locks: one instruction fills an empty slot, after the
 * return address that it leads to is in its place. Two threads that meet the same new return
 * address (or a handler and the code it interrupted) may both make a stub; both are right. Stub
 * code is written a block at a time, before any of it can be reached: no page is writable and
 * executable at once. */
#include <linux/mman.h>
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/faults.h"
#include "agent/needs.h"
#include "agent/signals.h"
#include "agent/site.h"
#include "agent/sys.h"
#include "agent/texts.h"
#include "arch/libc_calls.h"
#include "arch/page.h"
#include "arch/stamp.h"
#include "shared/points.h"

#define PROBES 512 /* slots that are tried for one return address */
#define NOBODY UINT64_C(1) /* a value that is no return address */
#define SITES_MAX (SITE_BLOCKS * SITE_PER_BLOCK)
/* Numbers tried until one is free: a hostile child may set the count back. */
#define TRIES (2 * SITE_BLOCKS)
#define SLOTS (1u << SITE_HASH_BITS)
#define SCATTER 0x9e3779b1u /* 2^32 / golden ratio, for the slots after the first */

struct site_table agent_table[RETURNED_KINDS];
_Static_assert(sizeof(struct site_table) == SITE_TABLE_BYTES && SITE_TABLE_BYTES % ARCH_PAGE == 0,
	       "trampolines know where each is, and forget_tables() zeroes whole pages");
uint8_t *agent_arena_at; /* = agent.arena, for entry.S */

#define LABEL(name) extern const uint8_t name[]
LABEL(stub_begin); LABEL(stub_word); LABEL(stub_exit); LABEL(stub_real);
LABEL(graph_exit_begin);
LABEL(graph_exit_fork_guard);
LABEL(graph_exit_pos);
LABEL(graph_exit_limit);
LABEL(graph_exit_slow);
LABEL(graph_exit_fence); LABEL(graph_exit_end);
LABEL(value_exit_begin);
LABEL(value_exit_fork_guard);
LABEL(value_exit_pos);
LABEL(value_exit_limit);
LABEL(value_exit_slow);
LABEL(value_exit_fence); LABEL(value_exit_end);
LABEL(float_exit_begin);
LABEL(float_exit_fork_guard);
LABEL(float_exit_pos);
LABEL(float_exit_limit);
LABEL(float_exit_slow);
LABEL(float_exit_fence); LABEL(float_exit_end);
LABEL(state_exit_begin); LABEL(state_exit_slow); LABEL(state_exit_end);
LABEL(agent_slow_exit); LABEL(agent_slow_valued); LABEL(agent_slow_float);
LABEL(agent_slow_text); LABEL(agent_slow_state_exit);
#undef LABEL

_Static_assert(SITE_IDS <= RECORD_EXIT_FLOAT && SITE_IDS <= 1u << TEXT_KIND_SHIFT,
	       "a site's id leaves the bits free that say which value follows");

enum block_state { BLOCK_NONE, BLOCK_MAKING, BLOCK_READY, BLOCK_FAILED };
static uint8_t blocks[SITE_BLOCKS];
static uint8_t kinds[SITE_BLOCKS]; /* of the blocks that are ready: enum stub_kind */

/* The exit code that all stubs of a block share: its bounds, and the fields that are filled in for
 * the process. */
struct exit_code {
	/* Fields (entry.S); fence, fork_guard, pos and limit: NULL, or all. */
	const uint8_t *begin, *fence, *fork_guard, *pos, *limit, *slow, *end;
	/* guard_rest: bytes of the guard's instruction after its displacement. */
	uint8_t fork_guard_index, guard_rest;
	const uint8_t *to;                /* its slow path */
	uint32_t word, shift;             /* id << shift | word */
};

static void put32(uint8_t *field_end, int64_t value)
{
	*(int32_t *)(field_end - 4) = (int32_t)value;
}

static const uint8_t wait_code[] = STAMP_WAIT_CODE;

/* Over a nop as long. */
static void put_fence(uint8_t *at)
{
	for (unsigned i = 0; i < sizeof(wait_code); i++)
		at[i] = wait_code[i];
}

static void write_exit_code(uint8_t *at, const struct exit_code *x)
{
#define END(label) (at + (x->label - x->begin))
	for (uint32_t i = 0; i < (uint32_t)(x->end - x->begin); i++)
		at[i] = x->begin[i];
	put32(END(slow), x->to - END(slow));
	if (!x->fork_guard)
		return;
	if (agent.settings.causal)
		put_fence(END(fence) - sizeof(wait_code));
	put32(END(fork_guard) - x->guard_rest,
	      (uint8_t *)&agent_fork_guard[x->fork_guard_index] - END(fork_guard));
	put32(END(pos), agent.tls_offset + TLS_POS);
	put32(END(limit), agent.tls_offset + TLS_END);
#undef END
}

static void write_stub(uint8_t *block, uint32_t place, uint32_t word)
{
	uint8_t *at = block + place * SITE_STUB_BYTES;
#define END(label) (at + (label - stub_begin))
	for (uint32_t i = 0; i < SITE_STUB_BYTES; i += sizeof(uint64_t))
		*(uint64_t *)(at + i) = *(const uint64_t *)(stub_begin + i);
	put32(END(stub_word), word);
	put32(END(stub_exit), block + SITE_EXITS_AT - END(stub_exit));
	put32(END(stub_real), block + place * sizeof(uint64_t) - END(stub_real));
#undef END
}

/* Kinds of stubs, by tracer and settings. No stubs are needed where returns are not followed. Of
 * those that tell values there is one for each enum memory_returned, in its order. */
enum stub_kind {
	STUB_NONE, STUB_GRAPH, STUB_STATE, STUB_VALUE, STUB_FLOAT, STUB_STRING, STUB_OBJECT,
	STUB_VIEW, STUB_REGISTERS, STUB_MEMORY, STUB_KINDS
};
_Static_assert(STUB_VALUE + RETURNED_KINDS == STUB_KINDS, "a kind for each sort of value");

static enum stub_kind stub_kind(void)
{
	if (agent.settings.tracer == MEMORY_FUNCTION)
		return STUB_NONE;
	if (agent.settings.tracer == MEMORY_GRAPH_STATE || agent.flags & AGENT_NO_TLS)
		return STUB_STATE;
	return agent.settings.values ? STUB_VALUE : STUB_GRAPH;
}

/* The kind for functions that return such a value. */
static enum stub_kind stub_kind_of(enum memory_returned returned)
{
	enum stub_kind kind = stub_kind();

	return kind == STUB_VALUE && returned < RETURNED_KINDS ? STUB_VALUE + returned : kind;
}

/* The table that leads to stubs of this kind. */
static enum memory_returned returned_of(enum stub_kind kind)
{
	return kind > STUB_VALUE ? kind - STUB_VALUE : RETURNED_WORD;
}

/* The agent records the string or block, and knows by its word where that is. */
#define TEXT_EXIT(returned)                                                                       \
	{ .begin = state_exit_begin, .slow = state_exit_slow, .end = state_exit_end,              \
	  .to = agent_slow_text, .word = (returned) << TEXT_KIND_SHIFT }

static const struct exit_code exit_codes[STUB_KINDS] = {
	[STUB_GRAPH] = { graph_exit_begin, graph_exit_fence, graph_exit_fork_guard, graph_exit_pos,
			 graph_exit_limit, graph_exit_slow, graph_exit_end, FORK_GUARD_EXIT, 1,
			 agent_slow_exit, RECORD_EXIT, 2 },
	[STUB_VALUE] = { value_exit_begin, value_exit_fence, value_exit_fork_guard, value_exit_pos,
			 value_exit_limit, value_exit_slow, value_exit_end, FORK_GUARD_VALUED, 0,
			 agent_slow_valued, RECORD_EXIT_VALUE << 2 | RECORD_EXIT, 2 },
	[STUB_FLOAT] = { float_exit_begin, float_exit_fence, float_exit_fork_guard, float_exit_pos,
			 float_exit_limit, float_exit_slow, float_exit_end, FORK_GUARD_VALUED, 0,
			 agent_slow_float,
			 (RECORD_EXIT_VALUE | RECORD_EXIT_FLOAT) << 2 | RECORD_EXIT, 2 },
	[STUB_STRING] = TEXT_EXIT(RETURNED_STRING),
	[STUB_OBJECT] = TEXT_EXIT(RETURNED_OBJECT),
	[STUB_VIEW] = TEXT_EXIT(RETURNED_VIEW),
	[STUB_REGISTERS] = TEXT_EXIT(RETURNED_REGISTERS),
	[STUB_MEMORY] = TEXT_EXIT(RETURNED_MEMORY),
	[STUB_STATE] = { .begin = state_exit_begin,
			 .slow = state_exit_slow,
			 .end = state_exit_end,
			 .to = agent_slow_state_exit },
};

static void write_stubs(uint8_t *at, uint32_t block, const struct exit_code *x)
{
	for (uint32_t i = SITE_FIRST_IN_BLOCK; i < SITE_END_IN_BLOCK; i++)
		write_stub(at, i, (block * SITE_BLOCK_IDS + i) << x->shift | x->word);
	write_exit_code(at + SITE_EXITS_AT, x);
}

/* Makes the block's page of return addresses writable, and writes its stubs, if it needs any. */
static bool make_block(uint32_t block, enum stub_kind kind)
{
	uint8_t *at = agent.arena + block * SITE_BLOCK_BYTES;

	kinds[block] = (uint8_t)kind;
	if (sys3(__NR_mprotect, at, SITE_BLOCK_BYTES, PROT_READ | PROT_WRITE) < 0)
		return false;
	POINT(block_writable);
	if (kind != STUB_NONE)
		write_stubs(at, block, &exit_codes[kind]);
	POINT(block_written);
	return sys3(__NR_mprotect, at + SITE_RETURNS_BYTES, SITE_BLOCK_BYTES - SITE_RETURNS_BYTES,
		    PROT_READ | PROT_EXEC) == 0;
}

/* Signals blocked: a handler on this thread must not wait for the thread that it interrupted. */
static bool make_or_wait(uint32_t block, enum stub_kind kind)
{
	uint8_t seen = BLOCK_NONE;

	/* Pairs with the release below and with that of other threads' makers: a block that is
	 * READY has its code. */
	if (__atomic_compare_exchange_n(&blocks[block], &seen, BLOCK_MAKING, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		seen = make_block(block, kind) ? BLOCK_READY : BLOCK_FAILED;
		/* Pairs with every acquire of blocks[]: the code is written and executable. */
		__atomic_store_n(&blocks[block], seen, __ATOMIC_RELEASE);
	}
	while ((seen = __atomic_load_n(&blocks[block], __ATOMIC_ACQUIRE)) == BLOCK_MAKING)
		if (!agent_forbids(NEED_YIELD))
			sys0(__NR_sched_yield);
	return seen == BLOCK_READY;
}

static bool block_ready(uint32_t block, enum stub_kind kind)
{
	uint64_t signals;
	bool ready;

	/* Pairs with the release in make_or_wait(): the block has its code. */
	if (__atomic_load_n(&blocks[block], __ATOMIC_ACQUIRE) == BLOCK_READY)
		return true;
	if (agent_forbids(NEED_STUBS | NEED_SIGNALS))
		return false;
	signals = signals_block();
	ready = make_or_wait(block, kind);
	signals_restore(signals);
	return ready;
}

/* Resets blocks that another thread of the parent was making, and the lock of texts.c: those
 * threads are not in the child. */
void site_after_fork(void)
{
	for (uint32_t i = 0; i < SITE_BLOCKS; i++)
		if (blocks[i] == BLOCK_MAKING)
			blocks[i] = BLOCK_NONE;
	texts_after_fork();
}

/* Returns the block's return addresses, one for each stub; they are readable whenever the block is
 * READY. */
static uint64_t *returns_of(uint32_t block)
{
	return (uint64_t *)(agent.arena + block * SITE_BLOCK_BYTES);
}

uint64_t site_return(uint64_t stub)
{
	uint64_t at = stub - (uint64_t)agent.arena, block = at / SITE_BLOCK_BYTES,
		 i = at % SITE_BLOCK_BYTES / SITE_STUB_BYTES;

	/* Pairs with make_or_wait(): an address in the arena may be any. */
	if (block >= SITE_BLOCKS ||
	    __atomic_load_n(&blocks[block], __ATOMIC_ACQUIRE) != BLOCK_READY)
		return 0;
	return __atomic_load_n(&returns_of((uint32_t)block)[i], __ATOMIC_RELAXED);
}

/* Slot 0 stays empty: every look-up ends there after a fork, since the multiplier is 0, and so does
 * that of return address 0, which stands below the first function of some stacks. */
void site_begin(void)
{
	for (unsigned i = 0; i < RETURNED_KINDS; i++)
		agent_table[i].nobody = NOBODY;
}

/* --- where signal handlers return to ---------------------------------------------------------- */

#define LOWEST_CODE (UINT64_C(4) << 20)

bool site_is_sigreturn(uint64_t ret)
{
	if (ret < LOWEST_CODE)
		/* No code: _start has no return address, and argc stands in its place. */
		return false;
	return libc_is_sigreturn((const uint8_t *)ret);
}

/* Return addresses of handlers, and their stubs. The table does not have them, so trampolines miss,
 * and every entry of a handler comes here. Both fields are written once, except that
 * forget_tables() clears the stubs. When all are taken, further handlers are treated as
 * functions. */
#define SIGRETURNS 8
static struct sigreturn { uint64_t ret, stub; } sigreturns[SIGRETURNS];

static struct sigreturn *sigreturn_of(uint64_t ret)
{
	for (unsigned i = 0; i < SIGRETURNS; i++)
		if (__atomic_load_n(&sigreturns[i].ret, __ATOMIC_RELAXED) == ret)
			return &sigreturns[i];
	return 0;
}

static bool know_sigreturn(uint64_t ret)
{
	for (unsigned i = 0; i < SIGRETURNS; i++) {
		uint64_t seen = 0;

		if (__atomic_compare_exchange_n(&sigreturns[i].ret, &seen, ret, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    seen == ret)
			return true;
	}
	return false;
}

/* Called only after agent_slow_entry found a signal frame's arguments: only then is the return
 * address read as code. */
bool site_is_of_handler(uint64_t ret)
{
	return sigreturn_of(ret) ||
	       ((ret == (uint64_t)agent_fault_landing || site_is_sigreturn(ret)) &&
		know_sigreturn(ret));
}

/* --- the table -------------------------------------------------------------------------------- */

/* Returns the slot where trampolines look, and for further probes slots that are scattered, so that
 * two texts with equal low bits do not fill the same ones. */
static uint32_t probe_slot(uint64_t ret, uint32_t probe)
{
	uint32_t slot = ((uint32_t)ret * SITE_HASH_MULTIPLIER) >> (32 - SITE_HASH_BITS);

	if (probe)
		slot = (((uint32_t)ret * SCATTER) >> (32 - SITE_HASH_BITS)) + probe;
	slot &= SLOTS - 1;
	return slot ? slot : 1;
}

static uint64_t find_stub(const struct site_table *table, uint64_t ret)
{
	const struct sigreturn *handlers = sigreturn_of(ret);

	if (handlers)
		return __atomic_load_n(&handlers->stub, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < PROBES; i++) {
		/* Pairs with the release in insert_stub(): the return address that the slot
		 * leads to is there. */
		int32_t to = __atomic_load_n(&table->slots[probe_slot(ret, i)], __ATOMIC_ACQUIRE);
		uint64_t at = (uint64_t)table + (uint64_t)(int64_t)to;

		if (!to)
			return 0;
		if (__atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED) == ret)
			/* The return address at 8 * n of its block leads to the stub at 32 * n. */
			return at +
			       (at % SITE_BLOCK_BYTES) * (SITE_STUB_BYTES / sizeof(uint64_t) - 1);
	}
	return 0;
}

/* Call when the return address is in its place: the slot must not lead to an empty one. The
 * exchange pairs with the acquire in find_stub(). */
static void insert_stub(struct site_table *table, uint64_t ret, uint64_t stub)
{
	uint64_t in_block = stub % SITE_BLOCK_BYTES;
	uint64_t at = stub - in_block + in_block / SITE_STUB_BYTES * sizeof(uint64_t);
	int32_t to = (int32_t)(int64_t)(at - (uint64_t)table);
	struct sigreturn *handlers = sigreturn_of(ret);

	if (handlers) {
		__atomic_store_n(&handlers->stub, stub, __ATOMIC_RELAXED);
		return;
	}
	for (uint32_t i = 0; i < PROBES; i++) {
		int32_t empty = 0;

		if (__atomic_compare_exchange_n(&table->slots[probe_slot(ret, i)], &empty, to,
						false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return;
	}
}

/* True for a block of an earlier tracer, with stubs of another kind. Pairs with make_or_wait():
 * kinds[] is there before READY. */
static bool is_foreign(uint32_t block, enum stub_kind kind)
{
	return __atomic_load_n(&blocks[block], __ATOMIC_ACQUIRE) == BLOCK_READY &&
	       kinds[block] != kind;
}

/* Moves the count past the block, unless another thread moves it first. */
static void pass_by(uint32_t block)
{
	uint32_t seen = __atomic_load_n(&agent.image->next_site, __ATOMIC_RELAXED),
		 next = (block + 1) * SITE_PER_BLOCK;

	if (seen < next)
		/* Relaxed: the count only hands out numbers; take_stub() decides who has one. */
		__atomic_compare_exchange_n(&agent.image->next_site, &seen, next, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Takes a whole block for one kind of value: returns its first count; SITES_MAX or more: there is
 * none left. Relaxed here and below, as in pass_by(). */
static uint32_t count_block(uint32_t *next)
{
	uint32_t seen = __atomic_load_n(&agent.image->next_site, __ATOMIC_RELAXED), first, none;

	do {
		first = (seen + SITE_PER_BLOCK - 1) / SITE_PER_BLOCK * SITE_PER_BLOCK;
		if (seen >= SITES_MAX || first >= SITES_MAX)
			return SITES_MAX;
	} while (!__atomic_compare_exchange_n(&agent.image->next_site, &seen,
					      first + SITE_PER_BLOCK, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	none = __atomic_load_n(next, __ATOMIC_RELAXED);
	/* Another thread may have taken a block meanwhile: the rest of this one stays unused. */
	if (none % SITE_PER_BLOCK == 0)
		__atomic_compare_exchange_n(next, &none, first + 1, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	return first;
}

static uint32_t count_in_block(uint32_t *next)
{
	uint32_t n = __atomic_load_n(next, __ATOMIC_RELAXED);

	while (n % SITE_PER_BLOCK)
		if (__atomic_compare_exchange_n(next, &n, n + 1, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return n;
	return count_block(next);
}

/* Returns a number for the site; SITE_IDS: there is none left. */
static uint32_t count_site(enum stub_kind kind)
{
	enum memory_returned returned = returned_of(kind);
	uint32_t n = __atomic_load_n(&agent.image->next_site, __ATOMIC_RELAXED);

	if (returned != RETURNED_WORD)
		n = count_in_block(&agent.image->next_returned[returned - 1]);
	else if (n < SITES_MAX)
		n = __atomic_fetch_add(&agent.image->next_site, 1, __ATOMIC_RELAXED);
	POINT(site_counted);
	return n < SITES_MAX ? memory_site_id_of_count(n) : SITE_IDS;
}

/* The block is of another kind: its numbers are not for this one. */
static void leave_block(uint32_t block, enum stub_kind kind)
{
	enum memory_returned returned = returned_of(kind);

	if (returned == RETURNED_WORD)
		pass_by(block);
	else
		__atomic_store_n(&agent.image->next_returned[returned - 1], 0, __ATOMIC_RELAXED);
}

/* Binds the stub with this number to ret, for as long as the process lives. False: it is bound
 * already. Release: the address is there before the slot that insert_stub() fills. */
static bool take_stub(uint32_t id, uint64_t ret)
{
	uint64_t none = 0;

	return __atomic_compare_exchange_n(&returns_of(id / SITE_BLOCK_IDS)[id % SITE_BLOCK_IDS],
					   &none, ret, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static uint32_t take_site(uint64_t ret, enum stub_kind kind)
{
	for (unsigned i = 0; i < TRIES; i++) {
		uint32_t id = count_site(kind), block = id / SITE_BLOCK_IDS;

		if (id >= SITE_IDS)
			break;
		if (is_foreign(block, kind)) {
			leave_block(block, kind);
			continue;
		}
		if (!block_ready(block, kind))
			break;
		if (take_stub(id, ret))
			return id;
	}
	return SITE_IDS;
}

uint8_t *site_stub_of(uint64_t ret, enum memory_returned returned)
{
	enum stub_kind kind = stub_kind_of(returned);
	struct site_table *table = &agent_table[returned_of(kind)];
	uint64_t stub = ret > NOBODY ? find_stub(table, ret) : 0;
	uint32_t id;

	if (stub || ret <= NOBODY)
		return (uint8_t *)stub;
	/* A caller that is no code of a file may be a translator's, which looks at its return
	 * addresses: it gets no stub. */
	if (kind != STUB_NONE && ret != (uint64_t)agent_fault_landing && !texts_has(ret))
		return 0;
	id = take_site(ret, kind);
	if (id >= SITE_IDS)
		return 0;
	agent.image->sites[memory_site_count_of_id(id)] = ret;
	POINT(site_noted);
	stub = (uint64_t)agent.arena + (uint64_t)id * SITE_STUB_BYTES;
	insert_stub(table, ret, stub);
	return (uint8_t *)stub;
}

uint8_t *site_stub(uint64_t ret)
{
	return site_stub_of(ret, RETURNED_WORD);
}

/* The return address may be 0: a stack begins here. */
uint64_t agent_entry(uint64_t ret, uint32_t id_word, uint64_t sp)
{
	const uint64_t entry[2] = {
		record_word(agent_tsc(), record_event_id(1, RECORD_EVENT_ENTRY_ONLY), RECORD_EVENT),
		record_id(id_word)
	};
	uint64_t stub;

	buffer_check_fork();
	stub = (uint64_t)site_stub_of(ret, id_word >> RETURNED_SHIFT);
	if (!stub)
		buffer_write_words(agent_tls_block(), entry, 2, sp);
	return stub;
}

/* Entry of a signal's handler. 0: it is not one, or there is no stub, and nothing was written. */
uint64_t agent_handler(uint64_t ret, uint32_t id_word, uint64_t sp)
{
	const uint64_t entry[2] = {
		record_word(agent_tsc(), record_event_id(1, RECORD_EVENT_HANDLER), RECORD_EVENT),
		record_id(id_word)
	};
	uint64_t stub;

	buffer_check_fork();
	if (!site_is_of_handler(ret))
		return 0;
	ret = faults_enter(sp, ret);
	stub = site_is_of_handler(ret) ? (uint64_t)site_stub(ret) : 0;
	if (stub)
		buffer_write_words(agent_tls_block(), entry, 2, sp);
	return stub;
}

uint64_t agent_call_site(uint64_t ret, uint64_t unused, uint64_t sp)
{
	(void)unused;
	if (faults_is_frame(sp) && site_is_of_handler(ret))
		faults_enter(sp, ret);
	return agent_call_stub(ret);
}

/* A function entered by a jump returns through the stub of its call. */
uint64_t agent_call_stub(uint64_t ret)
{
	uint64_t stub = 0;

	buffer_check_fork();
	if (site_is_in_arena(ret))
		stub = agent.settings.record_both ? ret & ~(uint64_t)(SITE_STUB_BYTES - 1) : 0;
	else
		stub = (uint64_t)site_stub(ret);
	return stub ? stub : (uint64_t)agent.arena;
}

/* --- from one tracer to the next ---
 * Stubs outlive a detach: frames that return through them may stand on stacks as long as the
 * program lives. Their blocks stay, each with its page of return addresses. */
static enum stub_kind table_kind; /* kind of the stubs that the first table leads to */

void site_keep(void)
{
	table_kind = stub_kind();
}

static void forget_tables(void)
{
	/* A fresh zero page is cheaper than two megabytes of stores. */
	if (sys3(__NR_madvise, agent_table, sizeof(agent_table), MADV_DONTNEED) < 0)
		memset(agent_table, 0, sizeof(agent_table));
	for (unsigned i = 0; i < SIGRETURNS; i++)
		sigreturns[i].stub = 0;
	site_begin();
}

static void insert_block(uint32_t block)
{
	const uint64_t *returns = returns_of(block);

	for (unsigned i = SITE_FIRST_IN_BLOCK; i < SITE_END_IN_BLOCK; i++)
		if (returns[i])
			insert_stub(&agent_table[returned_of(kinds[block])], returns[i],
				    (uint64_t)returns + i * SITE_STUB_BYTES);
}

/* Whether stubs of one kind stand beside those of the other: kinds of values do. */
static bool is_of_family(enum stub_kind kind, enum stub_kind first)
{
	return kind == first || (first == STUB_VALUE && kind > STUB_VALUE);
}

/* Stubs of another kind stay for frames that return through them, and for a later tracer that wants
 * that kind. Sites without stubs are forgotten: nothing returns there. */
static void change_kind(enum stub_kind kind)
{
	forget_tables();
	for (uint32_t i = 0; i < SITE_BLOCKS; i++)
		if (blocks[i] == BLOCK_READY && is_of_family(kinds[i], kind))
			insert_block(i);
	table_kind = kind;
}

void site_renew(void)
{
	change_kind(stub_kind());
}

/* Copies the block's sites into the image. Returns the count of sites up to its last one; 0: it has
 * none. */
static uint32_t tell_block(uint32_t block)
{
	const uint64_t *returns = returns_of(block);
	uint32_t counted = 0;

	for (unsigned i = SITE_FIRST_IN_BLOCK; i < SITE_END_IN_BLOCK; i++) {
		uint32_t count = memory_site_count_of_id(block * SITE_BLOCK_IDS + i);

		agent.image->sites[count] = returns[i];
		if (returns[i])
			counted = count + 1;
	}
	return counted;
}

/* New sites of this kind are counted after the last one; is_foreign() makes take_site() skip blocks
 * of other kinds. */
void site_adopt(void)
{
	uint32_t counted, next = 0;

	if (table_kind == STUB_NONE || table_kind != stub_kind())
		change_kind(stub_kind());
	for (uint32_t i = 0; i < SITE_BLOCKS; i++) {
		if (blocks[i] != BLOCK_READY)
			continue;
		counted = tell_block(i);
		if (!counted || !is_of_family(kinds[i], table_kind))
			continue;
		if (kinds[i] == table_kind)
			next = counted;
		else
			agent.image->next_returned[returned_of(kinds[i]) - 1] = counted;
	}
	agent.image->next_site = next;
}
