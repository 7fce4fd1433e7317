/* SPDX-License-Identifier: MIT */
/* The slow side of recording, in the traced thread: its first record, the end of a sub-buffer, a
 * new CPU, a forked child. Signals are blocked, so a handler never sees a step half done; death may
 * come at any instruction. The protocol and its orderings are in shared/memory.h, and are proven by
 * shared/memory.pml, whose steps are the functions here. A record that finds no room is counted as
 * lost. Once in some eight thousand records, so clarity comes before speed. */
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/prctl.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/event.h"
#include "agent/lend.h"
#include "agent/lock_points.h"
#include "agent/message.h"
#include "agent/needs.h"
#include "agent/no_tls.h"
#include "agent/nonlocal.h"
#include "agent/signals.h"
#include "agent/site.h"
#include "agent/sys.h"
#include "agent/user.h"
#include "shared/points.h"

struct own_thread agent_own[MEMORY_THREADS_MAX];

/* Block mode: the interval at which a waiting thread looks whether the tracer lives. */
#define WAIT_NS 50000000
#define WAITS_MAX 18       /* heartbeats missed in a row: 0.9 s; the heart beats every 0.1 s */
/* Sub-buffers a thread must have filled before it gets the next one's pages at once. */
#define BUSY 2
/* Address: a position reserved in a block that is lent is below it, and no memory. */
#define LOWEST_BUFFER 65536
/* The number of waits after which a thread that holds no sub-buffer gives up: 1 s. In each of them
 * the tracer has ended a pass. */
#define VAIN_MAX 20
/* The limit for a thread that has given up before: the second pass began after the wait did. */
#define VAIN_AGAIN 2

/* Returns the thread's slot, NULL if none was free. agent_thread_slot() also checks that it is in
 * the present memory. */
static struct memory_thread *block_slot(struct agent_tls *t)
{
	return (struct memory_thread *)t->thread;
}

/* A byte loop by the processor: the compiler would call memset or use vector registers. */
static void zero_sub_buffer(void *at, uint64_t bytes)
{
	inside_fill(at, 0, bytes);
}

/* A seccomp filter that forbids the call may kill the process, so it is not tried. */
static long futex(uint32_t *word, int op, uint32_t value, const void *timeout)
{
	return agent.forbidden & NEED_FUTEX ? -1 : sys4(__NR_futex, word, op, value, timeout);
}

/* --- threads ------------------------------------------------------------------------ */

/* Reads the word that the fast path compares with agent_tls.key. False: there is none. Another
 * thread may take agent.key away meanwhile (no_tls.c). */
static bool read_key(uint32_t *key)
{
	int64_t at = __atomic_load_n(&agent.key, __ATOMIC_RELAXED);

	if (at)
		*key = inside_thread_word(at);
	return at;
}

/* Returns that word; 0 if there is none. */
static uint32_t key_now(void)
{
	uint32_t key = 0;

	read_key(&key);
	return key;
}

/* Returns the CPU from rseq's word, if the key is that one, else from the kernel; 0 where a filter
 * forbids to ask. */
static uint32_t current_cpu(void)
{
	uint32_t cpu = 0;

	if (!(agent.flags & AGENT_KEY_IS_TID) && read_key(&cpu))
		return cpu;
	if (!(agent.forbidden & NEED_CPU))
		sys3(__NR_getcpu, &cpu, 0, 0);
	return cpu;
}

/* The window of threads that have no slot; counted a window at a time, and never read. */
static uint64_t threadless[MEMORY_DISCARD_WORDS];

/* Takes a slot for the thread and describes the thread there. Without a free one its records are
 * counted as lost. */
