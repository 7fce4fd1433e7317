/* SPDX-License-Identifier: MIT */
/* Reads what traced threads write, on the session's thread, without a lock: descriptors and
 * records are the traced program's and may change at any time. The state of a descriptor says
 * who owns the sub-buffer (shared/memory.h). Damaged counts are taken as 0 and noted once
 * (MESSAGE_SPOILED); only the sink's failures end a pass. */
#include "collect/drain.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/page.h"
#include "collect/clock.h"
#include "collect/messages.h"
#include "collect/processes.h"
#include "shared/record.h"
#include "shared/points.h"

/* The time for which a FULL sub-buffer may have a hole before the hole is counted as lost. A writer
 * leaves one when it is interrupted between reserving a slot and filling it. The thread may still
 * store there later, so such a sub-buffer is not given back before the thread ends. */
#define UNWRITTEN_NS UINT64_C(1000000000)

/* A handler's records may be older than those of the code that it interrupted. */
#define TSC_SLACK (UINT64_C(1) << 33)

/* Threads that one pass looks at for their ends: about 0.1 ms where all of them are out of the
 * caches. */
#define LOOKS 1024u

/* The traced program may change everything in the session memory at any time: each value is read
 * once, into memory of our own, and checked there. */

/* A sub-buffer's descriptor, as read once, with its number. */
struct claim {
	uint32_t i, slot;    /* slot: below threads_max */
	uint32_t state;
	struct memory_desc desc;
};

/* The tracer's own notes on each sub-buffer. */
struct drain_notes {
	uint32_t taken;      /* bytes already taken */
	uint64_t unwritten_since; /* nanoseconds; 0 = it has none */
	uint64_t near_tsc;   /* of the next record to be taken; 0 = use the descriptor's */
	uint32_t slot;
	uint16_t cpu;
	bool quarantined;    /* all taken, waiting for its thread to end */
};

/* A thread's life, as passes know it. The numbers of a thread in another pid namespace are not its
 * numbers here, so only a thread that was seen alive can be found gone. */
enum drain_life { LIFE_UNSEEN, LIFE_SEEN, LIFE_ENDED, LIFE_UNKNOWN };

struct drain {
	struct shared_memory *memory;
	struct drain_notes *notes;
	/* by thread slot: seq of the next sub-buffer to take; a later one waits for its
	 * predecessor */
	uint32_t *expected;
	uint64_t *position;  /* by thread slot: records kept and lost so far */
	/* by thread slot: last record taken; tsc 0 = none */
	struct last_seen { uint64_t tsc; uint16_t cpu; } *last;
	bool *told;          /* by thread slot: overwritten records have been told */
	bool *dead;          /* by thread slot: the thread has ended (drain_recycle) */
	enum drain_life *life;   /* by thread slot */
	uint32_t looked_upto;    /* slots before it have had their look (note_ended) */
	VEC(uint32_t) ended;     /* slots of threads whose losses this pass tells as their last */
	uint64_t newest;     /* time of the newest record taken; 0 = none */
	struct processes here;   /* processes of our pid namespace: is_here() */
	uint32_t here_pid;       /* the one of them that this pass looked at last; 0 = none */
	bool spoiled;        /* a count made no sense, and a note says so */
	uint64_t hollow;     /* drain_hollow_pages() */
	VEC(struct claim) order; /* of one pass */
	/* content of the sub-buffer at hand, without its holes */
	uint64_t words[MEMORY_BUFFER_WORDS];
};

struct drain *drain_new(struct shared_memory *memory)
{
	struct drain *d = mem_zalloc(sizeof(*d));

	d->memory = memory;
	d->notes = mem_zalloc(memory->layout.buffers_max * sizeof(d->notes[0]));
	d->expected = mem_zalloc(memory->layout.threads_max * sizeof(d->expected[0]));
	d->position = mem_zalloc(memory->layout.threads_max * sizeof(d->position[0]));
	d->last = mem_zalloc(memory->layout.threads_max * sizeof(d->last[0]));
	d->told = mem_zalloc(memory->layout.threads_max * sizeof(d->told[0]));
	d->dead = mem_zalloc(memory->layout.threads_max * sizeof(d->dead[0]));
	d->life = mem_zalloc(memory->layout.threads_max * sizeof(d->life[0]));
	return d;
}

