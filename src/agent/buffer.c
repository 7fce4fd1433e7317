/* SPDX-License-Identifier: MIT */
/* The slow side of recording, in the traced thread: its first record, the end of a sub-buffer, a
 * new CPU, a forked child. Signals are blocked, so a handler never sees a step half done; death may
 * come at any instruction. The protocol and its orderings are in shared/memory.h. Where a record
 * finds room is sub_buffer.c's, where it finds none, discard.c's: it is counted as lost. */
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/discard.h"
#include "agent/event.h"
#include "agent/lend.h"
#include "agent/lock_points.h"
#include "agent/needs.h"
#include "agent/no_tls.h"
#include "agent/nonlocal.h"
#include "agent/signals.h"
#include "agent/site.h"
#include "agent/sub_buffer.h"
#include "agent/sys.h"
#include "agent/thread.h"
#include "agent/unblocked.h"
#include "agent/user.h"
#include "arch/entry.h"
#include "arch/kept_words.h"
#include "shared/points.h"

/* Address: a position reserved in a block that is lent is below it, and no memory. */
#define LOWEST_BUFFER 65536

/* --- a child of a fork ------------------------------------------------------------- */

/* In a child, another thread may get here before the one that forked, whose block is still its
 * parent's: that thread must not go on in the parent's sub-buffers when the fork guards open. So
 * the blocks of all the parent's threads are looked at. Only the forking thread lives on in the
 * child; where the others' blocks were, anything may be by now. */
static void forget_parents(const struct agent_tls *own)
{
	if (agent_forbids(NEED_THREADS) || sys0(__NR_gettid) == sys0(__NR_getpid))
		return;
	for (uint32_t i = 0; i < agent.layout.threads_max; i++) {
		struct agent_tls *t = (struct agent_tls *)agent_own[i].block;
		struct agent_tls there;

		if (t && agent_own[i].pid == __atomic_load_n(&agent.pid, __ATOMIC_RELAXED) &&
		    t != own &&
		    probe_read_kernel((uint64_t)t, &there, sizeof(there)) == sizeof(there) &&
		    there.thread == (uint64_t)&agent.threads[i])
			thread_forget_buffer(t);
	}
}

/* A child may have several threads by the time it first comes here, and they may come at once. The
 * exchange chooses the one that does what is to be done once; the fork zeroed both words. */