static void thread_start(struct agent_tls *t)
{
	struct memory_header *m = agent.memory;
	struct memory_thread *slot;
	uint32_t i;

	POINT(thread_counted);
	lock_rows_forget(t);
	t->known |= TLS_THREAD;
	t->buffer = MEMORY_NONE;
	t->pos = t->end = 0;
	t->thread = 0;
	if (agent.forbidden & NEED_THREADS)
		return;
	i = __atomic_fetch_add(&m->threads_used, 1, __ATOMIC_RELAXED);
	if (i >= agent.layout.threads_max) {
		__atomic_fetch_sub(&m->threads_used, 1, __ATOMIC_RELAXED);
		return;
	}
	slot = &agent.threads[i];
	agent_own[i] = (struct own_thread){ (uint64_t)t, (uint32_t)sys0(__NR_getpid),
					    (uint32_t)sys0(__NR_gettid) };
	slot->pid = agent_own[i].pid;
	slot->tid = agent_own[i].tid;
	slot->block = (uint64_t)t;
	slot->image = agent.image_id;
	slot->tsc = agent_tsc();
	slot->oldest = slot->newest = MEMORY_NONE;
	sys2(__NR_prctl, PR_GET_NAME, slot->comm);
	slot->cpu = current_cpu();
	POINT(thread_described);
	/* The fields above are there first: pairs with the acquire in next_slot() of
	 * session/thread_names.c. */
	__atomic_store_n(&slot->ready, 1, __ATOMIC_RELEASE);
	POINT(thread_ready);
	t->thread = (uint64_t)slot;
}

/* The next record finds no room, and begins the thread anew. */
static void forget_sub_buffer(struct agent_tls *t)
{
	lock_rows_forget(t);
	t->pos = t->end = 0;
	t->known &= ~TLS_THREAD;
}

/* In a child, another thread may get here before the one that forked, whose block is still its
 * parent's: that thread must not go on in the parent's sub-buffers when the fork guards open. So
 * the blocks of all the parent's threads are looked at. Only the forking thread lives on in the
 * child; where the others' blocks were, anything may be by now. */
static void forget_parents(const struct agent_tls *own)
{
	if (agent.forbidden & NEED_THREADS || sys0(__NR_gettid) == sys0(__NR_getpid))
		return;
	for (uint32_t i = 0; i < agent.layout.threads_max; i++) {
		struct agent_tls *t = (struct agent_tls *)agent_own[i].block;
		struct agent_tls there;

		if (t && agent_own[i].pid == __atomic_load_n(&agent.pid, __ATOMIC_RELAXED) &&
		    t != own &&
		    probe_read_anywhere((uint64_t)t, &there, sizeof(there)) == sizeof(there) &&
		    there.thread == (uint64_t)&agent.threads[i])
			forget_sub_buffer(t);
	}
}

/* A child may have several threads by the time it first comes here, and they may come at once. The
 * exchange chooses the one that does what is to be done once; the fork zeroed both words. */
