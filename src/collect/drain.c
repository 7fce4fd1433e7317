/* SPDX-License-Identifier: MIT */
#include "collect/drain.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/clock.h"
#include "collect/notes.h"
#include "shared/record.h"
#include "shared/points.h"

/* How long a FULL sub-buffer may have a hole (a writer interrupted between reserving a slot and
 * filling it) before the hole is called lost. Its owner may still store there, so such a sub-buffer is
 * not given back before the thread ends. */
#define HOLE_NS UINT64_C(1000000000)

/* A handler's records may be older than those of what it interrupted. */
#define TSC_SLACK (UINT64_C(1) << 33)

/* The traced program may change everything in the session memory at any time: what is looked at is read
 * once, into memory of our own, and checked there. */

/* A sub-buffer's descriptor, and which it is. */
struct claim {
	uint32_t i, slot;    /* slot: below threads_max */
	uint32_t state;
	struct memory_desc desc;
};

/* What the tracer knows of each sub-buffer. */
struct place {
	uint32_t taken;      /* bytes already taken */
	uint64_t hole_since; /* nanoseconds; 0 = it has none */
	uint64_t near_tsc;   /* of the next record to be taken; 0 = the descriptor's */
	uint32_t slot;
	uint16_t cpu;
	bool quarantined;    /* all taken, waiting for its thread to end */
};

struct drain {
	struct shared_memory *memory;
	struct place *places;
	uint32_t *expected;  /* by thread slot: seq of the next sub-buffer to take */
	uint64_t *position;  /* by thread slot: records kept and lost so far */
	struct last_seen { uint64_t tsc; uint16_t cpu; } *last; /* by thread slot: of the last record taken; tsc 0 = none */
	bool *told;          /* by thread slot: what was overwritten */
	bool *dead;          /* by thread slot: it has ended (drain_recycle) */
	bool spoiled;        /* a count made no sense, which is noted */
	VEC(struct claim) order; /* of one pass */
	uint64_t words[MEMORY_BUFFER_WORDS]; /* of the sub-buffer that is looked at, without its holes */
};

struct drain *drain_new(struct shared_memory *memory)
{
	struct drain *d = mem_zalloc(sizeof(*d));

	d->memory = memory;
	d->places = mem_zalloc(memory->layout.buffers_max * sizeof(d->places[0]));
	d->expected = mem_zalloc(memory->layout.threads_max * sizeof(d->expected[0]));
	d->position = mem_zalloc(memory->layout.threads_max * sizeof(d->position[0]));
	d->last = mem_zalloc(memory->layout.threads_max * sizeof(d->last[0]));
	d->told = mem_zalloc(memory->layout.threads_max * sizeof(d->told[0]));
	d->dead = mem_zalloc(memory->layout.threads_max * sizeof(d->dead[0]));
	return d;
}

void drain_free(struct drain *d)
{
	if (!d)
		return;
	free(d->places);
	free(d->expected);
	free(d->position);
	free(d->last);
	free(d->told);
	free(d->dead);
	vec_free(&d->order);
	free(d);
}

/* A change sets them meanwhile, in another thread. */
static uint32_t tracer_of(const struct drain *d)
{
	return __atomic_load_n(&d->memory->settings.tracer, __ATOMIC_RELAXED);
}

static uint32_t values_of(const struct drain *d)
{
	return __atomic_load_n(&d->memory->settings.values, __ATOMIC_RELAXED);
}

struct scan {
	size_t n;        /* words looked at, up to the end of the last record */
	size_t kept;     /* of those, in d->words: without the holes */
	size_t holes;    /* records whose slots were reserved and never filled, before the last record */
	uint64_t calls, records;
	uint64_t last;   /* the last record's header */
	uint16_t cpu;    /* at the end */
};

static void count_event(struct scan *s, const uint64_t *word)
{
	if (record_type(*word) == RECORD_EVENT_CPU && record_payload(*word))
		s->cpu = (uint16_t)word[1];
	s->calls += (uint64_t)record_is_call(*word);
	s->records += (uint64_t)record_counts(*word);
}

static void take_record(struct scan *s, uint64_t *out, uint64_t header, const uint64_t *payload, unsigned n)
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