void buffer_after_fork(struct agent_tls *t)
{
	uint32_t nobody = 0;

	POINT(fork_noticed);
	thread_forget_buffer(t);
	/* Pairs with the acquire of agent_fork_guard[0] below: mappings_rearm() opens the fork
	 * guard last. */
	if (__atomic_compare_exchange_n(&agent_fork_guard[1], &nobody, 1, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		signals_after_fork();
		unblocked_forget();
		lend_forget();
		lock_tables_after_fork();
		user_after_fork();
		forget_parents(t);
		if (!agent_forbids(NEED_THREADS))
			__atomic_store_n(&agent.pid, (uint32_t)sys0(__NR_getpid), __ATOMIC_RELAXED);
		site_after_fork();
		mappings_rearm();
	}
	/* Pairs with the release in open_own() of mappings.c. */
	while (!__atomic_load_n(&agent_fork_guard[0], __ATOMIC_ACQUIRE))
		sys0(__NR_sched_yield);
}

void buffer_forked(void)
{
	uint64_t signals = signals_block();

	if (!agent_fork_guard[0])
		buffer_after_fork(agent_tls_block());
	signals_restore(signals);
}

/* Goes on in another sub-buffer, or in the discard window. */
static void next_buffer(struct agent_tls *t)
{
	struct memory_thread *slot = thread_slot(t);
	uint32_t i = MEMORY_NONE;

	/* A hole keeps the sub-buffer this thread's, which goes on with a row in it. */
	if (t->buffer != MEMORY_NONE && lock_rows_busy(t))
		t->pos += 8;
	lock_rows_forget(t);
	if (t->buffer != MEMORY_NONE)
		sub_buffer_close(t);
	discard_end(t);
	if (slot)
		i = sub_buffer_take(slot);
	if (i == MEMORY_NONE)
		discard_begin(t);
	else
		sub_buffer_open(t, i);
}

/* --- writing ------------------------------------------------------------------------- */

/* Writes a record into its slot: the payload first, since a header says that the record is
 * whole. */
static void store_record(uint64_t *at, const uint64_t *payload, unsigned n, uint64_t header)
{
	for (unsigned i = n; i--;)
		at[i + 1] = payload[i];
	POINT(put_payload);
	/* Pairs with the acquire in scan_words() of collect/drain.c. From here on the record
	 * counts. */
	__atomic_store_n(at, header, __ATOMIC_RELEASE);
	POINT(put_header);
}

void buffer_put(struct agent_tls *t, const uint64_t *payload, unsigned n, uint64_t header)
{
	/* Whole records never straddle two sub-buffers. */
	while (t->pos >= t->end || t->end - t->pos < 8 * (n + 1))
		next_buffer(t);
	store_record((uint64_t *)t->pos, payload, n, header);
	t->pos += 8 * (n + 1);
}

/* Records that the thread runs on another CPU than before. */
static void note_cpu(struct agent_tls *t)
{
	struct memory_thread *slot = thread_slot(t);
	uint64_t cpu = thread_cpu();

	if (!slot || cpu == slot->cpu)
		return;
	slot->cpu = (uint32_t)cpu;
	buffer_put(t, &cpu, 1,
		   record_word(agent_tsc(), record_event_id(1, RECORD_EVENT_CPU), RECORD_EVENT));
}

/* Where blocks belong to thread ids, the block may be that of a thread that ended. */
static bool is_anothers(const struct agent_tls *t)
{
	const struct own_thread *own = agent_own_thread(t);

	return agent.flags & AGENT_KEY_IS_TID && t->key != thread_key() &&
	       (!own || own->tid != (uint32_t)sys0(__NR_gettid));
}

/* The process gets the memory of its new user: this thread's part in the old one is closed
 * first. */
static void move_to_user(struct agent_tls *t)
{
	if (t->known & TLS_THREAD && t->buffer != MEMORY_NONE)
		sub_buffer_close(t);
	if (t->known & TLS_THREAD)
		discard_end(t);
	thread_forget_buffer(t);
	user_move();
}

/* Another thread moved the process to another memory. Counts the records that this one has written
 * since, to no memory. */
static uint64_t count_left_behind(struct agent_tls *t)
{
	uint64_t holes, n;
	const uint64_t *at = t->buffer != MEMORY_NONE
				     ? (const uint64_t *)(t->end - MEMORY_BUFFER_USABLE)
				     : thread_slot(t)->discard;

	n = ((t->pos < t->end ? t->pos : t->end) - (uint64_t)at) / 8;
	for (n = n < MEMORY_BUFFER_WORDS ? n : 0; n && !*at; n--)
		at++; /* written before the move: the new pages are zero */
	return discard_count_records(at, n, &holes);
}

/* True if the block still refers to a memory that the process has left (user.c). */
static bool was_left_behind(const struct agent_tls *t)
{
	return t->known & TLS_THREAD && !agent_thread_slot(t) && user_left(t->thread) &&
	       (user_left(t->pos) || !t->end);
}

/* Makes sure that the thread has a slot in the memory of the process's user. True if it got it
 * now. */
static bool have_slot(struct agent_tls *t)
{
	uint64_t lost = 0;

	if (was_left_behind(t)) {
		lost = t->end ? count_left_behind(t) : 0;
		thread_forget_buffer(t);
	}
	if ((!(t->known & TLS_THREAD) || t->pos >= t->end || t->key != thread_key()) &&
	    user_has_changed())
		move_to_user(t);
	if (t->known & TLS_THREAD)
		return false;
	thread_start(t);
	__atomic_fetch_add(t->thread ? &thread_slot(t)->lost : &agent.memory->lost_threadless, lost,
			   __ATOMIC_RELAXED);
	return true;
}

void buffer_check_user(void)
{
	uint64_t signals = signals_block();
	struct agent_tls *t;

	if (signals == SIGNALS_UNTOUCHED)
		return;
	t = agent_tls_block();
	if (!agent_fork_guard[0])
		buffer_after_fork(t);
	if (user_has_changed()) {
		nonlocal_disarm(t); /* who begins tells where */
		move_to_user(t);
	}
	signals_restore(signals);
}

bool buffer_prepare(struct agent_tls *t)
{
	bool first;

	if (!agent_fork_guard[0])
		buffer_after_fork(t);
	if (t->known & TLS_THREAD && is_anothers(t)) {
		lock_held_forget(t);
		t->known &= ~TLS_KNOWN_MASK;
	}
	first = have_slot(t);
	t->key = thread_key();
	note_cpu(t);
	return first;
}

static void count_lost(struct agent_tls *t, unsigned n)
{
	__atomic_fetch_add(agent_thread_slot(t) ? &thread_slot(t)->lost
						: &agent.memory->lost_threadless,
			   n, __ATOMIC_RELAXED);
}

/* A record that needs the slow path when signals cannot be blocked any more. */
void buffer_lose(void)
{
	struct agent_tls *t = agent_tls_block();

	if (!agent_fork_guard[0])
		buffer_after_fork(t);
	count_lost(t, 1);
}

static bool has_begun(const struct agent_tls *t)
{
	return t->known & TLS_THREAD && (!t->thread || agent_thread_slot(t)) && !is_anothers(t);
}

void buffer_lose_records(struct agent_tls *t, unsigned n)
{
	uint64_t signals;

	if (!has_begun(t)) {
		signals = signals_block();
		if (signals != SIGNALS_UNTOUCHED) {
			nonlocal_disarm(t);
			buffer_prepare(t);
			signals_restore(signals);
		}
	}
	count_lost(t, n);
}

/* The first record of a thread is reserved with position and end both 0. If a handler interrupts it
 * before its comparison, nothing may be reserved below the end that it will compare with: the
 * handler's records are lost. (And all others of this thread, if the handler never returns
 * there.) */
static bool is_too_early(const struct agent_tls *t, uint64_t at)
{
	return !(t->known & TLS_THREAD) && (at == UNRESERVED ? t->pos : at) != 0;
}

static uint64_t offset_in_pool(uint64_t at)
{
	return at - (uint64_t)agent.buffers;
}

/* Handlers may have run since `at` was reserved. If they closed its sub-buffer, they counted on the
 * record: it must be stored there and nowhere else. If they closed its window, they counted it as
 * lost. Otherwise the slot is given up: slots below it belong to contexts that this one
 * interrupted. Returns true if nothing is left to do. */
static bool place_reserved_record(struct agent_tls *t, const uint64_t *words, unsigned n,
				  uint64_t at)
{
	struct memory_thread *slot = thread_slot(t);
	uint64_t offset = offset_in_pool(at), i = offset / MEMORY_BUFFER_BYTES;

	if (i < agent.layout.buffers_max && i != t->buffer) {
		/* Another thread has the sub-buffer: the record goes to this thread's current
		 * one. */
		if (agent.descs[i].thread != (uint32_t)(slot - agent.threads))
			return false;
		if (offset % MEMORY_BUFFER_BYTES + 8 * n <= MEMORY_BUFFER_BYTES)
			store_record((uint64_t *)at, words + 1, n - 1, words[0]);
		return true;
	}
	if (at - (uint64_t)slot->discard < sizeof(slot->discard) &&
	    !(slot->discarding && at < t->pos && at + 8 * n > t->end))
		return true;
	if (at < t->pos && (i == t->buffer || at - (uint64_t)slot->discard < sizeof(slot->discard)))
		t->pos = at;
	return false;
}

/* Work before a record of the slow path. Returns true if the record is done with. */
static bool is_done_with(struct agent_tls *t, const uint64_t *words, unsigned n, uint64_t at)
{
	uint64_t holes;

	if (!agent_fork_guard[0])
		return false; /* a child: it has reserved nothing */
	if (is_too_early(t, at)) {
		__atomic_fetch_add(&agent.memory->lost_threadless,
				   discard_count_records(words, n, &holes), __ATOMIC_RELAXED);
		return true;
	}
	return agent_thread_slot(t) && at != UNRESERVED && place_reserved_record(t, words, n, at);
}

/* Returns the block of the thread that records `word` at sp. While it is lent, nothing is reserved
 * in thread-local memory. */
static struct agent_tls *block_of(uint64_t word, uint64_t sp, uint64_t *at)
{
	bool lent = lend_look(sp && record_is_exit(word) ? entry_before(sp) : sp);
	struct agent_tls *t = agent_tls_block();

	if (lent && *at < LOWEST_BUFFER) {
		*at = UNRESERVED;
		t->pos = t->known & TLS_THREAD ? t->pos : 0;
	}
	return t;
}

/* words: records that stand together. at: their slot, or UNRESERVED. sp: for nonlocal.c, or 0. */
static void record_words(const uint64_t *words, unsigned n, uint64_t at, uint64_t sp)
{
	uint64_t signals;
	struct agent_tls *t;
	bool armed, first;

	if (!agent.memory)
		return; /* detached: a call that was under way returns */
	signals = signals_block();
	if (signals == SIGNALS_UNTOUCHED) {
		buffer_lose();
		return;
	}
	t = block_of(words[0], sp, &at);
	armed = nonlocal_disarm(t);
	if (!is_done_with(t, words, n, at)) {
		first = buffer_prepare(t);
		if ((armed || first) && sp && agent.settings.tracer == MEMORY_GRAPH)
			armed = nonlocal_before(t, armed && !first, words[0], sp);
		buffer_put(t, words + 1, n - 1, words[0]);
	}
	if (armed)
		nonlocal_rearm(t);
	signals_restore(signals);
}

/* Nothing is written for a thread that has lent its block, and for one whose first record a handler
 * has interrupted. */
uint64_t buffer_write_kept(struct agent_tls *t, const uint64_t *words, unsigned n)
{
	uint64_t signals = signals_block(), at = 0;
	bool armed;

	if (signals == SIGNALS_UNTOUCHED) {
		buffer_lose();
		return 0;
	}
	armed = nonlocal_disarm(t);
	if (t->known & TLS_LENT || is_too_early(t, UNRESERVED)) {
		count_lost(t, 1);
	} else {
		buffer_prepare(t);
		buffer_put(t, words + 1, n - 1, words[0]);
		at = t->buffer == MEMORY_NONE ? 0 : t->pos - 8 * n;
	}
	if (armed)
		nonlocal_rearm(t);
	signals_restore(signals);
	return at;
}

void buffer_place_words(const uint64_t *words, unsigned n, uint64_t at)
{
	record_words(words, n, at, 0);
}

void buffer_unwound(void)
{
	const uint64_t words[2] = {
		record_word(agent_tsc(), record_event_id(1, RECORD_EVENT_UNWIND), RECORD_EVENT), 1
	};

	record_words(words, 2, UNRESERVED, 0);
}

void buffer_write(struct agent_tls *t, uint64_t word)
{
	/* A handler on this thread reserves before or after it; no other thread uses pos. */
	uint64_t at = inside_add(&t->pos, 8);

	if (at >= t->end || !agent_fork_guard[0])
		record_words(&word, 1, at, 0);
	else
		*(volatile uint64_t *)at = word;
}

/* Fields that were stored as halves are loaded as halves: store forwarding fails for a load that
 * spans two stores, and the processor waits until both are in the cache. */
static inline void store_halves(uint64_t *at, const uint64_t *payload, unsigned n, uint64_t header)
{
	const volatile uint32_t *from = (const volatile uint32_t *)payload;
	volatile uint32_t *to = (volatile uint32_t *)(at + 1);

	for (unsigned i = 0; i < 2 * n; i++)
		to[i] = from[i];
	/* Pairs with scan_words(), as in store_record(). */
	__atomic_store_n(at, header, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void
write_words(struct agent_tls *t, const uint64_t *words, unsigned n, uint64_t sp, bool halves)
{
	uint64_t at = 8 * (uint64_t)n;

	/* A new CPU must be recorded first, and a child must not write into its parent's
	 * sub-buffer. */
	if (t->key != thread_key() || !agent_fork_guard[0]) {
		record_words(words, n, UNRESERVED, sp);
		return;
	}
	at = inside_add(&t->pos, at);
	if (at >= t->end || t->end - at < 8 * n)
		record_words(words, n, at, sp);
	else if (halves)
		store_halves((uint64_t *)at, words + 1, n - 1, words[0]);
	else
		store_record((uint64_t *)at, words + 1, n - 1, words[0]);
}

void buffer_write_words(struct agent_tls *t, const uint64_t *words, unsigned n, uint64_t sp)
{
	write_words(t, words, n, sp, false);
}

void buffer_write_event(struct agent_tls *t, const uint64_t *words, unsigned n)
{
	write_words(t, words, n, 0, true);
}

/* Blocks by thread id have a fast path here alone: trampolines and stubs come with nothing
 * reserved. */
static void record_slowly(const uint64_t *words, unsigned n, uint64_t at, uint64_t sp)
{
	if (agent_no_tls && at == UNRESERVED && agent.memory)
		buffer_write_words(agent_tls_block(), words, n, sp);
	else
		record_words(words, n, at, sp);
}

void agent_record(uint64_t word, uint64_t at, uint64_t sp)
{
	record_slowly(&word, 1, at, sp);
}

void agent_record2(uint64_t word, uint64_t payload, uint64_t sp)
{
	const uint64_t words[2] = { word, payload };

	record_slowly(words, 2, sp ? ((const uint64_t *)sp)[KEPT_SLOT] : UNRESERVED, sp);
}

void agent_record_float(uint64_t word, uint64_t at, uint64_t sp)
{
	const uint64_t words[2] = { word, ((const uint64_t *)sp)[KEPT_FLOAT] };

	record_slowly(words, 2, at, sp);
}

void agent_record_valued(uint64_t word, uint64_t at, uint64_t sp)
{
	const uint64_t words[2] = { word, ((const uint64_t *)sp)[KEPT_RESULT] };

	record_slowly(words, 2, at, sp);
}
