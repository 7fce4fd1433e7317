/* SPDX-License-Identifier: MIT */
/* Adds up the locking of each thread on that thread: a row for each lock and place, one for each
 * order of locks (shared/locks.h). lock.S calls this on the calling thread, before and after the
 * function. No lock is taken, and no system call made, but for a thread's first lock and for a
 * new row.
 *
 * A row lies in the thread's sub-buffer, where it outlives the thread; when the thread leaves
 * the sub-buffer, its sums begin anew in the next one. A handler that interrupts a change of a
 * row counts its own locks as lost records. If it fills the sub-buffer meanwhile, it leaves a
 * hole there, as an interrupted record would: the tracer does not give such a sub-buffer to
 * anybody before this thread has ended. What finds no room is counted as lost. */
#include "agent/lock_points.h"

#include <asm/unistd.h>
#include <linux/mman.h>

#include "agent/buffer.h"
#include "agent/lend.h"
#include "agent/needs.h"
#include "agent/signals.h"
#include "agent/sys.h"

#define NOTED 8192u        /* tables that are reused when their thread has ended */
#define LOOKS 16u          /* of them that a new thread looks at */
#define ROWS_MOST (3u << LOCK_INDEX_BITS >> 2)
#define EOWNERDEAD 130u
#define ESRCH 3
#define MUTEX_OF_NULL 65536u /* no lock is below */
#define NO_STAMP 1u        /* lock_visit.begin of a call that found its lock free */

/* The arguments of a function of locks, where lock.S keeps them; it gives us the address. After the
 * function, `begin` and `result` stand in for two of them. */
struct lock_visit {
	uint64_t lock, other;     /* other: a condition variable's mutex */
	union { uint64_t third, begin; };
	union { uint64_t fourth, result; };
	uint64_t body;
	uint32_t point, pad;
	uint64_t room, site;      /* site: the program's return address */
};

/* Before the function. 0: it is jumped to; else `begin`: it is called, and agent_lock_got() after
 * it. */
uint64_t agent_lock_enter(const struct lock_visit *c);
void agent_lock_got(const struct lock_visit *c);

/* --- tables ----------------------------------------------------------------------------- */

uint32_t lock_tables;
static struct noted_table { uint64_t base; uint32_t tid, taken; } noted[NOTED];
static uint32_t next_look;

static bool has_ended(uint32_t tid)
{
	return tid && sys3(__NR_tgkill, agent.pid, tid, 0) == -ESRCH;
}

