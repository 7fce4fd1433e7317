/* SPDX-License-Identifier: MIT */
/* The slow side of recording: a thread's first record, the end of a sub-buffer, another CPU,
 * a forked child. Once in some eight thousand records, so clarity comes first here. */
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/prctl.h>

#include "agent/agent.h"
#include "agent/lend.h"
#include "agent/needs.h"
#include "agent/sys.h"
#include "agent/user.h"
#include "shared/points.h"

struct own_thread agent_own[MEMORY_THREADS_MAX];

#define WAIT_NS 50000000   /* block mode: how often to look whether the tracer lives */
#define WAITS_MAX 18       /* heartbeats missed in a row: 0.9 s; a tracer's heart beats every 0.1 s */
#define BUSY 2             /* sub-buffers that a thread has filled when it gets the next one's pages at once */
#define LOWEST_BUFFER 65536 /* address: what is reserved in a block that is lent is below it, and nothing */
#define ALONE_MAX 20       /* waits of a thread that has nothing: 1 s */

static struct memory_thread *thread_of(struct agent_tls *t)
{
	return (struct memory_thread *)t->thread;
}

static void zero(void *at, uint64_t bytes)
{
	__asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(0) : "memory");
}

static long futex(uint32_t *word, int op, uint32_t value, const void *timeout)
{
	return agent.forbidden & NEED_FUTEX ? -1 : sys4(__NR_futex, word, op, value, timeout);
}

/* --- threads ------------------------------------------------------------------------ */

/* What the fast path compares with agent_tls.key; 0 if it compares nothing. */
static uint32_t key_now(void)
{
	uint32_t key = 0;

	if (agent.key)
		__asm__ volatile("mov %%fs:(%1), %0" : "=r"(key) : "r"(agent.key));
	return key;
}

static uint32_t current_cpu(void)
{
	uint32_t cpu = 0;

	if (agent.key && !(agent.flags & AGENT_KEY_IS_TID))
		return key_now();
	if (!(agent.forbidden & NEED_CPU))
		sys3(__NR_getcpu, &cpu, 0, 0);
	return cpu;
}

/* Records of threads for which there is no slot end here, counted a window at a time. */
static uint64_t threadless[MEMORY_VOID_WORDS];

static void thread_start(struct agent_tls *t)
{
	struct memory_header *m = agent.memory;
	struct memory_thread *slot;
	uint32_t i;

	POINT(thread_counted);
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
	agent_own[i] = (struct own_thread){ (uint64_t)t, (uint32_t)sys0(__NR_getpid), (uint32_t)sys0(__NR_gettid) };
	slot->pid = agent_own[i].pid;
	slot->tid = agent_own[i].tid;
	slot->block = (uint64_t)t;
	slot->image = agent.image_id;
	slot->tsc = read_tsc();
	slot->oldest = slot->newest = MEMORY_NONE;
	sys2(__NR_prctl, PR_GET_NAME, slot->comm);
	slot->cpu = current_cpu();
	POINT(thread_described);
	__atomic_store_n(&slot->ready, 1, __ATOMIC_RELEASE);
	POINT(thread_ready);
	t->thread = (uint64_t)slot;
}

static void forget(struct agent_tls *t)
{
	t->pos = t->end = 0;
	t->known &= ~TLS_THREAD;
}

/* Another thread of a child is here before the one that forked, whose block is still its parent's: it must not go on in
 * the parent's sub-buffers when the gates are open again. The blocks of all threads the parent had are looked at, of which only
 * that one lives on; where the others were may be something else by now. */
static void forget_parents(const struct agent_tls *own)
{
	if (agent.forbidden & NEED_THREADS || sys0(__NR_gettid) == sys0(__NR_getpid))
		return;
	for (uint32_t i = 0; i < agent.layout.threads_max; i++) {
		struct agent_tls *t = (struct agent_tls *)agent_own[i].block;
		struct agent_tls there;

		if (t && agent_own[i].pid == __atomic_load_n(&agent.pid, __ATOMIC_RELAXED) && t != own &&
		    read_anywhere((uint64_t)t, &there, sizeof(there)) == sizeof(there) &&
		    there.thread == (uint64_t)&agent.threads[i])
			forget(t);
	}
}

/* A child may have several threads by the time it first comes here, and they may come at once: one of them does
 * what is done once. The fork zeroed both words. */