void drain_free(struct drain *d)
{
	if (!d)
		return;
	free(d->notes);
	free(d->expected);
	free(d->position);
	free(d->last);
	free(d->told);
	free(d->dead);
	free(d->life);
	vec_free(&d->ended);
	vec_free(&d->order);
	processes_free(&d->here);
	free(d);
}

/* A change of the settings may store these meanwhile, on another thread. */
static uint32_t tracer_of(const struct drain *d)
{
	return __atomic_load_n(&d->memory->settings.tracer, __ATOMIC_RELAXED);
}

static uint32_t values_of(const struct drain *d)
{
	return __atomic_load_n(&d->memory->settings.values, __ATOMIC_RELAXED);
}

struct drain_scan {
	size_t n;        /* words looked at, up to the end of the last record */
	size_t reserved; /* words that were to be looked at */
	size_t kept;     /* words in d->words: as n, without the holes */
	/* records whose slots were reserved and never filled, before the last record */
	size_t holes;
	uint64_t calls, records;
	uint64_t last;   /* the last record's header */
	uint16_t cpu;    /* at the end */
};

static void count_event(struct drain_scan *s, const uint64_t *word)
{
	/* A header's event that tells a new CPU holds for the records behind it. */
	if (record_type(*word) == RECORD_EVENT_CPU && record_payload(*word))
		s->cpu = (uint16_t)word[1];
	s->calls += (uint64_t)record_is_call(*word);
	s->records += (uint64_t)record_counts(*word);
}

/* Copies a record behind those in `out`, and counts it. */
static void take_record(struct drain_scan *s, uint64_t *out, uint64_t header,
			const uint64_t *payload, unsigned n)
{
	uint64_t *at = out + s->kept;

	at[0] = header;
	for (unsigned i = 0; i < n; i++)
		at[1 + i] = __atomic_load_n(&payload[i], __ATOMIC_RELAXED);
	s->kept += 1 + n;
	if (record_kind(header) == RECORD_EVENT) {
		count_event(s, at);
	} else {
		s->records++;
		s->calls += record_kind(header) != RECORD_EXIT;
	}
}

/* A thread stores a record's payload before its header. So behind an empty slot may stand the
 * payload of a record whose header never came. A real header differs from it by its time: not
 * before the preceding record's and not in the future. A stack pointer reads like a record of the
 * few milliseconds after the time's low 40 bits wrapped, which a thread's last moments may well
 * contain; records of these milliseconds behind an empty slot are rarer, so addresses are
 * refused. */
static bool is_of_its_time(uint64_t word, uint64_t before, uint64_t near)
{
	uint64_t then = before ? record_tsc(before, near) : near, tsc = record_tsc(word, then);

	return word >= ARCH_ADDRESS_END && tsc + TSC_SLACK >= then && tsc <= clock_tsc();
}

/* A row of a lock's sums, which its thread goes on changing until the sub-buffer is FULL. */
static bool is_row(uint64_t word)
{
	return record_kind(word) == RECORD_EVENT && record_type(word) == RECORD_EVENT_LOCK;
}

/* Copies the records of words[0..n) to d->words. near: a full TSC near the first record's; 0 = not
 * known. With stop_at_unwritten, ends before the first empty slot, and before a row. */
static struct drain_scan scan_words(struct drain *d, const uint64_t *words, size_t n, uint64_t near,
				    uint16_t cpu, bool stop_at_unwritten)
{
	const uint32_t tracer = tracer_of(d), values = values_of(d);
	struct drain_scan s = { .cpu = cpu, .reserved = n };
	size_t i = 0, empty = 0;
	uint64_t before = 0;

	while (i < n) {
		/* Pairs with the releases in store_record() and store_halves() of agent/buffer.c: a
		 * header that is seen has its payload. */
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);
		unsigned payload = record_payload(word);

		if (!word) {
			if (stop_at_unwritten)
				break;
			empty++;
			i += memory_unwritten_words(tracer, values, words + i, n - i);
			continue;
		}
		if (stop_at_unwritten && is_row(word))
			break;
		/* Not a header but the payload of a record that never came. */
		if (empty && near && !is_of_its_time(word, before, near)) {
			i++;
			continue;
		}
		/* A length that passes the end is damage: the scan ends. */
		if (i + 1 + payload > n)
			break;
		take_record(&s, d->words, word, &words[i + 1], payload);
		before = word;
		i += 1 + payload;
		s.n = i;
		s.last = word;
		s.holes += empty;
		empty = 0;
	}
	return s;
}

