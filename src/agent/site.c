/* SPDX-License-Identifier: MIT */
/* Call sites: the table from a return address to its stub, and the making of stubs. All of it may
 * be interrupted by a signal handler that does the same.
 *
 * Memory of this process alone decides where a stub returns to: a forked child has a copy of it. The image memory, which a
 * child that gave up its rights shares, counts sites for the whole family and tells the tracer what they are; the agent
 * takes nothing from there but the count, and a number that is taken here already is passed over.
 *
 * A process only ever adds to its table, without locks: an empty slot becomes a full one in one
 * instruction. Two threads that meet the same
 * new return address (or a handler and what it interrupted) may both make a stub; both are right. Stub code is written a block at a
 * time, before any of it can be reached: a page is never writable and executable at once. */
#include <linux/mman.h>
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/sys.h"
#include "shared/points.h"

#define PROBES 512
#define PAGE 4096u
#define NOBODY UINT64_C(1) /* no return address */
#define PER_BLOCK (SITE_BLOCK_IDS - SITE_FIRST_IN_BLOCK)
#define SITES_MAX (SITE_BLOCKS * PER_BLOCK)
#define TRIES (2 * SITE_BLOCKS) /* numbers, until one is free: a hostile child sets the count back */

struct site_entry agent_table[1u << SITE_HASH_BITS] __attribute__((aligned(PAGE)));
uint8_t *agent_arena_at; /* = agent.arena, for entry.S */

extern const uint8_t stub_begin[], stub_word[], stub_gate[], stub_pos[], stub_limit[], stub_real[],
	stub_record[], stub_end[];
extern const uint8_t value_stub_begin[], value_stub_word[], value_stub_gate[], value_stub_pos[], value_stub_limit[],
	value_stub_real[], value_stub_record[], value_stub_end[];
extern const uint8_t state_stub_begin[], state_stub_id[], state_stub_exit[], state_stub_real[], state_stub_end[];
extern uint8_t agent_slow_record[], agent_slow_valued[], agent_slow_state_exit[];

_Static_assert(SITE_IDS <= RECORD_EXIT_VALUE, "a site's id leaves the bit free that says that a value follows");

enum block_state { BLOCK_NONE, BLOCK_MAKING, BLOCK_READY, BLOCK_FAILED };
static uint8_t blocks[SITE_BLOCKS];
static uint8_t kinds[SITE_BLOCKS]; /* of those that are ready: enum stub_kind */

static void copy(uint8_t *to, const uint8_t *from, const uint8_t *end)
{
	while (from < end)
		*to++ = *from++;
}

static void put32(uint8_t *field_end, int64_t value)
{
	*(int32_t *)(field_end - 4) = (int32_t)value;
}

static void write_graph_stub(uint8_t *at, uint32_t id, uint8_t *real)
{
#define END(label) (at + (label - stub_begin))
	copy(at, stub_begin, stub_end);
	put32(END(stub_word), id << 2 | RECORD_EXIT);
	put32(END(stub_gate) - 1, (uint8_t *)agent_gate - END(stub_gate));
	put32(END(stub_pos), agent.tls_offset + TLS_POS);
	put32(END(stub_limit), agent.tls_offset + TLS_END);
	put32(END(stub_real), real - END(stub_real));
	put32(END(stub_record), agent_slow_record - END(stub_record));
#undef END
}

static void write_value_stub(uint8_t *at, uint32_t id, uint8_t *real)
{
#define END(label) (at + (label - value_stub_begin))
	copy(at, value_stub_begin, value_stub_end);
	put32(END(value_stub_word), (id | RECORD_EXIT_VALUE) << 2 | RECORD_EXIT);
	put32(END(value_stub_gate), (uint8_t *)&agent_gate[GATE_VALUED] - END(value_stub_gate));
	put32(END(value_stub_pos), agent.tls_offset + TLS_POS);
	put32(END(value_stub_limit), agent.tls_offset + TLS_END);
	put32(END(value_stub_real), real - END(value_stub_real));
	put32(END(value_stub_record), agent_slow_valued - END(value_stub_record));
#undef END
}

