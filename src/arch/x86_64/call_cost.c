/* SPDX-License-Identifier: MIT */
/* Measures a recorded call with the templates themselves: trampoline.S by trampoline_emit(), and
 * stub.S, whose fields are filled in here as the agent does (agent/site.c). The session calls it at
 * its start, on its thread. The code's thread-local block is this file's own, so that it has
 * nothing of a session. Code is written first and becomes executable then.
 *
 * Rounds are short, and the median of them counts: on a loaded machine most rounds are not
 * interrupted, and what interrupts one is no cost of a call. Where no code can be mapped the cost
 * is not known. */
#include "arch/call_cost.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/stamp.h"
#include "arch/trampoline.h"
#include "shared/memory.h"
#include "shared/record.h"
#include "shared/tls.h"

#define CALLS 1024u /* of a round: some 30 us, and records of a sub-buffer's third */
#define ROUNDS 31u
#define WORDS (3u * CALLS) /* entry, exit, value */
#define PLACE SITE_FIRST_IN_BLOCK
#define PAGE 4096u

/* Calls f n times; its call returns to call_cost_return (call_cost.S). */
void call_cost_calls(void *f, size_t n);
#define LABEL(name) extern const uint8_t name[]
LABEL(call_cost_return);
LABEL(stub_begin); LABEL(stub_word); LABEL(stub_exit); LABEL(stub_real);
LABEL(graph_exit_begin); LABEL(graph_exit_fork_guard); LABEL(graph_exit_pos);
LABEL(graph_exit_limit); LABEL(graph_exit_fence); LABEL(graph_exit_end);
LABEL(value_exit_begin); LABEL(value_exit_fork_guard); LABEL(value_exit_pos);
LABEL(value_exit_limit); LABEL(value_exit_fence); LABEL(value_exit_end);
#undef LABEL

/* The memory of a measurement: `block` begins at a multiple of its size, as in an arena. */
struct bench {
	uint8_t block[SITE_BLOCK_BYTES]; /* return addresses, stubs, exits */
	uint32_t fork_guard[PAGE / 4];   /* the multiplier; what a value's exit reserves */
	struct trampoline_pool pool;     /* zero: nothing of it is called */
	uint8_t plain[16], hooked[16];   /* the function, and the one that leads to `trampoline` */
	uint8_t trampoline[PAGE - 32 - sizeof(struct trampoline_pool)];
	uint8_t table[SITE_TABLE_BYTES];
	uint64_t words[WORDS];
};

static __thread struct agent_tls block;

/* mov $1, %eax; ret. A jump replaces the first instruction. */
static const uint8_t function[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
#define FIRST 5

static int32_t distance_to_block(void)
{
	return (int32_t)((uint8_t *)&block - (uint8_t *)__builtin_thread_pointer());
}

/* 4 bytes that end at `end`. */
static void put32(uint8_t *end, int64_t value)
{
	const int32_t v = (int32_t)value;

	memcpy(end - sizeof(v), &v, sizeof(v));
}

struct exit_template {
	const uint8_t *begin, *fence, *fork_guard, *pos, *limit, *end;
	uint8_t rest; /* bytes of the fork guard's instruction behind its displacement */
	uint32_t guard, word;
};

static const struct exit_template exits[] = {
	{ graph_exit_begin, graph_exit_fence, graph_exit_fork_guard, graph_exit_pos,
	  graph_exit_limit, graph_exit_end, 1, 0, RECORD_EXIT },
	{ value_exit_begin, value_exit_fence, value_exit_fork_guard, value_exit_pos,
	  value_exit_limit, value_exit_end, 0, 1, RECORD_EXIT_VALUE << 2 | RECORD_EXIT },
};

static void write_exit(struct bench *b, const struct exit_template *x, bool causal)
{
	static const uint8_t wait[] = STAMP_WAIT_CODE;
	uint8_t *at = b->block + SITE_EXITS_AT;
#define END(label) (at + (x->label - x->begin))

	memcpy(at, x->begin, (size_t)(x->end - x->begin));
	if (causal)
		memcpy(END(fence) - sizeof(wait), wait, sizeof(wait));
	put32(END(fork_guard) - x->rest, (uint8_t *)&b->fork_guard[x->guard] - END(fork_guard));
	put32(END(pos), distance_to_block() + TLS_POS);
	put32(END(limit), distance_to_block() + TLS_END);
#undef END
}

static void write_stub(struct bench *b, uint32_t word)
{
	uint8_t *at = b->block + PLACE * SITE_STUB_BYTES;
	uint64_t *back = (uint64_t *)b->block + PLACE;
#define END(label) (at + (label - stub_begin))

	*back = (uintptr_t)call_cost_return;
	memcpy(at, stub_begin, SITE_STUB_BYTES);
	put32(END(stub_word), PLACE << 2 | word);
	put32(END(stub_exit), b->block + SITE_EXITS_AT - END(stub_exit));
	put32(END(stub_real), (uint8_t *)back - END(stub_real));
#undef END
}

/* The slot of call_cost_return leads to where its address stands in the block. */
static void write_table(struct bench *b)
{
	const uint32_t hash = (uint32_t)(uintptr_t)call_cost_return * SITE_HASH_MULTIPLIER;
	uint8_t *slot = b->table + 8 + 4 * (size_t)(hash >> (32 - SITE_HASH_BITS));

	put32(slot + 4, b->block + PLACE * sizeof(uint64_t) - b->table);
}

/* The hooked function: a jump to its trampoline, which comes back behind it. */
static bool write_function(struct bench *b, bool causal)
{
	const struct trampoline_env env = {
		.tls = distance_to_block(), .key = distance_to_block() + TLS_KEY,
		.table = (uintptr_t)b->table, .fork_guard = (uintptr_t)b->fork_guard,
		.pool = (uintptr_t)&b->pool, .causal = causal,
	};
	const struct relocate_recipe recipe = {
		.n = 1, .len = FIRST, .falls = true,
		.insn = { { .op = RELOCATE_COPY, .len = FIRST } },
	};
	const uint64_t from = (uintptr_t)b->hooked, to = (uintptr_t)b->trampoline;

	memcpy(b->plain, function, sizeof(function));
	memcpy(b->hooked, function, sizeof(function));
	b->hooked[0] = 0xe9;
	put32(b->hooked + FIRST, b->trampoline - (b->hooked + FIRST));
	return trampoline_emit(TRAMPOLINE_GRAPH, &env, 1, &recipe, function, from, from, to,
			       b->trampoline) > 0;
}

/* All that is code becomes executable, and is not writable any more. */
static bool prepare(struct bench *b, bool values, bool causal)
{
	const size_t code = offsetof(struct bench, pool) - offsetof(struct bench, fork_guard);

	b->fork_guard[0] = SITE_HASH_MULTIPLIER;
	b->fork_guard[1] = 2 * sizeof(uint64_t);
	write_exit(b, &exits[values], causal);
	write_stub(b, exits[values].word);
	write_table(b);
	return write_function(b, causal) &&
	       !mprotect(b, sizeof(b->block) + code + PAGE, PROT_READ | PROT_EXEC);
}

/* Ticks of CALLS calls. */
static uint64_t time_calls(void *f)
{
	const uint64_t begin = stamp_read();

	call_cost_calls(f, CALLS);
	return stamp_read() - begin;
}

/* By the records: ticks between the stamps of CALLS entries and exits. */
static uint64_t time_between(const struct bench *b, bool values)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < CALLS; i++) {
		const uint64_t *w = b->words + i * (2 + values);

		sum += (w[1] >> 24) - (w[0] >> 24);
	}
	return sum;
}