/* Reads descriptor i. False: it is free, or its slot makes no sense. `used` is read only of a FULL
 * one: the thread of a FILLING one may be storing it. */
static bool read_claim(const struct drain *d, uint32_t i, struct claim *out)
{
	const volatile struct memory_desc *desc = &d->memory->descs[i];

	out->i = i;
	/* Pairs with the releases in sub_buffer_open() and sub_buffer_close() of
	 * agent/sub_buffer.c. */
	out->state = __atomic_load_n(&desc->state, __ATOMIC_ACQUIRE);
	if (out->state == MEMORY_FREE)
		return false;
	out->desc = (struct memory_desc){
		.thread = desc->thread, .seq = desc->seq, .tsc = desc->tsc, .cpu = desc->cpu,
		.lost = desc->lost,
		.lost_upto = desc->lost_upto, .begins = desc->begins,
		.used = out->state == MEMORY_FULL ? desc->used : 0,
	};
	out->slot = out->desc.thread;
	return out->slot < d->memory->layout.threads_max;
}

#define LOST_MOST (UINT64_C(1) << 48) /* a thread throws away so much in two months */

/* A count of losses, or 0 if the program spoiled it. */
static uint64_t believed_loss(struct drain *d, uint64_t lost)
{
	if (lost < LOST_MOST)
		return lost;
	if (!d->spoiled)
		messages_add(&d->memory->header->messages, MESSAGE_SPOILED, 0, "");
	d->spoiled = true;
	return 0;
}

/* Overwrite mode: the number of records before the oldest sub-buffer that a thread kept. Returned
 * once for each thread, then 0. */
static uint64_t count_overwritten(struct drain *d, uint32_t slot)
{
	const struct memory_thread *t = &d->memory->threads[slot];

	if (d->memory->layout.mode != MEMORY_OVERWRITE || d->told[slot])
		return 0;
	d->told[slot] = true;
	/* Pairs with the release in throw_away(), here and in agent/sub_buffer.c: the count of that
	 * parity is whole. */
	return believed_loss(d,
			     t->overwritten[__atomic_load_n(&t->first_seq, __ATOMIC_ACQUIRE) & 1]);
}

/* Whether its thread has begun to use the sub-buffer again, and has counted its records as
 * overwritten. */
static bool is_overwritten(const struct drain *d, const struct claim *c)
{
	/* Pairs with the release in throw_away() of agent/sub_buffer.c. */
	uint32_t first = __atomic_load_n(&d->memory->threads[c->slot].first_seq, __ATOMIC_ACQUIRE);

	return d->memory->layout.mode == MEMORY_OVERWRITE && (int32_t)(c->desc.seq - first) < 0;
}

/* Number of the thread's records before the rest of a sub-buffer. A memory that another tracer left
 * (recover.c) holds it: that tracer noted it in `taken` and `begins`. */
static uint64_t thread_position(const struct drain *d, const struct claim *c)
{
	uint64_t taken = __atomic_load_n(&d->memory->threads[c->slot].taken, __ATOMIC_RELAXED);

	if (d->notes[c->i].taken)
		return d->position[c->slot];
	if (c->desc.begins)
		return c->desc.begins - 1;
	return taken > d->position[c->slot] ? taken : d->position[c->slot];
}

/* Never lowers it: in a memory that another tracer left, that one may have taken more. */
static void note_taken(struct drain *d, uint32_t slot)
{
	uint64_t *taken = &d->memory->threads[slot].taken;

	if (__atomic_load_n(taken, __ATOMIC_RELAXED) < d->position[slot])
		/* Pairs with thread_position() of a tracer that takes the memory over later
		 * (recover.c). That one loads relaxed: this tracer has ended by then. */
		__atomic_store_n(taken, d->position[slot], __ATOMIC_RELEASE);
}

