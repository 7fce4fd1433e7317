/* SPDX-License-Identifier: MIT */
/* Called by buffer.c, once in some eight thousand records, so clarity comes before speed. Other
 * threads, other processes and the tracer take and give at once; the orderings are in
 * shared/memory.h, and are proven by shared/memory.pml, whose steps are the functions here. Death
 * may come at any instruction. A thread that gets no sub-buffer goes on in a discard window
 * (discard.c). */
#include "agent/sub_buffer.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/mman.h>

#include "agent/discard.h"
#include "agent/message.h"
#include "agent/needs.h"
#include "agent/sys.h"
#include "agent/thread.h"
#include "arch/inside.h"
#include "shared/points.h"

/* Block mode: the interval at which a waiting thread looks whether the tracer lives. */
#define WAIT_NS 50000000
#define WAITS_MAX 18       /* heartbeats missed in a row: 0.9 s; one comes every 0.1 s */
/* Sub-buffers a thread must have filled before it gets the next one's pages at once. */
#define BUSY 2
/* The number of waits after which a thread that holds no sub-buffer gives up: 1 s. In each of them
 * the tracer has ended a pass. */
#define VAIN_MAX 20
/* The limit for a thread that has given up before: the second pass began after the wait did. */
#define VAIN_AGAIN 2

/* A seccomp filter that forbids the call may kill the process, so it is not tried. */
static long futex(uint32_t *word, int op, uint32_t value, const void *timeout)
{
	return agent_forbids(NEED_FUTEX) ? -1 : sys4(__NR_futex, word, op, value, timeout);
}

static uint64_t *words_of(uint32_t i)
{
	return (uint64_t *)(agent.buffers + (uint64_t)i * MEMORY_BUFFER_BYTES);
}

/* --- taking ------------------------------------------------------------------------ */