static void write_state_stub(uint8_t *at, uint32_t id, uint8_t *real)
{
#define END(label) (at + (label - state_stub_begin))
	copy(at, state_stub_begin, state_stub_end);
	put32(END(state_stub_id), id);
	put32(END(state_stub_exit), agent_slow_state_exit - END(state_stub_exit));
	put32(END(state_stub_real), real - END(state_stub_real));
#undef END
}

/* What the stubs do. None are needed where returns are not followed. */
enum stub_kind { STUB_NONE, STUB_GRAPH, STUB_STATE, STUB_VALUE, STUB_KINDS };

static enum stub_kind stub_kind(void)
{
	if (agent.settings.tracer == MEMORY_FUNCTION)
		return STUB_NONE;
	if (agent.settings.tracer == MEMORY_GRAPH_STATE || agent.flags & AGENT_FAR)
		return STUB_STATE;
	return agent.settings.values ? STUB_VALUE : STUB_GRAPH;
}

/* Makes the block's page of return addresses and writes its stubs. */
static bool make_block(uint32_t block)
{
	static void (*const write[STUB_KINDS])(uint8_t *at, uint32_t id, uint8_t *real) = {
		[STUB_NONE] = write_graph_stub, [STUB_GRAPH] = write_graph_stub, [STUB_STATE] = write_state_stub,
		[STUB_VALUE] = write_value_stub,
	};
	uint8_t *at = agent.arena + block * SITE_BLOCK_BYTES;

	kinds[block] = (uint8_t)stub_kind();
	if (sys3(__NR_mprotect, at, SITE_BLOCK_BYTES, PROT_READ | PROT_WRITE) < 0)
		return false;
	POINT(block_writable);
	for (uint32_t i = SITE_FIRST_IN_BLOCK; i < SITE_BLOCK_IDS; i++)
		write[kinds[block]](at + i * SITE_STUB_BYTES, block * SITE_BLOCK_IDS + i, at + i * 8);
	POINT(block_written);
	return sys3(__NR_mprotect, at + PAGE, SITE_BLOCK_BYTES - PAGE, PROT_READ | PROT_EXEC) == 0;
}

/* Signals blocked: a handler on this thread must not wait for what it interrupted. */
static bool make_or_wait(uint32_t block)
{
	uint8_t seen = BLOCK_NONE;

	if (__atomic_compare_exchange_n(&blocks[block], &seen, BLOCK_MAKING, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		seen = make_block(block) ? BLOCK_READY : BLOCK_FAILED;
		__atomic_store_n(&blocks[block], seen, __ATOMIC_RELEASE);
	}
	while ((seen = __atomic_load_n(&blocks[block], __ATOMIC_ACQUIRE)) == BLOCK_MAKING)
		if (!(agent.forbidden & NEED_YIELD))
			sys0(__NR_sched_yield);
	return seen == BLOCK_READY;
}

static bool block_ready(uint32_t block)
{
	uint64_t signals;
	bool ready;

	if (__atomic_load_n(&blocks[block], __ATOMIC_ACQUIRE) == BLOCK_READY)
		return true;
	if (agent.forbidden & (NEED_STUBS | NEED_SIGNALS))
		return false;
	signals = signals_block();
	ready = make_or_wait(block);
	signals_restore(signals);
	return ready;
}

/* A block that another thread of the parent was making is to be made again. */
void site_after_fork(void)
{
	for (uint32_t i = 0; i < SITE_BLOCKS; i++)
		if (blocks[i] == BLOCK_MAKING)
			blocks[i] = BLOCK_NONE;
}

/* The block's page of return addresses, one for each stub: it is readable whenever stubs of the block are. */
static uint64_t *returns_of(uint32_t block)
{
	return (uint64_t *)(agent.arena + block * SITE_BLOCK_BYTES);
}

uint64_t site_return(uint64_t stub)
{
	uint64_t at = stub - (uint64_t)agent.arena, block = at / SITE_BLOCK_BYTES, i = at % SITE_BLOCK_BYTES / SITE_STUB_BYTES;

	if (block >= SITE_BLOCKS || __atomic_load_n(&blocks[block], __ATOMIC_ACQUIRE) != BLOCK_READY)
		return 0;
	return __atomic_load_n(&returns_of((uint32_t)block)[i], __ATOMIC_RELAXED);
}

static uint32_t hash(uint64_t ret)
{
	return ((uint32_t)ret * SITE_HASH_MULTIPLIER) >> (32 - SITE_HASH_BITS);
}

/* Slot 0 is where every lookup ends after a fork, and that of the return address 0, which stands below the
 * first function of some stacks: it must be nobody's. */
void site_begin(void)
{
	agent_table[0].ret = NOBODY;
}

static uint32_t slot_after(uint32_t slot)
{
	slot = (slot + 1) & ((1u << SITE_HASH_BITS) - 1);
	return slot ? slot : 1;
}

static uint64_t find(uint64_t ret)
{
	uint32_t slot = hash(ret) ? hash(ret) : 1;

	for (int i = 0; i < PROBES; i++, slot = slot_after(slot)) {
		uint64_t key = __atomic_load_n(&agent_table[slot].ret, __ATOMIC_ACQUIRE);

		if (key == ret)
			return agent_table[slot].stub;
		if (!key)
			return 0;
	}
	return 0;
}

/* Both words at once: whoever is interrupted here for good leaves no half-made entry. */
static bool claim(struct site_entry *e, uint64_t ret, uint64_t stub)
{
	uint64_t old_ret = 0, old_stub = 0;
	bool claimed;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(claimed), "+m"(*e), "+a"(old_ret), "+d"(old_stub)
			 : "b"(ret), "c"(stub) : "memory");
	return claimed;
}