/* Marks a descriptor's losses as told. Its thread does so itself, unless it died right before. */
static void note_told(struct drain *d, const struct claim *c)
{
	uint64_t *reported = &d->memory->threads[c->slot].lost_reported;
	uint64_t was = __atomic_load_n(reported, __ATOMIC_RELAXED);

	if (was < c->desc.lost_upto)
		__atomic_compare_exchange_n(reported, &was, c->desc.lost_upto, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

uint64_t drain_hollow_pages(const struct drain *d)
{
	return d->hollow;
}

/* Pages of zeros in the words that a thread had filled: their records are among the holes of the
 * scan. */
static void look_for_hollow(struct drain *d, const uint64_t *words, size_t n)
{
	static const uint64_t zeros[ARCH_PAGE / 8];
	const uint64_t page = ARCH_PAGE / 8;
	/* The sub-buffer begins with a page; what was taken of it need not end with one. */
	const uint64_t *at =
		(const void *)(((uintptr_t)words + ARCH_PAGE - 1) / ARCH_PAGE * ARCH_PAGE);

	for (; at + page <= words + n; at += page) {
		if (memcmp(at, zeros, ARCH_PAGE) != 0)
			continue;
		d->hollow++;
		messages_add(&d->memory->header->messages, MESSAGE_HOLES, 0, "");
	}
}

static void note_last(struct drain *d, uint32_t slot, uint64_t tsc, uint16_t cpu)
{
	d->last[slot] = (struct last_seen){ tsc, cpu };
	d->newest = tsc > d->newest ? tsc : d->newest;
}

/* Gives d->words, as scanned, to the sink. */
static int emit_run(struct drain *d, const struct claim *c, const struct drain_scan *s,
		    drain_sink *sink, void *context, struct err *err)
{
	struct drain_notes *p = &d->notes[c->i];
	const struct drain_run run = {
		.slot = d->memory->first_slot + c->slot,
		.position = thread_position(d, c),
		.words = d->words,
		.n = s->kept,
		.calls = s->calls,
		.records = s->records,
		.cpu = p->taken ? p->cpu : (uint16_t)c->desc.cpu,
		.near_tsc = p->near_tsc ? p->near_tsc : c->desc.tsc,
		.lost = (p->taken ? 0 : believed_loss(d, c->desc.lost)) + s->holes +
			count_overwritten(d, c->slot),
	};
	int r;

	if (s->holes >= ARCH_PAGE / 16)
		look_for_hollow(d, shared_memory_words(d->memory, c->i) + p->taken / 8,
				s->reserved);
	p->taken += (uint32_t)s->n * 8;
	p->cpu = s->cpu;
	if (s->kept)
		note_last(d, c->slot, record_tsc(s->last, run.near_tsc), s->cpu);
	if (!c->desc.begins)
		/* Noted before the sink runs: a tracer that takes over after our death starts from
		 * here. */
		d->memory->descs[c->i].begins = 1 + run.position;
	POINT(run_begins);
	r = sink(context, &run, err);
	POINT(run_given);
	d->position[c->slot] = run.position + run.records + run.lost;
	note_taken(d, c->slot);
	note_told(d, c);
	POINT(run_told);
	return r;
}

/* Signal 0 only asks. EPERM: a thread with this number exists, but is another user's. */
static bool thread_lives(const struct shared_memory *m, uint32_t slot)
{
	const struct memory_thread *t = &m->threads[slot % m->layout.threads_max];

	return syscall(SYS_tgkill, t->pid, t->tid, 0) == 0 || errno == EPERM;
}

static void give_back(struct drain *d, uint32_t i)
{
	POINT(give_back_begins);
	d->notes[i] = (struct drain_notes){ 0 };
	shared_memory_give_back(d->memory, i);
}

/* Whether the hole is younger than UNWRITTEN_NS; the first call starts its time. */
static bool may_fill(struct drain_notes *p)
{
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (!p->unwritten_since)
		p->unwritten_since = now;
	return now - p->unwritten_since < UNWRITTEN_NS;
}

/* Scans the rest of a FULL sub-buffer. All of it was reserved, so empty slots up to `used` are
 * holes. */
static struct drain_scan scan_reserved(struct drain *d, const struct claim *c)
{
	const struct drain_notes *p = &d->notes[c->i];
	size_t used = c->desc.used < MEMORY_BUFFER_BYTES ? c->desc.used & ~7u : MEMORY_BUFFER_BYTES;
	size_t n = used > p->taken ? (used - p->taken) / 8 : 0;
	struct drain_scan s =
		scan_words(d, shared_memory_words(d->memory, c->i) + p->taken / 8, n, c->desc.tsc,
			   p->taken ? p->cpu : (uint16_t)c->desc.cpu, false);

	/* Reserved slots behind the last record hold records that never came, too. */
	s.holes += memory_holes_in(tracer_of(d), values_of(d), n - s.n);
	return s;
}

/* Takes a FULL sub-buffer. Returns 1 if something was emitted, 0 if a hole may still fill, or
 * -errno. */
static int take_full(struct drain *d, const struct claim *c, bool last, drain_sink *sink,
		     void *context, struct err *err)
{
	struct drain_notes *p = &d->notes[c->i];
	struct drain_scan s = scan_reserved(d, c);
	int r;

	if (s.holes && !last && may_fill(p) && thread_lives(d->memory, c->slot))
		return 0;
	r = emit_run(d, c, &s, sink, context, err);
	d->expected[c->slot] = c->desc.seq + 1;
	p->slot = c->slot;
	/* A quarantined one no longer counts for the thread either. */
	shared_memory_let_go(d->memory, c->slot);
	if (s.holes && !last)
		p->quarantined = true;
	else
		give_back(d, c->i);
	shared_memory_wake_writers(d->memory);
	return r < 0 ? r : 1;
}

/* Takes the present content of a FILLING sub-buffer, up to the first hole: what follows may still
 * come in order. */
static int take_partial(struct drain *d, const struct claim *c, uint64_t now, drain_sink *sink,
			void *context, struct err *err)
{
	struct drain_notes *p = &d->notes[c->i];
	uint16_t cpu = p->taken ? p->cpu : (uint16_t)c->desc.cpu;
	struct drain_scan s = scan_words(d, shared_memory_words(d->memory, c->i) + p->taken / 8,
				   (MEMORY_BUFFER_BYTES - p->taken) / 8, 0, cpu, true);
	int r = 0;

	if (s.n)
		r = emit_run(d, c, &s, sink, context, err);
	if (p->taken)
		/* later records are younger: so the 40-bit times of a long idle thread stay
		 * unambiguous */
		p->near_tsc = now;
	return r < 0 ? r : s.n > 0;
}

static int by_thread_and_seq(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->desc.seq < y->desc.seq ? -1 : x->desc.seq > y->desc.seq;
}

/* Fills d->order with the sub-buffers that may be taken, by thread and sequence. */
static void collect_claims(struct drain *d, bool partial)
{
	uint32_t used = shared_memory_used(d->memory);

	d->order.n = 0;
	for (uint32_t i = 0; i < used; i++) {
		/* Pairs with the releases in sub_buffer_open() and sub_buffer_close() of
		 * agent/sub_buffer.c. */
		uint32_t state = __atomic_load_n(&d->memory->descs[i].state, __ATOMIC_ACQUIRE);
		struct claim c;

		if (state != MEMORY_FULL && !(partial && state == MEMORY_FILLING))
			continue; /* the fields of others are not ours to read */
		if (read_claim(d, i, &c) && !d->notes[i].quarantined && !is_overwritten(d, &c))
			*vec_add(&d->order) = c;
	}
	POINT(pass_collected);
	if (d->order.n)
		qsort(d->order.at, d->order.n, sizeof(d->order.at[0]), by_thread_and_seq);
}

/* Gives back sub-buffers whose threads ended: nobody stores into their holes any more. */
static void release_quarantined(struct drain *d)
{
	uint32_t used = shared_memory_used(d->memory);

	for (uint32_t i = 0; i < used; i++)
		if (d->notes[i].quarantined && !thread_lives(d->memory, d->notes[i].slot)) {
			give_back(d, i);
			shared_memory_wake_writers(d->memory);
		}
}

/* Does what a writer that no longer lives would have done: notes where its last whole record
 * ends. */
static uint32_t close_for_writer(struct drain *d, uint32_t i)
{
	uint64_t *words = shared_memory_words(d->memory, i);
	uint64_t tsc = *(volatile uint64_t *)&d->memory->descs[i].tsc;
	/* Pages that were never touched hold no record; reading them would make the kernel allocate
	 * them. */
	size_t touched = shared_memory_touched(d->memory, i) / 8;
	uint32_t used = (uint32_t)scan_words(d, words, touched, tsc, 0, false).n * 8;

	d->memory->descs[i].used = used;
	return used;
}

static void close_for_dead(struct drain *d, uint32_t i)
{
	close_for_writer(d, i);
	/* Pairs with the acquire in read_claim(). */
	__atomic_store_n(&d->memory->descs[i].state, MEMORY_FULL, __ATOMIC_RELEASE);
}

/* Takes over sub-buffers of threads that ended: otherwise they would stay taken to the end of the
 * session. */
static void reap_dead(struct drain *d)
{
	uint32_t used = shared_memory_used(d->memory);

	for (uint32_t i = 0; i < used; i++) {
		struct claim c;

		if (!read_claim(d, i, &c) || c.state != MEMORY_FILLING ||
		    thread_lives(d->memory, c.slot))
			continue;
		close_for_dead(d, i);
	}
}

/* No free sub-buffer, and half of the pool has been used: before that, fresh ones are plenty. */
static bool is_scarce(const struct drain *d)
{
	uint32_t used = shared_memory_used(d->memory);

	return used > d->memory->layout.buffers_max / 2 &&
	       (uint32_t)__atomic_load_n(&d->memory->header->free_head, __ATOMIC_RELAXED) ==
		       MEMORY_NONE;
}

/* --- overwrite mode: threads that ended make room --------------------------------------------- */

static int by_age(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	return x->desc.tsc < y->desc.tsc ? -1 : x->desc.tsc > y->desc.tsc;
}

/* d->order is sorted by thread: one question to the kernel for each. */
static void note_dead(struct drain *d)
{
	uint32_t slot = UINT32_MAX;

	for (size_t k = 0; k < d->order.n; k++) {
		const struct claim *c = &d->order.at[k];

		if (c->slot != slot && !d->dead[c->slot])
			d->dead[c->slot] = !thread_lives(d->memory, c->slot);
		slot = c->slot;
	}
}

/* Keeps only sub-buffers of threads that had ended before their first sub-buffer was looked at. Of
 * a thread that ended between, the first look may have missed an older one: hence the second
 * collect_claims(). */
static void collect_dead(struct drain *d)
{
	size_t kept = 0;

	collect_claims(d, true);
	note_dead(d);
	collect_claims(d, true);
	for (size_t k = 0; k < d->order.n; k++) {
		const struct claim c = d->order.at[k];

		if (d->dead[c.slot])
			d->order.at[kept++] = c;
	}
	d->order.n = kept;
}

/* Does what its thread would have done, had it lived to need the room (throw_away() of
 * agent/sub_buffer.c). */
static void throw_away(struct drain *d, struct claim *c)
{
	struct memory_thread *t = &d->memory->threads[c->slot];
	struct drain_scan s;

	if (c->state == MEMORY_FILLING)
		c->desc.used = close_for_writer(d, c->i);
	s = scan_reserved(d, c);
	/* Two counts by parity: a reader of first_seq uses the one that is not being written. */
	t->overwritten[(c->desc.seq + 1) & 1] =
		t->overwritten[c->desc.seq & 1] + c->desc.lost + s.records + s.holes;
	/* Pairs with the acquire in count_overwritten(). */
	__atomic_store_n(&t->first_seq, c->desc.seq + 1, __ATOMIC_RELEASE);
	note_told(d, c);
	give_back(d, c->i);
}

void drain_recycle(struct drain *d)
{
	if (d->memory->layout.mode != MEMORY_OVERWRITE || !is_scarce(d))
		return;
	collect_dead(d);
	if (d->order.n)
		qsort(d->order.at, d->order.n, sizeof(d->order.at[0]), by_age);
	for (size_t k = 0; k < (d->order.n + 1) / 2; k++)
		throw_away(d, &d->order.at[k]);
}

/* --- taking ----------------------------------------------------------------------------------- */

/* Reads a sub-buffer's descriptor again: since collect_claims() it may have become FULL. */
static int take_claimed(struct drain *d, const struct claim *then, uint64_t now, drain_sink *sink,
			void *context, struct err *err)
{
	struct claim c;

	if (then->desc.seq != d->expected[then->slot])
		return 0; /* its predecessor became FULL after collect_claims() */
	if (!read_claim(d, then->i, &c) || c.slot != then->slot || c.desc.seq != then->desc.seq)
		return 0; /* the program spoiled it */
	if (c.state == MEMORY_FULL)
		return take_full(d, &c, false, sink, context, err);
	return take_partial(d, &c, now, sink, context, err);
}

/* --- losses at the ends of threads ----------------------------------------------------------- */

/* Records that a thread, while it throws records away, has written to its window and not yet
 * counted in `lost`. */
static uint64_t count_window(struct drain *d, const struct memory_thread *t)
{
	if (!__atomic_load_n(&t->discarding, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&t->lost, __ATOMIC_RELAXED) !=
		    __atomic_load_n(&t->discard_from, __ATOMIC_RELAXED))
		return 0;
	return scan_words(d, t->discard, MEMORY_DISCARD_WORDS, 0, 0, false).records;
}

/* Losses that no sub-buffer tells: those since its thread's last one was opened. */
static uint64_t count_untold(struct drain *d, uint32_t slot)
{
	const struct memory_thread *t = &d->memory->threads[slot];

	return believed_loss(d, __atomic_load_n(&t->lost, __ATOMIC_RELAXED) -
					__atomic_load_n(&t->lost_reported, __ATOMIC_RELAXED)) +
	       count_window(d, t) +
	       count_overwritten(d, slot);
}

/* Marks all losses of thread `slot` as told. Only after its last writer stopped. */
static void close_account(struct drain *d, uint32_t slot, uint64_t upto)
{
	struct memory_thread *t = &d->memory->threads[slot];

	__atomic_store_n(&t->lost_reported, __atomic_load_n(&t->lost, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&t->discarding, 0, __ATOMIC_RELAXED);
	d->position[slot] = upto;
	note_taken(d, slot);
}

/* A time that is not before the thread's last record, whose processor's counter may be ahead of
 * ours. */
static uint64_t time_of_end(const struct drain *d, uint32_t slot, uint64_t tsc)
{
	const uint64_t began = d->memory->threads[slot].tsc, last = d->last[slot].tsc;

	tsc = tsc > began ? tsc : began;
	return tsc > last ? tsc : last;
}

/* Tells what a thread lost at its end, behind which none of its records stands. tsc: a time by
 * which it had ended. Returns 1, 0 if there is nothing, or -errno. */
static int tell_end(struct drain *d, uint32_t slot, uint64_t tsc, drain_sink *sink, void *context,
		    struct err *err)
{
	const struct memory_thread *t = &d->memory->threads[slot];
	const uint64_t taken = __atomic_load_n(&t->taken, __ATOMIC_RELAXED),
		       untold = count_untold(d, slot);
	const struct drain_run run = {
		.slot = d->memory->first_slot + slot,
		.position = taken > d->position[slot] ? taken : d->position[slot],
		.near_tsc = time_of_end(d, slot, tsc),
		.cpu = d->last[slot].cpu,
		.words = d->words, .lost = untold,
	};
	int r;

	if (!untold)
		return 0;
	r = sink(context, &run, err);
	close_account(d, slot, run.position + untold);
	return r < 0 ? r : 1;
}

/* Whether the thread may have losses that no sub-buffer tells. */
static bool has_untold(const struct memory_thread *t)
{
	return __atomic_load_n(&t->discarding, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&t->lost, __ATOMIC_RELAXED) !=
		       __atomic_load_n(&t->lost_reported, __ATOMIC_RELAXED);
}

/* Whether the process of these numbers here is the thread's, and not one that has the numbers which
 * the thread has in another pid namespace. */
static bool is_here(struct drain *d, const struct memory_thread *t)
{
	const uint32_t pid = __atomic_load_n(&t->pid, __ATOMIC_RELAXED);
	struct stat memory;

	if (pid != d->here_pid)
		d->here_pid = fstat(d->memory->fd, &memory) == 0
				      ? (uint32_t)processes_namesake(&d->here, pid, &memory) : 0;
	return d->here_pid != 0;
}

/* True: the thread has untold losses, and ended since it was last looked at. */
static bool has_just_ended(struct drain *d, uint32_t slot)
{
	const struct memory_thread *t = &d->memory->threads[slot];
	enum drain_life *life = &d->life[slot];

	/* Pairs with the release in thread_start() of agent/thread.c: the numbers hold. */
	if (*life > LIFE_SEEN || !__atomic_load_n(&t->ready, __ATOMIC_ACQUIRE))
		return false;
	if (*life == LIFE_UNSEEN) {
		*life = thread_lives(d->memory, slot) && is_here(d, t) ? LIFE_SEEN : LIFE_UNKNOWN;
		return false;
	}
	if (!has_untold(t) || thread_lives(d->memory, slot))
		return false;
	*life = LIFE_ENDED;
	return true;
}

/* Closes what the threads were filling that ended in this pass, so that all their records come
 * before their last losses. */
static void close_ended(struct drain *d)
{
	uint32_t used = d->ended.n ? shared_memory_used(d->memory) : 0;

	for (uint32_t i = 0; i < used; i++) {
		struct claim c;

		if (read_claim(d, i, &c) && c.state == MEMORY_FILLING &&
		    d->life[c.slot] == LIFE_ENDED)
			close_for_dead(d, i);
	}
}

/* Looks which threads with untold losses have ended, a part of all threads in each pass. Returns a
 * time by which they had. In overwrite mode a thread's records stay in its ring to the end of the
 * session, and so do its losses. */
static uint64_t note_ended(struct drain *d)
{
	uint32_t n = shared_memory_threads(d->memory), looks = n < LOOKS ? n : LOOKS;

	d->ended.n = 0;
	d->here_pid = 0;
	if (d->memory->layout.mode == MEMORY_OVERWRITE)
		return 0;
	while (looks--) {
		uint32_t slot = d->looked_upto++ % n;

		if (has_just_ended(d, slot))
			*vec_add(&d->ended) = slot;
	}
	d->looked_upto %= n ? n : 1;
	close_ended(d);
	return clock_tsc();
}

/* The kernel does not say when a thread ended: the time is that of the look that found it gone. */
static int tell_ended(struct drain *d, uint64_t tsc, drain_sink *sink, void *context,
		      struct err *err)
{
	int told = 0;

	for (size_t k = 0; k < d->ended.n; k++) {
		int r = tell_end(d, d->ended.at[k], tsc, sink, context, err);

		if (r < 0)
			return r;
		told += r;
	}
	return told;
}

int drain_pass(struct drain *d, bool partial, drain_sink *sink, void *context, struct err *err)
{
	uint64_t now = clock_tsc(), ended;
	int taken = 0, r;

	if (is_scarce(d) && d->memory->layout.mode != MEMORY_OVERWRITE) {
		reap_dead(d);
		release_quarantined(d);
	}
	ended = note_ended(d);
	collect_claims(d, partial);
	for (size_t k = 0; k < d->order.n; k++) {
		r = take_claimed(d, &d->order.at[k], now, sink, context, err);
		if (r < 0)
			return r;
		taken += r;
		/* After each sub-buffer, so that a long pass does not look like a dead tracer to
		 * waiting writers. */
		shared_memory_heartbeat(d->memory);
	}
	r = tell_ended(d, ended, sink, context, err);
	shared_memory_passed(d->memory);
	return r < 0 ? r : taken + r;
}

/* The threads that are left: those that live on, and those that no pass found gone. All records of
 * the memory have been taken, and the losses come before the end of the trace: they are told with
 * the time of the newest record. */
static int tell_ends(struct drain *d, drain_sink *sink, void *context, struct err *err)
{
	int told = 0;

	for (uint32_t slot = 0; slot < shared_memory_threads(d->memory); slot++) {
		int r = tell_end(d, slot, d->newest, sink, context, err);

		if (r < 0)
			return r;
		told += r;
	}
	return told;
}

int drain_finish(struct drain *d, drain_sink *sink, void *context, uint64_t *lost, struct err *err)
{
	int taken = 0, r;

	POINT(finish_begins);
	collect_claims(d, true);
	for (size_t k = 0; k < d->order.n; k++) {
		struct claim *c = &d->order.at[k];

		if (c->state == MEMORY_FILLING)
			c->desc.used = close_for_writer(d, c->i);
		r = take_full(d, c, true, sink, context, err);
		if (r < 0)
			return r;
		taken += r;
	}
	r = tell_ends(d, sink, context, err);
	if (r < 0)
		return r;
	*lost += believed_loss(
		d, __atomic_load_n(&d->memory->header->lost_threadless, __ATOMIC_RELAXED));
	return taken + r;
}