/* Takes a sub-buffer off the stack of free ones; MEMORY_NONE: it is empty. */
static uint32_t pop_free(struct memory_header *m)
{
	/* Pairs with the release in shared_memory_give_back(): `next` below is the one that was set
	 * before the push. */
	uint64_t head = __atomic_load_n(&m->free_head, __ATOMIC_ACQUIRE);

	for (;;) {
		uint32_t i = (uint32_t)head;
		uint64_t next;

		/* Not only MEMORY_NONE: any index that another process has spoiled ends the
		 * search. */
		if (i >= agent.layout.buffers_max)
			return MEMORY_NONE;
		next = ((head >> 32) + 1) << 32 |
		       __atomic_load_n(&agent.descs[i].next, __ATOMIC_RELAXED);
		POINT(free_before_pop);
		/* Pairs with the release in shared_memory_give_back(), as the load above. The tag
		 * makes the exchange fail if the same head was popped and pushed meanwhile. */
		if (__atomic_compare_exchange_n(&m->free_head, &head, next, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			POINT(free_popped);
			return i;
		}
	}
}

/* Takes a sub-buffer that was never used: its pages are zero. */
static uint32_t take_unused(struct memory_header *m)
{
	uint32_t i = __atomic_load_n(&m->buffers_used, __ATOMIC_RELAXED);

	while (i < agent.layout.buffers_max)
		if (__atomic_compare_exchange_n(&m->buffers_used, &i, i + 1, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			POINT(unused_taken);
			return i;
		}
	return MEMORY_NONE;
}

/* Throws away the records of the oldest sub-buffer. True if it may be used again: an empty slot in
 * it belongs to a context that a signal interrupted, and that may still store there. */
static bool throw_away(struct memory_thread *slot, struct memory_desc *d, const uint64_t *words)
{
	uint32_t used = __atomic_load_n(&d->used, __ATOMIC_RELAXED),
		 seq = __atomic_load_n(&d->seq, __ATOMIC_RELAXED);
	uint64_t holes,
		records = discard_count_records(
			words, (used < MEMORY_BUFFER_BYTES ? used : MEMORY_BUFFER_BYTES) / 8,
			&holes);

	slot->overwritten[(seq + 1) & 1] = slot->overwritten[seq & 1] + d->lost + records;
	POINT(own_counted);
	/* Pairs with is_overwritten() and count_overwritten() of collect/drain.c: the count is
	 * there before its index. */
	__atomic_store_n(&slot->first_seq, seq + 1, __ATOMIC_RELEASE);
	POINT(own_thrown_away);
	/* Before the descriptor is written anew: a thread that dies there leaves no old fields
	 * under a new number. Pairs with the acquire in read_claim(). */
	__atomic_store_n(&d->state, MEMORY_FREE, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&slot->held, 1, __ATOMIC_RELAXED);
	return !holes;
}

/* True for an index of a sub-buffer; MEMORY_NONE is none. */
static bool is_buffer(uint32_t i)
{
	return i < agent.layout.buffers_max;
}

/* The bound: a thread holds at most its quota, so a longer ring was spoiled. */
static uint32_t take_own_oldest(struct memory_thread *slot)
{
	for (uint32_t n = 0; n < agent.layout.quota; n++) {
		uint32_t i = __atomic_load_n(&slot->oldest, __ATOMIC_RELAXED);
		struct memory_desc *d;

		if (!is_buffer(i))
			return MEMORY_NONE;
		d = &agent.descs[i];
		slot->oldest = d->next;
		POINT(own_unlinked);
		if (throw_away(slot, d, words_of(i)))
			return i;
	}
	return MEMORY_NONE;
}

/* The last quarter is for threads that have next to nothing: in overwrite mode threads never give
 * back what they hold. */
static bool may_take_unused(const struct memory_header *m, const struct memory_thread *slot)
{
	return agent.layout.mode != MEMORY_OVERWRITE ||
	       __atomic_load_n(&slot->held, __ATOMIC_RELAXED) < 2 ||
	       __atomic_load_n(&m->buffers_used, __ATOMIC_RELAXED) <
		       agent.layout.buffers_max / 4 * 3;
}

/* Takes a sub-buffer without waiting: a free one, else an unused one, else (overwrite mode) the
 * thread's own oldest. */
static uint32_t try_take(struct memory_thread *slot)
{
	struct memory_header *m = agent.memory;
	uint32_t i = MEMORY_NONE;

	if (__atomic_load_n(&slot->held, __ATOMIC_RELAXED) < agent.layout.quota) {
		i = pop_free(m);
		if (i == MEMORY_NONE && may_take_unused(m, slot))
			i = take_unused(m);
	}
	if (i == MEMORY_NONE && agent.layout.mode == MEMORY_OVERWRITE)
		i = take_own_oldest(slot);
	return i;
}

/* A thread's wait for room, as far as nothing was given back meanwhile. */
struct wait {
	uint64_t heartbeat; /* when last looked at */
	uint32_t passes;    /* the tracer's, when last looked at */
	uint32_t missed;    /* times in a row without a heartbeat */
	uint32_t vain;      /* times with a pass of the tracer's that found nothing to give back */
};

/* Called after WAIT_NS in which nothing was given back. is_abandoned() takes the decision back when
 * heartbeats come again. */
static bool has_no_tracer(struct wait *w)
{
	uint64_t heartbeat = __atomic_load_n(&agent.memory->heartbeat, __ATOMIC_RELAXED);

	w->missed = heartbeat == w->heartbeat ? w->missed + 1 : 0;
	w->heartbeat = heartbeat;
	if (w->missed < WAITS_MAX)
		return false;
	/* In this order: is_abandoned() reads them in the other one. The release pairs with its
	 * acquire. */
	__atomic_store_n(&agent.last_heartbeat, 1 + heartbeat, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.abandoned, true, __ATOMIC_RELEASE);
	message_process(MESSAGE_GIVEN_UP);
	return true;
}

/* True while the tracer counts as dead. A new heartbeat ends that, if the lack of them was the
 * reason. The acquire pairs with the release in leave_memory() (user.c) and below: last_heartbeat
 * is the one that was stored before. */
static bool is_abandoned(void)
{
	uint64_t last;

	if (!__atomic_load_n(&agent.abandoned, __ATOMIC_ACQUIRE))
		return false;
	last = __atomic_load_n(&agent.last_heartbeat, __ATOMIC_RELAXED);
	if (!last || 1 + __atomic_load_n(&agent.memory->heartbeat, __ATOMIC_RELAXED) == last)
		return true;
	/* last_heartbeat stays: another thread may be between its stores in has_no_tracer(), and
	 * with 0 there no heartbeat could take its decision back. */
	__atomic_store_n(&agent.abandoned, false, __ATOMIC_RELEASE);
	return false;
}

/* A thread that holds nothing waits for what others hold, and those may be waiting for it, for
 * ever. Only the tracer's passes show that: a slow tracer may have much to give back. */
static bool waits_in_vain(const struct memory_thread *slot, struct wait *w, uint32_t passes)
{
	if (__atomic_load_n(&slot->held, __ATOMIC_RELAXED))
		w->vain = 0;
	else if (passes != w->passes)
		w->vain++;
	w->passes = passes;
	if (w->vain < (slot->window ? VAIN_AGAIN : VAIN_MAX))
		return false;
	if (!slot->window)
		message_process(MESSAGE_VAIN);
	return true;
}

/* Begins a wait, also after something was given back: then nothing is in vain yet. */
static struct wait wait_begin(const struct memory_header *m)
{
	return (struct wait){ .heartbeat = __atomic_load_n(&m->heartbeat, __ATOMIC_RELAXED),
			      .passes = __atomic_load_n(&m->passes, __ATOMIC_RELAXED) };
}

/* Block mode: waits until the tracer gives a sub-buffer back. Gives up if the tracer is gone. */
static uint32_t wait_and_take(struct memory_thread *slot)
{
	struct memory_header *m = agent.memory;
	const struct { int64_t s, ns; } timeout = { 0, WAIT_NS };
	struct wait w = wait_begin(m);
	uint32_t i, passes;

	/* Before the loop looks at free_futex: pairs with shared_memory_wake_writers(), which gives
	 * back before it reads free_waiters. */
	__atomic_fetch_add(&m->free_waiters, 1, __ATOMIC_SEQ_CST);
	POINT(wait_begins);
	for (;;) {
		/* Read before try_take(): a sub-buffer that comes in between changes it, and
		 * FUTEX_WAIT returns at once. */
		uint32_t seen = __atomic_load_n(&m->free_futex, __ATOMIC_SEQ_CST);

		i = try_take(slot);
		if (i != MEMORY_NONE || memory_is_stopped(m) || agent_forbids(NEED_FUTEX))
			break;
		futex(&m->free_futex, FUTEX_WAIT, seen, &timeout);
		/* Pair with shared_memory_passed() and shared_memory_wake_writers(). `passes`
		 * before free_futex: what these passes gave back shows there. */
		passes = __atomic_load_n(&m->passes, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&m->free_futex, __ATOMIC_SEQ_CST) != seen)
			w = wait_begin(m); /* something was given back, to whomever */
		else if (has_no_tracer(&w) || waits_in_vain(slot, &w, passes))
			break;
	}
	POINT(wait_ends);
	__atomic_fetch_sub(&m->free_waiters, 1, __ATOMIC_SEQ_CST);
	return i;
}

uint32_t sub_buffer_take(struct memory_thread *slot)
{
	uint32_t i;

	if (memory_is_stopped(agent.memory) || is_abandoned())
		return MEMORY_NONE;
	i = try_take(slot);
	return i == MEMORY_NONE && agent.layout.mode == MEMORY_BLOCK ? wait_and_take(slot) : i;
}

/* --- opening and closing ----------------------------------------------------------- */

/* A wake costs microseconds, so it waits until there is some work. The tracer finds the rest by its
 * own clock. */
static void tell_tracer(struct memory_header *m, const struct memory_thread *slot)
{
	if (__atomic_load_n(&slot->held, __ATOMIC_RELAXED) < agent.layout.wake_at)
		return;
	/* Raise, then read: pairs with say_waiting() of collect/memories.c, which sets
	 * tracer_waits before memories_wait() sleeps on the value it saw. One of the two sees the
	 * other. */
	__atomic_fetch_add(&m->full_futex, 1, __ATOMIC_SEQ_CST);
	POINT(tracer_told);
	if (__atomic_load_n(&m->tracer_waits, __ATOMIC_SEQ_CST))
		futex(&m->full_futex, FUTEX_WAKE, 1, 0);
}

/* Overwrite mode: makes the closed sub-buffer the youngest of the thread's ring. */
static void append_own(struct memory_thread *slot, uint32_t i)
{
	uint32_t newest = __atomic_load_n(&slot->newest, __ATOMIC_RELAXED);

	agent.descs[i].next = MEMORY_NONE;
	if (slot->oldest == MEMORY_NONE || !is_buffer(newest))
		slot->oldest = i;
	else
		agent.descs[newest].next = i;
	slot->newest = i;
}

void sub_buffer_close(struct agent_tls *t)
{
	struct memory_thread *slot = thread_slot(t);
	struct memory_desc *d = &agent.descs[t->buffer];
	uint64_t begin = (uint64_t)words_of(t->buffer);

	POINT(close_begins);
	/* A record of several words, or one reserved after the end, may have moved pos beyond the
	 * sub-buffer. */
	d->used = t->pos - begin < MEMORY_BUFFER_BYTES ? (uint32_t)(t->pos - begin)
						       : MEMORY_BUFFER_BYTES;
	if (agent.layout.mode == MEMORY_OVERWRITE)
		append_own(slot, t->buffer);
	POINT(close_linked);
	/* Pairs with the acquire in collect_claims() and read_claim() of collect/drain.c. */
	__atomic_store_n(&d->state, MEMORY_FULL, __ATOMIC_RELEASE);
	POINT(close_full);
	t->buffer = MEMORY_NONE;
	if (agent.layout.mode != MEMORY_OVERWRITE)
		tell_tracer(agent.memory, slot);
}

/* Brings a sub-buffer's pages in by one call instead of sixteen page faults. Threads that record
 * little take only the pages they need. */
static void have_pages(const struct memory_thread *slot, const uint64_t *at)
{
	if (slot->seq >= BUSY && !agent_forbids(NEED_PAGES))
		sys3(__NR_madvise, at, MEMORY_BUFFER_BYTES, MADV_POPULATE_WRITE);
}

/* The order is that of shared/memory.pml. */
void sub_buffer_open(struct agent_tls *t, uint32_t i)
{
	struct memory_thread *slot = thread_slot(t);
	struct memory_desc *d = &agent.descs[i];
	uint64_t *at = words_of(i);

	POINT(open_begins);
	if (d->dirty)
		inside_fill(at, 0, MEMORY_BUFFER_BYTES);
	else
		have_pages(slot, at);
	POINT(open_zeroed);
	d->dirty = 1;
	d->thread = (uint32_t)(slot - agent.threads);
	d->seq = slot->seq++;
	d->used = 0;
	/* 0: the tracer has not begun to read it. */
	d->begins = 0;
	d->tsc = agent_tsc();
	d->cpu = slot->cpu;
	d->lost = slot->lost - __atomic_load_n(&slot->lost_reported, __ATOMIC_RELAXED);
	d->lost_upto = slot->lost;
	slot->window = 0;
	__atomic_fetch_add(&slot->held, 1, __ATOMIC_RELAXED);
	POINT(open_described);
	/* Pairs with the acquire in read_claim(): the fields above hold. */
	__atomic_store_n(&d->state, MEMORY_FILLING, __ATOMIC_RELEASE);
	POINT(open_filling);
	/* After FILLING: if the thread dies in between, the tracer makes up for it (note_told() in
	 * collect/drain.c). */
	__atomic_store_n(&slot->lost_reported, d->lost_upto, __ATOMIC_RELAXED);
	t->buffer = i;
	POINT(open_told);
	t->end = (uint64_t)at + MEMORY_BUFFER_USABLE;
	t->pos = (uint64_t)at;
}