void buffer_after_fork(struct agent_tls *t)
{
	uint32_t nobody = 0;

	POINT(fork_noticed);
	forget_sub_buffer(t);
	/* Pairs with the acquire of agent_fork_guard[0] below: mappings_rearm() opens the fork
	 * guard last. */
	if (__atomic_compare_exchange_n(&agent_fork_guard[1], &nobody, 1, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		signals_after_fork();
		lend_forget();
		lock_tables_after_fork();
		user_after_fork();
		forget_parents(t);
		if (!(agent.forbidden & NEED_THREADS))
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

/* --- counting what is thrown away ------------------------------------------------------ */

/* Counts the records in words[0..n), all of them reserved. An empty slot is a record too: a signal
 * interrupted its writer. */
static uint64_t count_records(const uint64_t *words, uint64_t n, uint64_t *holes)
{
	const struct memory_settings *s = &agent.settings;
	uint64_t count = 0, empty = 0, i = 0;

	while (i < n) {
		const uint64_t word = words[i];

		if (record_is_short(word)) {
			count++;
			i++;
			continue;
		}
		if (!word) {
			empty++;
			i += memory_unwritten_words(s->tracer, s->values, words + i, n - i);
			continue;
		}
		count += (uint64_t)record_counts(word);
		i += 1 + record_payload(word);
	}
	*holes = empty;
	return count + empty;
}

static uint64_t *words_of(uint32_t i)
{
	return (uint64_t *)(agent.buffers + (uint64_t)i * MEMORY_BUFFER_BYTES);
}

/* --- taking and giving up sub-buffers ------------------------------------------------ */

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
		records = count_records(
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
	uint64_t beat;   /* the last heartbeat seen */
	uint32_t passes; /* the tracer's, when last looked at */
	uint32_t missed; /* times in a row without a heartbeat */
	uint32_t vain;   /* times with a pass of the tracer's that found nothing to give back */
};

/* Called after WAIT_NS in which nothing was given back. is_abandoned() takes the decision back when
 * the heart beats again. */
static bool has_no_tracer(struct wait *w)
{
	uint64_t beat = __atomic_load_n(&agent.memory->heartbeat, __ATOMIC_RELAXED);

	w->missed = beat == w->beat ? w->missed + 1 : 0;
	w->beat = beat;
	if (w->missed < WAITS_MAX)
		return false;
	/* In this order: is_abandoned() reads them in the other one. */
	__atomic_store_n(&agent.last_beat, 1 + beat, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.abandoned, true, __ATOMIC_RELEASE);
	message_process(MESSAGE_GIVEN_UP);
	return true;
}

/* True while the tracer counts as dead. A heart that beats again ends that, if its silence was the
 * reason. */
static bool is_abandoned(void)
{
	uint64_t last;

	if (!__atomic_load_n(&agent.abandoned, __ATOMIC_ACQUIRE))
		return false;
	last = __atomic_load_n(&agent.last_beat, __ATOMIC_RELAXED);
	if (!last || 1 + __atomic_load_n(&agent.memory->heartbeat, __ATOMIC_RELAXED) == last)
		return true;
	__atomic_store_n(&agent.last_beat, 0, __ATOMIC_RELAXED);
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
	return (struct wait){ .beat = __atomic_load_n(&m->heartbeat, __ATOMIC_RELAXED),
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
		if (i != MEMORY_NONE || memory_is_stopped(m) || agent.forbidden & NEED_FUTEX)
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

/* Hands the thread's sub-buffer to the tracer, or, in overwrite mode, to the thread's ring. */
static void close_buffer(struct agent_tls *t)
{
	struct memory_thread *slot = block_slot(t);
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

/* One call instead of sixteen page faults. Threads that record little take only the pages they
 * need. */
static void have_pages(const struct memory_thread *slot, const uint64_t *at)
{
	if (slot->seq >= BUSY && !(agent.forbidden & NEED_PAGES))
		sys3(__NR_madvise, at, MEMORY_BUFFER_BYTES, MADV_POPULATE_WRITE);
}

/* Makes sub-buffer i the thread's: zeroes it, describes it, says FILLING. The order is that of
 * shared/memory.pml. */
static void open_buffer(struct agent_tls *t, uint32_t i)
{
	struct memory_thread *slot = block_slot(t);
	struct memory_desc *d = &agent.descs[i];
	uint64_t *at = words_of(i);

	POINT(open_begins);
	if (d->dirty)
		zero_sub_buffer(at, MEMORY_BUFFER_BYTES);
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

/* --- the discard window: the window for records that find no room --- */

/* Counts the records of the window as lost, if the thread is in the discard window. */
static void count_discarded(struct agent_tls *t)
{
	struct memory_thread *slot = block_slot(t);
	uint64_t holes;

	if (slot && slot->discarding) {
		uint64_t n = (t->pos - (uint64_t)slot->discard) / 8;

		slot->lost += count_records(
			slot->discard, n < MEMORY_DISCARD_WORDS ? n : MEMORY_DISCARD_WORDS, &holes);
		POINT(discard_counted);
		slot->discarding = 0;
	} else if (!slot && t->end) {
		__atomic_fetch_add(&agent.memory->lost_threadless, MEMORY_DISCARD_MOST,
				   __ATOMIC_RELAXED);
	}
}

_Static_assert(MEMORY_DISCARD_FIRST > RECORD_PAYLOAD_MAX,
	       "there is room for any record in a window of any size");

/* Doubled each time up to the whole room: threads that stay without room go the slow path less
 * often. */
static uint32_t next_window(uint32_t window)
{
	if (window < MEMORY_DISCARD_FIRST)
		return MEMORY_DISCARD_FIRST;
	return window < MEMORY_DISCARD_MOST / 2 ? 2 * window : MEMORY_DISCARD_MOST;
}

/* Sends the thread's records to the discard window: the window in its slot, or the one that all
 * threads without a slot share. */
static void enter_void(struct agent_tls *t)
{
	struct memory_thread *slot = block_slot(t);
	uint64_t *at = slot ? slot->discard : threadless;
	uint32_t window = MEMORY_DISCARD_MOST;

	if (slot) {
		zero_sub_buffer(slot->discard, sizeof(slot->discard));
		POINT(void_zeroed);
		window = next_window(__atomic_load_n(&slot->window, __ATOMIC_RELAXED));
		slot->window = window;
		slot->discard_from = slot->lost;
		slot->discarding = !memory_is_stopped(agent.memory);
	}
	POINT(void_entered);
	t->end = (uint64_t)(at + window);
	t->pos = (uint64_t)at;
}

/* Goes on in another sub-buffer, or in the discard window. */
static void next_buffer(struct agent_tls *t)
{
	struct memory_header *m = agent.memory;
	struct memory_thread *slot = block_slot(t);
	uint32_t i = MEMORY_NONE;

	/* A hole keeps the sub-buffer this thread's, which goes on with a row in it. */
	if (t->buffer != MEMORY_NONE && lock_rows_busy(t))
		t->pos += 8;
	lock_rows_forget(t);
	if (t->buffer != MEMORY_NONE)
		close_buffer(t);
	count_discarded(t);
	if (slot && !memory_is_stopped(m) && !is_abandoned()) {
		i = try_take(slot);
		if (i == MEMORY_NONE && agent.layout.mode == MEMORY_BLOCK)
			i = wait_and_take(slot);
	}
	if (i == MEMORY_NONE)
		enter_void(t);
	else
		open_buffer(t, i);
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
	struct memory_thread *slot = block_slot(t);
	uint64_t cpu = current_cpu();

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

	return agent.flags & AGENT_KEY_IS_TID && t->key != key_now() &&
	       (!own || own->tid != (uint32_t)sys0(__NR_gettid));
}

/* The process gets the memory of its new user: this thread's part in the old one is closed
 * first. */
static void move_to_user(struct agent_tls *t)
{
	if (t->known & TLS_THREAD && t->buffer != MEMORY_NONE)
		close_buffer(t);
	if (t->known & TLS_THREAD)
		count_discarded(t);
	forget_sub_buffer(t);
	user_move();
}

/* Another thread moved the process to another memory. Counts the records that this one has written
 * since, to no memory. */
static uint64_t count_left_behind(struct agent_tls *t)
{
	uint64_t holes, n;
	const uint64_t *at = t->buffer != MEMORY_NONE
				     ? (const uint64_t *)(t->end - MEMORY_BUFFER_USABLE)
				     : block_slot(t)->discard;

	n = ((t->pos < t->end ? t->pos : t->end) - (uint64_t)at) / 8;
	for (n = n < MEMORY_BUFFER_WORDS ? n : 0; n && !*at; n--)
		at++; /* written before the move: the new pages are zero */
	return count_records(at, n, &holes);
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
		forget_sub_buffer(t);
	}
	if ((!(t->known & TLS_THREAD) || t->pos >= t->end || t->key != key_now()) &&
	    user_has_changed())
		move_to_user(t);
	if (t->known & TLS_THREAD)
		return false;
	thread_start(t);
	__atomic_fetch_add(t->thread ? &block_slot(t)->lost : &agent.memory->lost_threadless, lost,
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
	t->key = key_now();
	note_cpu(t);
	return first;
}

static void count_lost(struct agent_tls *t, unsigned n)
{
	__atomic_fetch_add(agent_thread_slot(t) ? &block_slot(t)->lost
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
	struct memory_thread *slot = block_slot(t);
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
		__atomic_fetch_add(&agent.memory->lost_threadless, count_records(words, n, &holes),
				   __ATOMIC_RELAXED);
		return true;
	}
	return agent_thread_slot(t) && at != UNRESERVED && place_reserved_record(t, words, n, at);
}

/* Returns the block of the thread that records `word` at sp. While it is lent, nothing is reserved
 * in thread-local memory. */
static struct agent_tls *block_of(uint64_t word, uint64_t sp, uint64_t *at)
{
	bool lent = lend_look(sp && record_is_exit(word) ? sp - 8 : sp);
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
	if (t->key != key_now() || !agent_fork_guard[0]) {
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

	/* sp[-5]: the slot, where agent_slow_record2 has it. */
	record_slowly(words, 2, sp ? ((const uint64_t *)sp)[-5] : UNRESERVED, sp);
}

void agent_record_float(uint64_t word, uint64_t at, uint64_t sp)
{
	/* sp[-5]: the lower half of xmm0, where the exit code has kept it. */
	const uint64_t words[2] = { word, ((const uint64_t *)sp)[-5] };

	record_slowly(words, 2, at, sp);
}

void agent_record_valued(uint64_t word, uint64_t at, uint64_t sp)
{
	/* sp[-2]: the value, where the exit code has kept it. */
	const uint64_t words[2] = { word, ((const uint64_t *)sp)[-2] };

	record_slowly(words, 2, at, sp);
}