/* Above all addresses of a program. */
#define NO_ADDRESS (UINT64_C(1) << 47)

/* Payload is stored before its header. Behind an empty slot may therefore stand what was to belong to a record that
 * never came; a record is told from it by its time, which is behind that of the one before and not in the future.
 * A stack pointer reads like a record of the few milliseconds after the time's low 40 bits have begun anew, which a
 * thread's last moments may well contain; a record of that time behind an empty slot is rarer. */
static bool is_of_its_time(uint64_t word, uint64_t before, uint64_t near)
{
	uint64_t then = before ? record_tsc(before, near) : near, tsc = record_tsc(word, then);

	return word >= NO_ADDRESS && tsc + TSC_SLACK >= then && tsc <= clock_tsc();
}

/* Copies the records of words[0..n) to d->words. near: a full TSC near that of the first; 0 = not known. With
 * stop_at_hole, ends before the first empty slot. */
static struct scan scan_words(struct drain *d, const uint64_t *words, size_t n, uint64_t near, uint16_t cpu,
			      bool stop_at_hole)
{
	const uint32_t tracer = tracer_of(d), values = values_of(d);
	struct scan s = { .cpu = cpu };
	size_t i = 0, empty = 0;
	uint64_t before = 0;

	while (i < n) {
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);
		unsigned payload = record_payload(word);

		if (!word) {
			if (stop_at_hole)
				break;
			empty++;
			i += memory_hole_words(tracer, values, words + i, n - i);
			continue;
		}
		if (empty && near && !is_of_its_time(word, before, near)) {
			i++;
			continue;
		}
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

/* Reads descriptor i; false if it is nobody's, or makes no sense. Of one that is FILLING its thread may be storing
 * `used`. */
static bool read_claim(const struct drain *d, uint32_t i, struct claim *out)
{
	const volatile struct memory_desc *desc = &d->memory->descs[i];

	out->i = i;
	out->state = __atomic_load_n(&desc->state, __ATOMIC_ACQUIRE);
	if (out->state == MEMORY_FREE)
		return false;
	out->desc = (struct memory_desc){
		.thread = desc->thread, .seq = desc->seq, .tsc = desc->tsc, .cpu = desc->cpu, .lost = desc->lost,
		.lost_upto = desc->lost_upto, .begins = desc->begins,
		.used = out->state == MEMORY_FULL ? desc->used : 0,
	};
	out->slot = out->desc.thread;
	return out->slot < d->memory->layout.threads_max;
}

#define LOST_MOST (UINT64_C(1) << 48) /* what a thread throws away in two months */

/* A count of losses, or 0 if the program spoiled it. */
static uint64_t believed(struct drain *d, uint64_t lost)
{
	if (lost < LOST_MOST)
		return lost;
	if (!d->spoiled)
		notes_add(&d->memory->header->notes, NOTE_SPOILED, 0, "");
	d->spoiled = true;
	return 0;
}

/* Overwrite mode: what stood before the oldest sub-buffer that a thread kept. Told once. */
static uint64_t overwritten(struct drain *d, uint32_t slot)
{
	const struct memory_thread *t = &d->memory->threads[slot];

	if (d->memory->layout.mode != MEMORY_OVERWRITE || d->told[slot])
		return 0;
	d->told[slot] = true;
	return believed(d, t->overwritten[__atomic_load_n(&t->first_seq, __ATOMIC_ACQUIRE) & 1]);
}

/* A sub-buffer that its thread has begun to use again, and counted. */
static bool is_overwritten(const struct drain *d, const struct claim *c)
{
	uint32_t first = __atomic_load_n(&d->memory->threads[c->slot].first_seq, __ATOMIC_ACQUIRE);

	return d->memory->layout.mode == MEMORY_OVERWRITE && (int32_t)(c->desc.seq - first) < 0;
}

/* How much of the thread came before the rest of a sub-buffer. In a memory that another tracer left
 * (recover.c) it is what that one noted. */
static uint64_t position(const struct drain *d, const struct claim *c)
{
	uint64_t taken = __atomic_load_n(&d->memory->threads[c->slot].taken, __ATOMIC_RELAXED);

	if (d->places[c->i].taken)
		return d->position[c->slot];
	if (c->desc.begins)
		return c->desc.begins - 1;
	return taken > d->position[c->slot] ? taken : d->position[c->slot];
}

/* In a memory that another tracer left, what that one had taken over may be more. */
static void note_taken(struct drain *d, uint32_t slot)
{
	uint64_t *taken = &d->memory->threads[slot].taken;

	if (__atomic_load_n(taken, __ATOMIC_RELAXED) < d->position[slot])
		__atomic_store_n(taken, d->position[slot], __ATOMIC_RELEASE);
}

/* The losses of a descriptor are told. Its thread says so itself, unless it died right before. */
static void note_told(struct drain *d, const struct claim *c)
{
	uint64_t *reported = &d->memory->threads[c->slot].lost_reported;
	uint64_t was = __atomic_load_n(reported, __ATOMIC_RELAXED);

	if (was < c->desc.lost_upto)
		__atomic_compare_exchange_n(reported, &was, c->desc.lost_upto, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

/* What was scanned, from d->words. */
static int emit(struct drain *d, const struct claim *c, const struct scan *s, drain_sink *sink, void *context,
		struct err *err)
{
	struct place *p = &d->places[c->i];
	const struct drain_run run = {
		.slot = d->memory->first_slot + c->slot, .position = position(d, c),
		.words = d->words, .n = s->kept, .calls = s->calls, .records = s->records,
		.cpu = p->taken ? p->cpu : (uint16_t)c->desc.cpu,
		.near_tsc = p->near_tsc ? p->near_tsc : c->desc.tsc,
		.lost = (p->taken ? 0 : believed(d, c->desc.lost)) + s->holes + overwritten(d, c->slot),
	};
	int r;

	p->taken += (uint32_t)s->n * 8;
	p->cpu = s->cpu;
	if (s->kept)
		d->last[c->slot] = (struct last_seen){ record_tsc(s->last, run.near_tsc), s->cpu };
	if (!c->desc.begins)
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

static bool thread_lives(const struct shared_memory *m, uint32_t slot)
{
	const struct memory_thread *t = &m->threads[slot % m->layout.threads_max];

	return syscall(SYS_tgkill, t->pid, t->tid, 0) == 0 || errno == EPERM;
}

static void give_back(struct drain *d, uint32_t i)
{
	POINT(give_back_begins);
	d->places[i] = (struct place){ 0 };
	shared_memory_give_back(d->memory, i);
}

static bool may_fill(struct place *p)
{
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (!p->hole_since)
		p->hole_since = now;
	return now - p->hole_since < HOLE_NS;
}

/* What is left of a FULL sub-buffer, all of it reserved. */
static struct scan scan_reserved(struct drain *d, const struct claim *c)
{
	const struct place *p = &d->places[c->i];
	size_t used = c->desc.used < MEMORY_BUFFER_BYTES ? c->desc.used & ~7u : MEMORY_BUFFER_BYTES;
	size_t n = used > p->taken ? (used - p->taken) / 8 : 0;
	struct scan s = scan_words(d, shared_memory_words(d->memory, c->i) + p->taken / 8, n, c->desc.tsc,
				   p->taken ? p->cpu : (uint16_t)c->desc.cpu, false);

	s.holes += memory_holes_in(tracer_of(d), values_of(d), n - s.n);
	return s;
}

/* A FULL sub-buffer. 1 if something was emitted, 0 if not yet, -errno. */
static int take_full(struct drain *d, const struct claim *c, bool last, drain_sink *sink, void *context,
		     struct err *err)
{
	struct place *p = &d->places[c->i];
	struct scan s = scan_reserved(d, c);
	int r;

	if (s.holes && !last && may_fill(p) && thread_lives(d->memory, c->slot))
		return 0;
	r = emit(d, c, &s, sink, context, err);
	d->expected[c->slot] = c->desc.seq + 1;
	p->slot = c->slot;
	shared_memory_let_go(d->memory, c->slot); /* a quarantined one is no longer the thread's either */
	if (s.holes && !last)
		p->quarantined = true;
	else
		give_back(d, c->i);
	return r < 0 ? r : 1;
}

static int take_partial(struct drain *d, const struct claim *c, uint64_t now, drain_sink *sink, void *context,
			struct err *err)
{
	struct place *p = &d->places[c->i];
	uint16_t cpu = p->taken ? p->cpu : (uint16_t)c->desc.cpu;
	struct scan s = scan_words(d, shared_memory_words(d->memory, c->i) + p->taken / 8,
				   (MEMORY_BUFFER_BYTES - p->taken) / 8, 0, cpu, true);
	int r = 0;

	if (s.n)
		r = emit(d, c, &s, sink, context, err);
	if (p->taken)
		p->near_tsc = now; /* what comes next is younger: an idle thread's stamps stay clear */
	return r < 0 ? r : s.n > 0;
}

static int by_thread_and_seq(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->desc.seq < y->desc.seq ? -1 : x->desc.seq > y->desc.seq;
}

static void collect(struct drain *d, bool partial)
{
	uint32_t used = shared_memory_used(d->memory);

	d->order.n = 0;
	for (uint32_t i = 0; i < used; i++) {
		uint32_t state = __atomic_load_n(&d->memory->descs[i].state, __ATOMIC_ACQUIRE);
		struct claim c;

		if (state != MEMORY_FULL && !(partial && state == MEMORY_FILLING))
			continue; /* its fields are not ours to read */
		if (read_claim(d, i, &c) && !d->places[i].quarantined && !is_overwritten(d, &c))
			*vec_add(&d->order) = c;
	}
	POINT(pass_collected);
	if (d->order.n)
		qsort(d->order.at, d->order.n, sizeof(d->order.at[0]), by_thread_and_seq);
}

static void release_quarantined(struct drain *d)
{
	uint32_t used = shared_memory_used(d->memory);

	for (uint32_t i = 0; i < used; i++)
		if (d->places[i].quarantined && !thread_lives(d->memory, d->places[i].slot))
			give_back(d, i);
}

/* What a writer that is no more would have noted: where its last whole record ends. */
static uint32_t close_for_writer(struct drain *d, uint32_t i)
{
	uint64_t *words = shared_memory_words(d->memory, i);
	uint64_t tsc = *(volatile uint64_t *)&d->memory->descs[i].tsc;
	uint32_t used = (uint32_t)scan_words(d, words, MEMORY_BUFFER_WORDS, tsc, 0, false).n * 8;

	d->memory->descs[i].used = used;
	return used;
}

/* Sub-buffers of threads that ended would otherwise stay with them to the end of the session. */
static void reap_dead(struct drain *d)
{
	uint32_t used = shared_memory_used(d->memory);

	for (uint32_t i = 0; i < used; i++) {
		struct claim c;

		if (!read_claim(d, i, &c) || c.state != MEMORY_FILLING || thread_lives(d->memory, c.slot))
			continue;
		close_for_writer(d, i);
		__atomic_store_n(&d->memory->descs[i].state, MEMORY_FULL, __ATOMIC_RELEASE);
	}
}

static bool is_scarce(const struct drain *d)
{
	uint32_t used = shared_memory_used(d->memory);

	return used > d->memory->layout.buffers_max / 2 &&
	       (uint32_t)__atomic_load_n(&d->memory->header->free_head, __ATOMIC_RELAXED) == MEMORY_NONE;
}

/* --- overwrite mode: threads that ended make room ------------------------------------------------ */

static int by_age(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	return x->desc.tsc < y->desc.tsc ? -1 : x->desc.tsc > y->desc.tsc;
}

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

/* Those of threads that had ended before their first sub-buffer was looked at: of others an older one may have been
 * missed. */
static void collect_dead(struct drain *d)
{
	size_t kept = 0;

	collect(d, true);
	note_dead(d);
	collect(d, true);
	for (size_t k = 0; k < d->order.n; k++) {
		const struct claim c = d->order.at[k];

		if (d->dead[c.slot])
			d->order.at[kept++] = c;
	}
	d->order.n = kept;
}

/* As its thread would have done, had it lived to need the room (agent/buffer.c). */
static void throw_away(struct drain *d, struct claim *c)
{
	struct memory_thread *t = &d->memory->threads[c->slot];
	struct scan s;

	if (c->state == MEMORY_FILLING)
		c->desc.used = close_for_writer(d, c->i);
	s = scan_reserved(d, c);
	t->overwritten[(c->desc.seq + 1) & 1] = t->overwritten[c->desc.seq & 1] + c->desc.lost + s.records + s.holes;
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

/* --- taking --------------------------------------------------------------------------------------- */

/* Looks at a sub-buffer again: since it was collected it may have become FULL. */
static int take_claimed(struct drain *d, const struct claim *then, uint64_t now, drain_sink *sink, void *context,
			struct err *err)
{
	struct claim c;

	if (then->desc.seq != d->expected[then->slot])
		return 0; /* its predecessor became FULL after we looked */
	if (!read_claim(d, then->i, &c) || c.slot != then->slot || c.desc.seq != then->desc.seq)
		return 0; /* the program spoiled it */
	if (c.state == MEMORY_FULL)
		return take_full(d, &c, false, sink, context, err);
	return take_partial(d, &c, now, sink, context, err);
}

int drain_pass(struct drain *d, bool partial, drain_sink *sink, void *context, struct err *err)
{
	uint64_t now = clock_tsc();
	int taken = 0, r;

	if (is_scarce(d) && d->memory->layout.mode != MEMORY_OVERWRITE) {
		reap_dead(d);
		release_quarantined(d);
		shared_memory_wake_writers(d->memory);
	}
	collect(d, partial);
	for (size_t k = 0; k < d->order.n; k++) {
		r = take_claimed(d, &d->order.at[k], now, sink, context, err);
		if (r < 0)
			return r;
		taken += r;
		shared_memory_beat(d->memory);
		shared_memory_wake_writers(d->memory);
	}
	return taken;
}

static uint64_t count_window(struct drain *d, const struct memory_thread *t)
{
	if (!t->in_void || t->lost != t->void_from)
		return 0;
	return scan_words(d, t->nowhere, MEMORY_VOID_WORDS, 0, 0, false).records;
}

/* Losses that no sub-buffer tells: since its thread's last one was opened. */
static uint64_t count_untold(struct drain *d, uint32_t slot)
{
	const struct memory_thread *t = &d->memory->threads[slot];

	return believed(d, t->lost - t->lost_reported) + count_window(d, t) + overwritten(d, slot);
}

/* Thread `slot` as if all its losses had been told. Nobody writes there any more. */
static void close_account(struct drain *d, uint32_t slot, uint64_t upto)
{
	struct memory_thread *t = &d->memory->threads[slot];

	__atomic_store_n(&t->lost_reported, __atomic_load_n(&t->lost, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	t->in_void = 0;
	d->position[slot] = upto;
	note_taken(d, slot);
}

/* What a thread lost at its end, which no record of its own stands behind. 1 if there was something, 0, -errno. */
static int tell_end(struct drain *d, uint32_t slot, drain_sink *sink, void *context, struct err *err)
{
	const struct memory_thread *t = &d->memory->threads[slot];
	const uint64_t taken = __atomic_load_n(&t->taken, __ATOMIC_RELAXED), untold = count_untold(d, slot);
	const struct drain_run run = {
		.slot = slot, .position = taken > d->position[slot] ? taken : d->position[slot],
		.near_tsc = d->last[slot].tsc ? d->last[slot].tsc : t->tsc, .cpu = d->last[slot].cpu,
		.words = d->words, .lost = untold,
	};
	int r;

	if (!untold)
		return 0;
	r = sink(context, &run, err);
	close_account(d, slot, run.position + untold);
	return r < 0 ? r : 1;
}

static int tell_ends(struct drain *d, drain_sink *sink, void *context, struct err *err)
{
	int told = 0;

	for (uint32_t slot = 0; slot < shared_memory_threads(d->memory); slot++) {
		int r = tell_end(d, slot, sink, context, err);

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
	collect(d, true);
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
	*lost += believed(d, __atomic_load_n(&d->memory->header->lost_threadless, __ATOMIC_RELAXED));
	return taken + r;
}