struct round { uint64_t plain, hooked, between; };

static struct round run_round(struct bench *b, bool values)
{
	struct round r;

	block = (struct agent_tls){ .pos = (uintptr_t)b->words,
				    .end = (uintptr_t)(b->words + WORDS) };
	r.plain = time_calls(b->plain);
	r.hooked = time_calls(b->hooked);
	r.between = time_between(b, values);
	return r;
}

static int by_hooked(const void *a, const void *b)
{
	const struct round *x = a, *y = b;

	return x->hooked < y->hooked ? -1 : x->hooked > y->hooked;
}

static int by_plain(const void *a, const void *b)
{
	const struct round *x = a, *y = b;

	return x->plain < y->plain ? -1 : x->plain > y->plain;
}

/* The first round fills the caches and is not counted. A plain call takes as long inside of the
 * stamps as without them. */
static void measure(struct bench *b, bool values, struct call_cost *out)
{
	struct round rounds[ROUNDS];
	uint64_t plain, hooked, between;

	for (unsigned i = 0; i <= ROUNDS; i++)
		rounds[i ? i - 1 : 0] = run_round(b, values);
	qsort(rounds, ROUNDS, sizeof(*rounds), by_plain);
	plain = rounds[ROUNDS / 2].plain;
	qsort(rounds, ROUNDS, sizeof(*rounds), by_hooked);
	hooked = rounds[ROUNDS / 2].hooked;
	between = rounds[ROUNDS / 2].between;
	_Static_assert(CALLS == CALL_COST_UNIT, "sums are in the unit of the result");
	if (hooked <= plain || hooked > UINT32_MAX)
		return;
	out->total = (uint32_t)(hooked - plain);
	out->inside = (uint32_t)(between > plain ? between - plain : 0);
	out->inside = out->inside < out->total ? out->inside : out->total;
}

/* Twice the room: the block's begin has to be a multiple of its size. */
bool call_cost_measure(bool values, bool causal, struct call_cost *out)
{
	const size_t room = sizeof(struct bench) + SITE_BLOCK_BYTES;
	uint8_t *at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bench *b;
	bool made;

	*out = (struct call_cost){ 0 };
	if (at == MAP_FAILED)
		return false;
	b = (struct bench *)(((uintptr_t)at + SITE_BLOCK_BYTES - 1) &
			     ~(uintptr_t)(SITE_BLOCK_BYTES - 1));
	made = prepare(b, values, causal);
	if (made)
		measure(b, values, out);
	munmap(at, room);
	return made && out->total;
}