void buffer_after_fork(struct agent_tls *t)
{
	uint32_t nobody = 0;

	POINT(fork_noticed);
	forget(t);
	if (__atomic_compare_exchange_n(&agent_gate[1], &nobody, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		signals_after_fork();
		lend_forget();
		user_after_fork();
		forget_parents(t);
		if (!(agent.forbidden & NEED_THREADS))
			__atomic_store_n(&agent.pid, (uint32_t)sys0(__NR_getpid), __ATOMIC_RELAXED);
		site_after_fork();
		place_rearm();
	}
	while (!__atomic_load_n(&agent_gate[0], __ATOMIC_ACQUIRE))
		sys0(__NR_sched_yield);
}

void buffer_forked(void)
{
	uint64_t signals = signals_block();

	if (!agent_gate[0])
		buffer_after_fork(agent_tls_block());
	signals_restore(signals);
}

/* --- counting what is thrown away ------------------------------------------------------ */

/* Of words[0..n), all of them reserved: an empty one is the record of somebody whom a signal interrupted. */
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
			i += memory_hole_words(s->tracer, s->values, words + i, n - i);
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

static uint32_t pop_free(struct memory_header *m)
{
	uint64_t head = __atomic_load_n(&m->free_head, __ATOMIC_ACQUIRE);

	for (;;) {
		uint32_t i = (uint32_t)head;
		uint64_t next;

		if (i >= agent.layout.buffers_max)
			return MEMORY_NONE;
		next = ((head >> 32) + 1) << 32 | __atomic_load_n(&agent.descs[i].next, __ATOMIC_RELAXED);
		POINT(free_before_pop);
		if (__atomic_compare_exchange_n(&m->free_head, &head, next, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			POINT(free_popped);
			return i;
		}
	}
}

static uint32_t take_unused(struct memory_header *m)
{
	uint32_t i = __atomic_load_n(&m->buffers_used, __ATOMIC_RELAXED);

	while (i < agent.layout.buffers_max)
		if (__atomic_compare_exchange_n(&m->buffers_used, &i, i + 1, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			POINT(unused_taken);
			return i;
		}
	return MEMORY_NONE;
}

/* Throws away what stands in the oldest. True if it may be used again: a slot of it that is still empty
 * belongs to somebody whom a signal interrupted, and who may yet store there. */
static bool throw_away(struct memory_thread *slot, struct memory_desc *d, const uint64_t *words)
{
	uint32_t used = __atomic_load_n(&d->used, __ATOMIC_RELAXED), seq = __atomic_load_n(&d->seq, __ATOMIC_RELAXED);
	uint64_t holes, records = count_records(words, (used < MEMORY_BUFFER_BYTES ? used : MEMORY_BUFFER_BYTES) / 8, &holes);

	slot->overwritten[(seq + 1) & 1] = slot->overwritten[seq & 1] + d->lost + records;
	POINT(own_counted);
	__atomic_store_n(&slot->first_seq, seq + 1, __ATOMIC_RELEASE);
	POINT(own_thrown_away);
	/* Before it is described anew: whoever dies there leaves no old fields under a new number. */
	__atomic_store_n(&d->state, MEMORY_FREE, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&slot->held, 1, __ATOMIC_RELAXED);
	return !holes;
}

/* MEMORY_NONE is none. */
static bool is_buffer(uint32_t i)
{
	return i < agent.layout.buffers_max;
}

/* A thread holds no more than its quota; a ring without an end was spoiled. */
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

/* The last quarter is for threads that have next to nothing: in overwrite mode what is held stays held. */
static bool may_take_unused(const struct memory_header *m, const struct memory_thread *slot)
{
	return agent.layout.mode != MEMORY_OVERWRITE || __atomic_load_n(&slot->held, __ATOMIC_RELAXED) < 2 ||
	       __atomic_load_n(&m->buffers_used, __ATOMIC_RELAXED) < agent.layout.buffers_max / 4 * 3;
}

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

/* Whoever holds nothing waits for what others hold; and they may wait for him, for ever. */
static bool waits_in_vain(const struct memory_thread *slot, uint32_t *waits)
{
	if (__atomic_load_n(&slot->held, __ATOMIC_RELAXED))
		*waits = 0;
	return ++*waits >= (slot->window ? 1 : ALONE_MAX);
}

/* Block mode: until the tracer gives one back, or is gone. */
static uint32_t wait_and_take(struct memory_thread *slot)
{
	struct memory_header *m = agent.memory;
	const struct { int64_t s, ns; } timeout = { 0, WAIT_NS };
	uint64_t beat = __atomic_load_n(&m->heartbeat, __ATOMIC_RELAXED);
	uint32_t i, missed = 0, alone = 0;

	__atomic_fetch_add(&m->free_waiters, 1, __ATOMIC_SEQ_CST);
	POINT(wait_begins);
	for (;;) {
		uint32_t seen = __atomic_load_n(&m->free_futex, __ATOMIC_SEQ_CST);

		i = try_take(slot);
		if (i != MEMORY_NONE || m->stopped || agent.forbidden & NEED_FUTEX)
			break;
		if (futex(&m->free_futex, FUTEX_WAIT, seen, &timeout) == 0)
			continue;
		if (__atomic_load_n(&m->heartbeat, __ATOMIC_RELAXED) != beat) {
			beat = __atomic_load_n(&m->heartbeat, __ATOMIC_RELAXED);
			missed = 0;
		} else if (++missed >= WAITS_MAX) {
			agent.abandoned = true;
			break;
		}
		if (waits_in_vain(slot, &alone))
			break;
	}
	POINT(wait_ends);
	__atomic_fetch_sub(&m->free_waiters, 1, __ATOMIC_SEQ_CST);
	return i;
}

/* A wake costs microseconds: it waits until there is some work. What lies there until then is found
 * by the tracer's own clock. */
static void tell_tracer(struct memory_header *m, const struct memory_thread *slot)
{
	if (__atomic_load_n(&slot->held, __ATOMIC_RELAXED) < agent.layout.wake_at)
		return;
	__atomic_fetch_add(&m->full_futex, 1, __ATOMIC_SEQ_CST);
	POINT(tracer_told);
	if (__atomic_load_n(&m->tracer_waits, __ATOMIC_SEQ_CST))
		futex(&m->full_futex, FUTEX_WAKE, 1, 0);
}

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

static void close_buffer(struct agent_tls *t)
{
	struct memory_thread *slot = thread_of(t);
	struct memory_desc *d = &agent.descs[t->buffer];
	uint64_t begin = (uint64_t)words_of(t->buffer);

	POINT(close_begins);
	d->used = t->pos - begin < MEMORY_BUFFER_BYTES ? (uint32_t)(t->pos - begin) : MEMORY_BUFFER_BYTES;
	if (agent.layout.mode == MEMORY_OVERWRITE)
		append_own(slot, t->buffer);
	POINT(close_linked);
	__atomic_store_n(&d->state, MEMORY_FULL, __ATOMIC_RELEASE);
	POINT(close_full);
	t->buffer = MEMORY_NONE;
	if (agent.layout.mode != MEMORY_OVERWRITE)
		tell_tracer(agent.memory, slot);
}

/* One call instead of sixteen page faults. Threads that record little take the pages they need. */
static void have_pages(const struct memory_thread *slot, const uint64_t *at)
{
	if (slot->seq >= BUSY && !(agent.forbidden & NEED_PAGES))
		sys3(__NR_madvise, at, MEMORY_BUFFER_BYTES, MADV_POPULATE_WRITE);
}

static void open_buffer(struct agent_tls *t, uint32_t i)
{
	struct memory_thread *slot = thread_of(t);
	struct memory_desc *d = &agent.descs[i];
	uint64_t *at = words_of(i);

	POINT(open_begins);
	if (d->dirty)
		zero(at, MEMORY_BUFFER_BYTES);
	else
		have_pages(slot, at);
	POINT(open_zeroed);
	d->dirty = 1;
	d->thread = (uint32_t)(slot - agent.threads);
	d->seq = slot->seq++;
	d->used = 0;
	d->begins = 0;
	d->tsc = read_tsc();
	d->cpu = slot->cpu;
	d->lost = slot->lost - __atomic_load_n(&slot->lost_reported, __ATOMIC_RELAXED);
	d->lost_upto = slot->lost;
	slot->window = 0;
	__atomic_fetch_add(&slot->held, 1, __ATOMIC_RELAXED);
	POINT(open_described);
	__atomic_store_n(&d->state, MEMORY_FILLING, __ATOMIC_RELEASE);
	POINT(open_filling);
	/* Behind it: for who dies before, the tracer does it. */
	__atomic_store_n(&slot->lost_reported, d->lost_upto, __ATOMIC_RELAXED);
	t->buffer = i;
	POINT(open_told);
	t->end = (uint64_t)at + MEMORY_BUFFER_USABLE;
	t->pos = (uint64_t)at;
}

/* --- the void: where records go for which there is no room --------------------------- */

static void leave_void(struct agent_tls *t)
{
	struct memory_thread *slot = thread_of(t);
	uint64_t holes;

	if (slot && slot->in_void) {
		uint64_t n = (t->pos - (uint64_t)slot->nowhere) / 8;

		slot->lost += count_records(slot->nowhere, n < MEMORY_VOID_WORDS ? n : MEMORY_VOID_WORDS, &holes);
		POINT(void_counted);
		slot->in_void = 0;
	} else if (!slot && t->end) {
		__atomic_fetch_add(&agent.memory->lost_threadless, MEMORY_VOID_MOST, __ATOMIC_RELAXED);
	}
}

_Static_assert(MEMORY_VOID_FIRST > RECORD_PAYLOAD_MAX, "there is room for any record in a window of any size");

static uint32_t next_window(uint32_t window)
{
	if (window < MEMORY_VOID_FIRST)
		return MEMORY_VOID_FIRST;
	return window < MEMORY_VOID_MOST / 2 ? 2 * window : MEMORY_VOID_MOST;
}

static void enter_void(struct agent_tls *t)
{
	struct memory_thread *slot = thread_of(t);
	uint64_t *at = slot ? slot->nowhere : threadless;
	uint32_t window = MEMORY_VOID_MOST;

	if (slot) {
		zero(slot->nowhere, sizeof(slot->nowhere));
		POINT(void_zeroed);
		window = next_window(__atomic_load_n(&slot->window, __ATOMIC_RELAXED));
		slot->window = window;
		slot->void_from = slot->lost;
		slot->in_void = !agent.memory->stopped;
	}
	POINT(void_entered);
	t->end = (uint64_t)(at + window);
	t->pos = (uint64_t)at;
}

static void next_buffer(struct agent_tls *t)
{
	struct memory_header *m = agent.memory;
	struct memory_thread *slot = thread_of(t);
	uint32_t i = MEMORY_NONE;

	if (t->buffer != MEMORY_NONE)
		close_buffer(t);
	leave_void(t);
	if (slot && !m->stopped && !agent.abandoned) {
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

static void store(uint64_t *at, const uint64_t *payload, unsigned n, uint64_t header)
{
	for (unsigned i = n; i--;)
		at[i + 1] = payload[i];
	POINT(put_payload);
	__atomic_store_n(at, header, __ATOMIC_RELEASE);
	POINT(put_header);
}

void buffer_put(struct agent_tls *t, const uint64_t *payload, unsigned n, uint64_t header)
{
	/* Whole records never straddle two sub-buffers. */
	while (t->pos >= t->end || t->end - t->pos < 8 * (n + 1))
		next_buffer(t);
	store((uint64_t *)t->pos, payload, n, header);
	t->pos += 8 * (n + 1);
}

static void note_cpu(struct agent_tls *t)
{
	struct memory_thread *slot = thread_of(t);
	uint64_t cpu = current_cpu();

	if (!slot || cpu == slot->cpu)
		return;
	slot->cpu = (uint32_t)cpu;
	buffer_put(t, &cpu, 1, record_word(read_tsc(), record_event_id(1, RECORD_EVENT_CPU), RECORD_EVENT));
}

/* Where nobody clears the block for a new thread, it may be that of one which ended. */
static bool is_anothers(const struct agent_tls *t)
{
	const struct own_thread *own = own_thread(t);

	return agent.flags & AGENT_KEY_IS_TID && t->key != key_now() && (!own || own->tid != (uint32_t)sys0(__NR_gettid));
}

/* Another user's memory takes the place of this one: what the thread has here is closed. */
static void move_to_user(struct agent_tls *t)
{
	if (t->known & TLS_THREAD && t->buffer != MEMORY_NONE)
		close_buffer(t);
	if (t->known & TLS_THREAD)
		leave_void(t);
	forget(t);
	user_move();
}

/* Another thread moved the process to another memory. What this one wrote since went nowhere. */
static uint64_t count_left_behind(struct agent_tls *t)
{
	uint64_t holes, n;
	const uint64_t *at = t->buffer != MEMORY_NONE ? (const uint64_t *)(t->end - MEMORY_BUFFER_USABLE) : thread_of(t)->nowhere;

	n = ((t->pos < t->end ? t->pos : t->end) - (uint64_t)at) / 8;
	for (n = n < MEMORY_BUFFER_WORDS ? n : 0; n && !*at; n--)
		at++; /* that was before */
	return count_records(at, n, &holes);
}

static bool was_left_behind(const struct agent_tls *t)
{
	return t->known & TLS_THREAD && !thread_slot(t) && user_left(t->thread) && (user_left(t->pos) || !t->end);
}

/* The thread has a slot, in the memory of the process's user. True: since now. */
static bool have_slot(struct agent_tls *t)
{
	uint64_t lost = 0;

	if (was_left_behind(t)) {
		lost = t->end ? count_left_behind(t) : 0;
		forget(t);
	}
	if ((!(t->known & TLS_THREAD) || t->pos >= t->end || t->key != key_now()) && user_has_changed())
		move_to_user(t);
	if (t->known & TLS_THREAD)
		return false;
	thread_start(t);
	__atomic_fetch_add(t->thread ? &thread_of(t)->lost : &agent.memory->lost_threadless, lost, __ATOMIC_RELAXED);
	return true;
}

void buffer_check_user(void)
{
	uint64_t signals = signals_block();
	struct agent_tls *t;

	if (signals == SIGNALS_UNTOUCHED)
		return;
	t = agent_tls_block();
	if (!agent_gate[0])
		buffer_after_fork(t);
	if (user_has_changed()) {
		leave_disarm(t); /* who begins tells where */
		move_to_user(t);
	}
	signals_restore(signals);
}

bool buffer_prepare(struct agent_tls *t)
{
	bool first;

	if (!agent_gate[0])
		buffer_after_fork(t);
	if (t->known & TLS_THREAD && is_anothers(t))
		t->known &= ~TLS_KNOWN_MASK;
	first = have_slot(t);
	t->key = key_now();
	note_cpu(t);
	return first;
}

/* No signals may be blocked any more: a record for which the slow path is needed is gone. */
void buffer_lose(void)
{
	struct agent_tls *t = agent_tls_block();

	if (!agent_gate[0])
		buffer_after_fork(t);
	__atomic_fetch_add(thread_slot(t) ? &thread_of(t)->lost : &agent.memory->lost_threadless, 1, __ATOMIC_RELAXED);
}

/* A thread's first record is made where its position and its end are 0. If a handler interrupts it between the
 * reservation and the comparison, nothing may come below the end that it will compare with: the handler's
 * records are lost. (And all others of this thread, if the handler never returns there.) */
static bool is_too_early(const struct agent_tls *t, uint64_t at)
{
	return !(t->known & TLS_THREAD) && (at == UNRESERVED ? t->pos : at) != 0;
}

static uint64_t offset_in_pool(uint64_t at)
{
	return at - (uint64_t)agent.buffers;
}

/* Handlers may have run between the reservation of `at` and here. If they closed the sub-buffer that it
 * is in, they counted on it: it is to be filled there, and nowhere else. If they closed the window, they counted
 * it as lost. Otherwise it is given up: what is reserved below it belongs to those whom this context
 * interrupted. True: nothing more is to be done. */
static bool settle(struct agent_tls *t, const uint64_t *words, unsigned n, uint64_t at)
{
	struct memory_thread *slot = thread_of(t);
	uint64_t offset = offset_in_pool(at), i = offset / MEMORY_BUFFER_BYTES;

	if (i < agent.layout.buffers_max && i != t->buffer) {
		if (agent.descs[i].thread != (uint32_t)(slot - agent.threads))
			return false;
		if (offset % MEMORY_BUFFER_BYTES + 8 * n <= MEMORY_BUFFER_BYTES)
			store((uint64_t *)at, words + 1, n - 1, words[0]);
		return true;
	}
	if (at - (uint64_t)slot->nowhere < sizeof(slot->nowhere) &&
	    !(slot->in_void && at < t->pos && at + 8 * n > t->end))
		return true;
	if (at < t->pos && (i == t->buffer || at - (uint64_t)slot->nowhere < sizeof(slot->nowhere)))
		t->pos = at;
	return false;
}

/* What comes before a record of the slow path. True: it is done with. */
static bool is_settled(struct agent_tls *t, const uint64_t *words, unsigned n, uint64_t at)
{
	uint64_t holes;

	if (!agent_gate[0])
		return false; /* a child: it has reserved nothing */
	if (is_too_early(t, at)) {
		__atomic_fetch_add(&agent.memory->lost_threadless, count_records(words, n, &holes), __ATOMIC_RELAXED);
		return true;
	}
	return thread_slot(t) && at != UNRESERVED && settle(t, words, n, at);
}

/* The block of the thread that records `word` at sp. While it is lent nothing is reserved in thread-local memory. */
static struct agent_tls *block_of(uint64_t word, uint64_t sp, uint64_t *at)
{
	bool lent = lend_settle(sp && record_kind(word) == RECORD_EXIT ? sp - 8 : sp);
	struct agent_tls *t = agent_tls_block();

	if (lent && *at < LOWEST_BUFFER) {
		*at = UNRESERVED;
		t->pos = t->known & TLS_THREAD ? t->pos : 0;
	}
	return t;
}

/* words: records that stand together. at: their slot, or UNRESERVED. sp: leave.c's, or 0. */
static void record(const uint64_t *words, unsigned n, uint64_t at, uint64_t sp)
{
	uint64_t signals;
	struct agent_tls *t;
	bool armed, first;

	if (!agent.memory)
		return; /* detached: a return that was under way */
	signals = signals_block();
	if (signals == SIGNALS_UNTOUCHED) {
		buffer_lose();
		return;
	}
	t = block_of(words[0], sp, &at);
	armed = leave_disarm(t);
	if (!is_settled(t, words, n, at)) {
		first = buffer_prepare(t);
		if ((armed || first) && sp && agent.settings.tracer == MEMORY_GRAPH)
			armed = leave_before(t, armed && !first, words[0], sp);
		buffer_put(t, words + 1, n - 1, words[0]);
	}
	if (armed)
		leave_rearm(t);
	signals_restore(signals);
}

void agent_record(uint64_t word, uint64_t at, uint64_t sp)
{
	record(&word, 1, at, sp);
}

void agent_record2(uint64_t word, uint64_t payload, uint64_t sp)
{
	const uint64_t words[2] = { word, payload };

	record(words, 2, sp ? ((const uint64_t *)sp)[-5] : UNRESERVED, sp);
}

void agent_record_valued(uint64_t word, uint64_t at, uint64_t sp)
{
	const uint64_t words[2] = { word, ((const uint64_t *)sp)[-2] };

	record(words, 2, at, sp);
}

void buffer_settle_words(const uint64_t *words, unsigned n, uint64_t at)
{
	record(words, n, at, 0);
}

void buffer_unwound(void)
{
	const uint64_t words[2] = { record_word(read_tsc(), record_event_id(1, RECORD_EVENT_UNWIND), RECORD_EVENT), 1 };

	record(words, 2, UNRESERVED, 0);
}

void buffer_write(struct agent_tls *t, uint64_t word)
{
	uint64_t at = 8;

	__asm__ volatile("xadd %0, %1" : "+r"(at), "+m"(t->pos) : : "memory");
	if (at >= t->end || !agent_gate[0])
		record(&word, 1, at, 0);
	else
		*(volatile uint64_t *)at = word;
}

/* A word that was stored in halves is also loaded in halves: a processor waits for both stores to reach its cache if one
 * load wants them. */
static inline void store_halves(uint64_t *at, const uint64_t *payload, unsigned n, uint64_t header)
{
	const volatile uint32_t *from = (const volatile uint32_t *)payload;
	volatile uint32_t *to = (volatile uint32_t *)(at + 1);

	for (unsigned i = 0; i < 2 * n; i++)
		to[i] = from[i];
	__atomic_store_n(at, header, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void write_words(struct agent_tls *t, const uint64_t *words, unsigned n,
							      uint64_t sp, bool halves)
{
	uint64_t at = 8 * (uint64_t)n;

	if (t->key != key_now() || !agent_gate[0]) {
		record(words, n, UNRESERVED, sp);
		return;
	}
	__asm__ volatile("xadd %0, %1" : "+r"(at), "+m"(t->pos) : : "memory");
	if (at >= t->end || t->end - at < 8 * n)
		record(words, n, at, sp);
	else if (halves)
		store_halves((uint64_t *)at, words + 1, n - 1, words[0]);
	else
		store((uint64_t *)at, words + 1, n - 1, words[0]);
}

void buffer_write_words(struct agent_tls *t, const uint64_t *words, unsigned n, uint64_t sp)
{
	write_words(t, words, n, sp, false);
}

void buffer_write_event(struct agent_tls *t, const uint64_t *words, unsigned n)
{
	write_words(t, words, n, 0, true);
}