static void insert(uint64_t ret, uint64_t stub)
{
	uint32_t slot = hash(ret) ? hash(ret) : 1;

	for (int i = 0; i < PROBES; i++, slot = slot_after(slot))
		if (claim(&agent_table[slot], ret, stub))
			return;
}

/* A block of an earlier tracer's, with stubs of another kind. */
static bool is_foreign(uint32_t block)
{
	return __atomic_load_n(&blocks[block], __ATOMIC_ACQUIRE) == BLOCK_READY && kinds[block] != stub_kind();
}

/* The count goes on behind the block, unless somebody else moves it meanwhile. */
static void pass_by(uint32_t block)
{
	uint32_t seen = __atomic_load_n(&agent.image->next_site, __ATOMIC_RELAXED), next = (block + 1) * PER_BLOCK;

	if (seen < next)
		__atomic_compare_exchange_n(&agent.image->next_site, &seen, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* A number for the site; SITE_IDS: there is none. */
static uint32_t count_site(void)
{
	uint32_t n = __atomic_load_n(&agent.image->next_site, __ATOMIC_RELAXED);

	if (n < SITES_MAX)
		n = __atomic_fetch_add(&agent.image->next_site, 1, __ATOMIC_RELAXED);
	POINT(site_counted);
	return n < SITES_MAX ? site_id_of_count(n) : SITE_IDS;
}

/* The stub with this number returns to ret from now on, and to nowhere else as long as the process lives. */
static bool take_stub(uint32_t id, uint64_t ret)
{
	uint64_t none = 0;

	return __atomic_compare_exchange_n(&returns_of(id / SITE_BLOCK_IDS)[id % SITE_BLOCK_IDS], &none, ret, false,
					   __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static uint32_t take_site(uint64_t ret, bool needs_code)
{
	for (unsigned i = 0; i < TRIES; i++) {
		uint32_t id = count_site(), block = id / SITE_BLOCK_IDS;

		if (id >= SITE_IDS)
			break;
		if (is_foreign(block)) {
			pass_by(block);
			continue;
		}
		if (needs_code && !block_ready(block))
			break;
		if (!needs_code || take_stub(id, ret))
			return id;
	}
	return SITE_IDS;
}

uint8_t *site_stub(uint64_t ret, bool needs_code)
{
	uint64_t stub = ret > NOBODY ? find(ret) : 0;
	uint32_t id;

	if (stub || ret <= NOBODY)
		return (uint8_t *)stub;
	id = take_site(ret, needs_code);
	if (id >= SITE_IDS)
		return 0;
	agent.image->sites[id] = ret;
	POINT(site_noted);
	stub = (uint64_t)agent.arena + (uint64_t)id * SITE_STUB_BYTES;
	insert(ret, stub);
	return (uint8_t *)stub;
}

/* The return address may be 0: a stack begins here. */
uint64_t agent_entry(uint64_t ret, uint32_t id_word, uint64_t sp)
{
	const uint64_t entry[2] = { record_word(read_tsc(), record_event_id(1, RECORD_EVENT_ENTRY_ONLY), RECORD_EVENT),
				    record_id(id_word) };
	uint64_t stub;

	buffer_check_fork();
	stub = (uint64_t)site_stub(ret, true);
	if (!stub)
		buffer_write_words(agent_tls_block(), entry, 2, sp);
	return stub;
}

/* The stub that a function entered by a jump returns through is its call's. */
uint64_t agent_site(uint64_t ret)
{
	uint64_t stub = 0;

	buffer_check_fork();
	if (in_arena(ret))
		stub = agent.settings.calls_too ? ret & ~(uint64_t)(SITE_STUB_BYTES - 1) : 0;
	else
		stub = (uint64_t)site_stub(ret, stub_kind() != STUB_NONE);
	return stub ? stub : (uint64_t)agent.arena;
}

/* --- from one tracer to the next ---------------------------------------------------------
 * Stubs outlive a detach: frames that return through them may stand on stacks for as long as the
 * program lives. Their blocks stay, each with its page of return addresses. */
static enum stub_kind table_kind; /* whose stubs the table leads to */

void site_keep(void)
{
	table_kind = stub_kind();
}

static void forget_table(void)
{
	if (sys3(__NR_madvise, agent_table, sizeof(agent_table), MADV_DONTNEED) < 0)
		memset(agent_table, 0, sizeof(agent_table));
	site_begin();
}

static void insert_block(uint32_t block)
{
	const uint64_t *returns = returns_of(block);

	for (unsigned i = SITE_FIRST_IN_BLOCK; i < SITE_BLOCK_IDS; i++)
		if (returns[i])
			insert(returns[i], (uint64_t)((const uint8_t *)returns + i * SITE_STUB_BYTES));
}

/* Stubs of another kind stay for those who return through them, and for the next tracer that wants
 * such. Sites without stubs are forgotten: nothing returns there. */
static void change_kind(enum stub_kind kind)
{
	forget_table();
	for (uint32_t i = 0; i < SITE_BLOCKS; i++)
		if (blocks[i] == BLOCK_READY && kinds[i] == kind)
			insert_block(i);
	table_kind = kind;
}

void site_renew(void)
{
	change_kind(stub_kind());
}

/* Tells the image of the block's sites. Returns how many sites are counted with its last one; 0: it has none. */
static uint32_t tell_block(uint32_t block)
{
	const uint64_t *returns = returns_of(block);
	uint32_t counted = 0;

	for (unsigned i = SITE_FIRST_IN_BLOCK; i < SITE_BLOCK_IDS; i++) {
		agent.image->sites[block * SITE_BLOCK_IDS + i] = returns[i];
		if (returns[i])
			counted = block * PER_BLOCK + i - SITE_FIRST_IN_BLOCK + 1;
	}
	return counted;
}

/* New sites of this kind are counted behind its last one; is_foreign leads past blocks of other kinds. */
void site_adopt(void)
{
	uint32_t counted, next = 0;

	if (table_kind == STUB_NONE || table_kind != stub_kind())
		change_kind(stub_kind());
	for (uint32_t i = 0; i < SITE_BLOCKS; i++) {
		if (blocks[i] != BLOCK_READY)
			continue;
		counted = tell_block(i);
		if (counted && kinds[i] == table_kind)
			next = counted;
	}
	agent.image->next_site = next;
}