/* A table whose thread has ended: threads end without telling. */
static uint64_t take_ended(uint32_t own)
{
	uint32_t n = __atomic_load_n(&lock_tables, __ATOMIC_RELAXED);

	n = n < NOTED ? n : NOTED;
	for (uint32_t k = 0; k < LOOKS && k < n; k++) {
		struct noted_table *at =
			&noted[__atomic_fetch_add(&next_look, 1, __ATOMIC_RELAXED) % n];
		/* Pairs with the release in take_new(): the base is there. */
		uint32_t tid = __atomic_load_n(&at->tid, __ATOMIC_ACQUIRE);

		if (has_ended(tid) &&
		    __atomic_compare_exchange_n(&at->tid, &tid, own, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return at->base;
	}
	return 0;
}

static uint64_t take_new(uint32_t own)
{
	long at = sys6(__NR_mmap, 0, sizeof(struct lock_table), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t i;

	if (at <= 0)
		return 0;
	i = __atomic_fetch_add(&lock_tables, 1, __ATOMIC_RELAXED);
	if (i < NOTED) {
		noted[i].base = (uint64_t)at;
		/* Pairs with the acquire in take_ended(). */
		__atomic_store_n(&noted[i].tid, own, __ATOMIC_RELEASE);
	}
	return (uint64_t)at;
}

static __attribute__((noinline)) void take_table(struct agent_tls *t)
{
	uint64_t signals, base;
	uint32_t tid;

	if (agent_forbids(NEED_STACKS | NEED_SIGNALS | NEED_THREADS))
		return;
	signals = signals_block();
	if (signals == SIGNALS_UNTOUCHED)
		return;
	if (!stack_is_there(t)) {
		tid = (uint32_t)sys0(__NR_gettid);
		base = take_ended(tid);
		if (!base)
			base = take_new(tid);
		if (base) {
			struct lock_table *table = (struct lock_table *)base;

			table->busy = table->end = 0;
			table->n_held = 0;
			t->known = (t->known & TLS_KNOWN_MASK) | STACK_SESSION;
			t->stack_base = base;
		}
	}
	signals_restore(signals);
}

void lock_tables_after_fork(void)
{
	for (uint32_t i = 0; i < lock_tables && i < NOTED; i++)
		noted[i].tid = 0;
}

void lock_tables_end(void)
{
	for (uint32_t i = 0; i < lock_tables && i < NOTED; i++)
		sys2(__NR_munmap, noted[i].base, sizeof(struct lock_table));
	lock_tables = 0;
}

/* --- rows ------------------------------------------------------------------------------- */

/* Between the two nothing of the table is touched by a handler. NULL: it cannot be had. The
 * signal fences keep the compiler from moving accesses past `busy`, which handlers of this thread
 * read. */
static inline struct lock_table *begin_work(const struct lock_visit *c, struct agent_tls **block)
{
	struct agent_tls *t;
	struct lock_table *table;

	buffer_check_fork();
	lend_look((uint64_t)&c->site);
	*block = t = agent_tls_block();
	if (!stack_is_there(t))
		take_table(t);
	table = lock_table_of(t);
	if (!table || table->busy > (uint64_t)c)
		return NULL;
	__atomic_store_n(&table->busy, (uint64_t)c, __ATOMIC_RELAXED);
	/* Pairs with the read of `busy` above, by a signal's handler of this thread, as the other
	 * two fences do: the table's words change between them. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return table;
}

/* Pairs with begin_work(), in a signal's handler of this thread: the words are whole before. */
static inline void end_work(struct lock_table *table)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&table->busy, 0, __ATOMIC_RELAXED);
}

/* Never 0. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	return (a ^ a >> 29) | 1;
}

static void clear_index(struct lock_table *table)
{
	inside_fill(table->index, 0, sizeof(table->index));
	table->n_rows = 0;
}

/* The place of a key, or the free one for it: the index is never full. */
static inline uint32_t slot_of_key(const struct lock_table *table, uint64_t key)
{
	uint32_t i = (uint32_t)(key >> (64 - LOCK_INDEX_BITS));

	while (table->index[i].row && table->index[i].key != key)
		i = (i + 1) & ((1u << LOCK_INDEX_BITS) - 1);
	return i;
}

/* Writes a row with n words of payload, as its key's. Handlers may run meanwhile: what they
 * change is looked at again. NULL: it has no room, and is counted as lost. */
static __attribute__((noinline)) uint64_t *add_row(struct agent_tls *t, struct lock_table *table,
						   uint64_t key, uint64_t *words, uint32_t n)
{
	uint64_t work = table->busy, at;
	uint32_t i;

	words[0] = record_word(stamp_read(), record_event_id(n, RECORD_EVENT_LOCK), RECORD_EVENT);
	end_work(table);
	at = buffer_write_kept(t, words, 1 + n);
	/* Pairs as in begin_work(). */
	__atomic_store_n(&table->busy, work, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!at || t->buffer == MEMORY_NONE || at < t->end - MEMORY_BUFFER_USABLE || at >= t->end)
		return NULL;
	if (table->end != t->end || table->n_rows >= ROWS_MOST)
		clear_index(table);
	table->end = t->end;
	i = slot_of_key(table, key);
	table->n_rows += !table->index[i].row;
	table->index[i].key = key;
	table->index[i].row = at;
	return (uint64_t *)at + 1;
}

/* The payload of the key's row; NULL: there is none yet. */
static inline uint64_t *find_row(const struct agent_tls *t, const struct lock_table *table,
				 uint64_t key)
{
	uint64_t row = table->end && table->end == t->end ? table->index[slot_of_key(table,
										     key)].row
							  : 0;

	return row ? (uint64_t *)row + 1 : NULL;
}

/* The sums of a lock that was taken at a place. */
static inline uint64_t *sums_of(struct agent_tls *t, struct lock_table *table, uint32_t kind,
				uint64_t lock, uint64_t site)
{
	uint64_t key = mix(mix(lock, kind), site), *row = find_row(t, table, key);

	if (!row) {
		uint64_t words[1 + LOCK_ROW_WORDS];

		inside_fill(words, 0, sizeof(words));
		words[1 + LOCK_ROW_ABOUT] = kind;
		words[1 + LOCK_ROW_LOCK] = lock;
		words[1 + LOCK_ROW_SITE] = site;
		row = add_row(t, table, key, words, LOCK_ROW_WORDS);
	}
	return row;
}

/* The lock is taken while others are held. */
static void add_order(struct agent_tls *t, struct lock_table *table, uint32_t kind,
		      uint64_t lock, uint64_t site)
{
	uint64_t key = mix(mix(table->held[table->n_held - 1].mixed, lock), ~site);
	uint64_t *row = find_row(t, table, key);

	if (!row) {
		uint64_t words[1 + LOCK_ROW_HELD_AT + 2 * LOCK_ORDER_HELD];
		uint32_t n = table->n_held < LOCK_ORDER_HELD ? table->n_held : LOCK_ORDER_HELD;
		const struct lock_held *h = &table->held[table->n_held - n];

		words[1 + LOCK_ROW_ABOUT] = kind | LOCK_ROW_ORDER | n << 16;
		words[1 + LOCK_ROW_LOCK] = lock;
		words[1 + LOCK_ROW_SITE] = site;
		words[1 + LOCK_ROW_ACQUIRED] = 0;
		for (uint32_t i = 0; i < n; i++, h++) {
			words[1 + LOCK_ROW_HELD_AT + 2 * i] =
				h->lock | (uint64_t)h->kind << LOCK_KIND_SHIFT;
			words[2 + LOCK_ROW_HELD_AT + 2 * i] = h->site;
		}
		row = add_row(t, table, key, words, LOCK_ROW_HELD_AT + 2 * n);
	}
	if (row)
		row[LOCK_ROW_ACQUIRED]++;
}

/* --- what is held ----------------------------------------------------------------------- */

/* NULL: the thread does not hold it. */
static inline struct lock_held *find_held(struct lock_table *table, uint32_t kind, uint64_t lock)
{
	for (uint32_t i = table->n_held; i-- > 0;)
		if (table->held[i].lock == lock && table->held[i].kind == kind)
			return &table->held[i];
	return NULL;
}

/* The locks behind it move up, and with them what was mixed. */
static void forget_held(struct lock_table *table, struct lock_held *h)
{
	struct lock_held *end = &table->held[--table->n_held];
	uint64_t before = h > table->held ? h[-1].mixed : 0;

	for (; h < end; h++) {
		*h = h[1];
		before = h->mixed = mix(before, h->lock);
	}
}

/* whole: however often the thread has taken it. */
static void release(struct agent_tls *t, struct lock_table *table, uint32_t kind, uint64_t lock,
		    bool whole)
{
	struct lock_held *h = find_held(table, kind, lock);
	uint64_t now, ticks, *row;

	if (!h) {
		row = kind == LOCK_SPIN || whole ? NULL : sums_of(t, table, kind, lock, 0);
		if (row)
			row[LOCK_ROW_FOREIGN]++;
		return;
	}
	if (!whole && --h->depth)
		return;
	now = stamp_read();
	ticks = now > h->since ? now - h->since : 0;
	row = sums_of(t, table, kind, lock, h->site);
	if (row) {
		row[LOCK_ROW_HELD]++;
		row[LOCK_ROW_HOLD] += ticks;
		if (ticks > row[LOCK_ROW_HOLD_MAX])
			row[LOCK_ROW_HOLD_MAX] = ticks;
	}
	/* A new row let handlers run. */
	h = find_held(table, kind, lock);
	if (h)
		forget_held(table, h);
}

static void hold_lock(struct agent_tls *t, struct lock_table *table, uint32_t kind, uint64_t lock,
		      uint64_t site, bool orders)
{
	struct lock_held *h;

	if (orders && table->n_held)
		add_order(t, table, kind, lock, site);
	if (table->n_held >= LOCK_HELD) {
		buffer_lose_records(t, 1);
		return;
	}
	h = &table->held[table->n_held];
	*h = (struct lock_held){ lock, stamp_read(), site,
				 mix(table->n_held ? h[-1].mixed : 0, lock), kind, 1 };
	table->n_held++;
}

/* --- calls ------------------------------------------------------------------------------ */

/* Whether somebody has the lock, by glibc's words, which programs' static initialisers have made a
 * part of its interface. A wrong answer makes a wrong column, nothing more. */
static bool is_taken(uint32_t kind, enum lock_act act, uint64_t lock)
{
	const volatile uint32_t *word = (const volatile uint32_t *)lock;

	if (lock < MUTEX_OF_NULL)
		return false; /* the function faults by itself */
	switch (kind) {
	case LOCK_MUTEX: return word[0] != 0;
	/* Bit 0: writers' turn; 1: a writer has it; from 3 on the number of readers. */
	case LOCK_RWLOCK:
		return act == ACT_SHARED || act == ACT_TRY_SHARED ? word[0] & 2 : word[0] & ~5u;
	case LOCK_SPIN: return word[0] != INSIDE_SPIN_FREE;
	case LOCK_SEM: return !word[0];
	default: return true;
	}
}

uint64_t agent_lock_enter(const struct lock_visit *c)
{
	const uint32_t kind = lock_point_kind(c->point);
	const enum lock_act act = lock_point_act(c->point);
	struct lock_table *table;
	struct agent_tls *t;

	if (!agent.memory)
		return 0;
	if (act != ACT_RELEASE && act != ACT_WAIT)
		return is_taken(kind, act, c->lock) ? stamp_read() : NO_STAMP;
	table = begin_work(c, &t);
	if (!table) {
		buffer_lose_records(t, 1);
		return act == ACT_WAIT ? stamp_read() : 0;
	}
	if (act == ACT_WAIT)
		release(t, table, LOCK_MUTEX, c->other, true);
	else
		release(t, table, kind, c->lock, false);
	end_work(table);
	return act == ACT_WAIT ? stamp_read() : 0;
}

/* Whether the call got what it was for. The owner of a robust mutex may have died. */
static bool is_got(const struct lock_visit *c, uint32_t kind, enum lock_act act)
{
	uint32_t result = (uint32_t)c->result;

	return act == ACT_WAIT || !result || (kind == LOCK_MUTEX && result == EOWNERDEAD);
}

/* again: the thread has the lock already. */
static void count_acquired(struct agent_tls *t, struct lock_table *table,
			   const struct lock_visit *c, bool again)
{
	uint64_t *row = sums_of(t, table, lock_point_kind(c->point), c->lock, c->site), ticks, now;

	if (!row)
		return;
	row[LOCK_ROW_ACQUIRED]++;
	if (c->begin == NO_STAMP || again)
		return;
	now = stamp_read();
	ticks = now > c->begin ? now - c->begin : 0;
	row[LOCK_ROW_CONTENDED]++;
	row[LOCK_ROW_WAIT] += ticks;
	if (ticks > row[LOCK_ROW_WAIT_MAX])
		row[LOCK_ROW_WAIT_MAX] = ticks;
}

void agent_lock_got(const struct lock_visit *c)
{
	const uint32_t kind = lock_point_kind(c->point);
	const enum lock_act act = lock_point_act(c->point);
	struct lock_table *table;
	struct lock_held *h;
	struct agent_tls *t;

	if (!agent.memory || !is_got(c, kind, act))
		return; /* detached meanwhile, or nothing to count */
	table = begin_work(c, &t);
	if (!table) {
		buffer_lose_records(t, 1);
		return;
	}
	h = find_held(table, kind, c->lock);
	if (h)
		h->depth++;
	count_acquired(t, table, c, h);
	if (act == ACT_WAIT)
		hold_lock(t, table, LOCK_MUTEX, c->other, c->site, true);
	else if (!h && kind != LOCK_SEM)
		hold_lock(t, table, kind, c->lock, c->site, lock_act_waits(act));
	end_work(table);
}
