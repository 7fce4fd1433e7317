#include "session/drain.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "session/clock.h"
#include "shared/record.h"
#include "shared/points.h"

/* How long a FULL sub-buffer may have a hole (a writer interrupted between reserving a slot and
 * filling it) before the hole is called lost. Its owner may still store there, so such a sub-buffer is
 * not given back before the thread ends. */
#define HOLE_NS UINT64_C(1000000000)

/* What the tracer knows of each sub-buffer; the descriptor is the traced program's to spoil. */
struct place {
	uint32_t taken;      /* bytes already taken */
	uint64_t hole_since; /* nanoseconds; 0 = it has none */
	uint64_t near_tsc;   /* of the next record to be taken; 0 = the descriptor's */
	uint16_t cpu;
	bool quarantined;    /* all taken, waiting for its thread to end */
};

struct drain {
	struct shared_memory *memory;
	struct place *places;
	uint32_t *expected;  /* by thread slot: seq of the next sub-buffer to take */
	uint64_t *position;  /* by thread slot: records kept and lost so far */
	uint64_t *lost;      /* by thread slot: of its `lost`, told by runs */
	bool *told;          /* by thread slot: what was overwritten */
	VEC(uint32_t) order; /* of one pass */
};

struct drain *drain_new(struct shared_memory *memory)
{
	struct drain *d = mem_zalloc(sizeof(*d));

	d->memory = memory;
	d->places = mem_zalloc(memory->buffers_max * sizeof(d->places[0]));
	d->expected = mem_zalloc(memory->threads_max * sizeof(d->expected[0]));
	d->position = mem_zalloc(memory->threads_max * sizeof(d->position[0]));
	d->lost = mem_zalloc(memory->threads_max * sizeof(d->lost[0]));
	d->told = mem_zalloc(memory->threads_max * sizeof(d->told[0]));
	return d;
}

void drain_free(struct drain *d)
{
	if (!d)
		return;
	free(d->places);
	free(d->expected);
	free(d->position);
	free(d->lost);
	free(d->told);
	vec_free(&d->order);
	free(d);
}

struct scan {
	size_t n;        /* words of whole records */
	size_t holes;    /* slots reserved and never filled, before the last record */
	uint64_t calls, records;
	uint16_t cpu;    /* at the end */
};

static void count_event(struct scan *s, const uint64_t *word)
{
	if (record_type(*word) == RECORD_EVENT_CPU)
		s->cpu = (uint16_t)word[1];
	s->calls += (uint64_t)record_is_call(*word);
	s->records += (uint64_t)record_counts(*word);
}

/* Walks the records of words[0..n). With stop_at_hole, ends before the first empty slot. */
static struct scan scan_words(const uint64_t *words, size_t n, uint16_t cpu, bool stop_at_hole)
{
	struct scan s = { .cpu = cpu };
	size_t i = 0, empty = 0;

	while (i < n) {
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);
		unsigned payload = record_payload(word);

		if (!word) {
			if (stop_at_hole)
				break;
			empty++;
			i++;
			continue;
		}
		if (i + 1 + payload > n)
			break;
		if (record_kind(word) == RECORD_EVENT) {
			count_event(&s, &words[i]);
		} else {
			s.records++;
			s.calls += record_kind(word) != RECORD_EXIT;
		}
		i += 1 + payload;
		s.n = i;
		s.holes += empty;
		empty = 0;
	}
	return s;
}

/* Copies the records of a sub-buffer with holes without them. */
static size_t squeeze(const uint64_t *words, size_t n, uint64_t *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < n;) {
		unsigned len = 1 + record_payload(words[i]);

		if (words[i]) {
			memcpy(out + kept, words + i, len * 8);
			kept += len;
		}
		i += len;
	}
	return kept;
}

/* Overwrite mode: what stood before the oldest sub-buffer that a thread kept. Told once. */
static uint64_t overwritten(struct drain *d, uint32_t slot)
{
	const struct memory_thread *t = &d->memory->threads[slot];

	if (d->memory->header->mode != MEMORY_OVERWRITE || d->told[slot])
		return 0;
	d->told[slot] = true;
	return t->overwritten[__atomic_load_n(&t->first_seq, __ATOMIC_ACQUIRE) & 1];
}

/* A sub-buffer that its thread has begun to use again, and counted. */
static bool is_overwritten(const struct drain *d, const struct memory_desc *desc)
{
	uint32_t first = __atomic_load_n(&d->memory->threads[desc->thread].first_seq, __ATOMIC_ACQUIRE);

	return d->memory->header->mode == MEMORY_OVERWRITE && (int32_t)(desc->seq - first) < 0;
}

/* How much of the thread came before the rest of sub-buffer i. In a memory that another tracer left
 * (recover.c) it is what that one noted. */
static uint64_t position(const struct drain *d, uint32_t i, uint32_t slot)
{
	uint64_t begins = d->memory->descs[i].begins, taken = d->memory->threads[slot].taken;

	if (d->places[i].taken)
		return d->position[slot];
	if (begins)
		return begins - 1;
	return taken > d->position[slot] ? taken : d->position[slot];
}

static int emit(struct drain *d, uint32_t i, const struct scan *s, drain_sink *sink, void *context,
		struct err *err)
{
	struct memory_desc *desc = &d->memory->descs[i];
	struct place *p = &d->places[i];
	const uint64_t *words = shared_memory_words(d->memory, i) + p->taken / 8;
	uint64_t squeezed[MEMORY_BUFFER_WORDS];
	uint32_t slot = __atomic_load_n(&desc->thread, __ATOMIC_RELAXED) % d->memory->threads_max;
	int r;
	struct drain_run run = {
		.slot = slot, .position = position(d, i, slot),
		.words = words, .n = s->n, .calls = s->calls, .records = s->records,
		.cpu = p->taken ? p->cpu : (uint16_t)desc->cpu,
		.near_tsc = p->near_tsc ? p->near_tsc : desc->tsc,
		.lost = (p->taken ? 0 : desc->lost) + s->holes + overwritten(d, slot),
	};

	if (s->holes) {
		run.n = squeeze(words, s->n, squeezed);
		run.words = squeezed;
	}
	p->taken += (uint32_t)s->n * 8;
	p->cpu = s->cpu;
	if (!desc->begins)
		desc->begins = 1 + run.position;
	d->lost[slot] = desc->lost_upto;
	POINT(run_begins);
	r = sink(context, &run, err);
	POINT(run_given);
	d->position[slot] = run.position + run.records + run.lost;
	__atomic_store_n(&d->memory->threads[slot].taken, d->position[slot], __ATOMIC_RELEASE);
	POINT(run_told);
	return r;
}

static bool thread_lives(const struct shared_memory *m, uint32_t slot)
{
	const struct memory_thread *t = &m->threads[slot % m->threads_max];

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

/* A FULL sub-buffer. 1 if something was emitted, 0 if not yet, -errno. */
static int take_full(struct drain *d, uint32_t i, bool last, drain_sink *sink, void *context, struct err *err)
{
	struct memory_desc *desc = &d->memory->descs[i];
	struct place *p = &d->places[i];
	size_t used = desc->used < MEMORY_BUFFER_USABLE ? desc->used : MEMORY_BUFFER_USABLE;
	size_t end = used == MEMORY_BUFFER_USABLE ? MEMORY_BUFFER_BYTES : used;
	uint16_t cpu = p->taken ? p->cpu : (uint16_t)desc->cpu;
	struct scan s;
	int r;

	if (end < p->taken)
		end = p->taken;
	s = scan_words(shared_memory_words(d->memory, i) + p->taken / 8, (end - p->taken) / 8, cpu, false);
	if (p->taken + s.n * 8 < used)
		s.holes += (used - p->taken) / 8 - s.n;
	if (s.holes && !last && may_fill(p) && thread_lives(d->memory, desc->thread))
		return 0;
	r = emit(d, i, &s, sink, context, err);
	d->expected[desc->thread % d->memory->threads_max] = desc->seq + 1;
	if (s.holes && !last)
		p->quarantined = true;
	else
		give_back(d, i);
	return r < 0 ? r : 1;
}

static int take_partial(struct drain *d, uint32_t i, uint64_t now, drain_sink *sink, void *context,
			struct err *err)
{
	struct place *p = &d->places[i];
	uint16_t cpu = p->taken ? p->cpu : (uint16_t)d->memory->descs[i].cpu;
	struct scan s = scan_words(shared_memory_words(d->memory, i) + p->taken / 8,
				   (MEMORY_BUFFER_BYTES - p->taken) / 8, cpu, true);
	int r = 0;

	if (s.n)
		r = emit(d, i, &s, sink, context, err);
	if (p->taken)
		p->near_tsc = now; /* what comes next is younger: an idle thread's stamps stay clear */
	return r < 0 ? r : s.n > 0;
}

static const struct memory_desc *order_descs;

static int by_thread_and_seq(const void *a, const void *b)
{
	const struct memory_desc *x = &order_descs[*(const uint32_t *)a], *y = &order_descs[*(const uint32_t *)b];

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void collect(struct drain *d, bool partial)
{
	uint32_t used = shared_memory_used(d->memory);

	d->order.n = 0;
	for (uint32_t i = 0; i < used; i++) {
		const struct memory_desc *desc = &d->memory->descs[i];
		uint32_t state = __atomic_load_n(&desc->state, __ATOMIC_ACQUIRE);

		if (state != MEMORY_FULL && !(partial && state == MEMORY_FILLING))
			continue; /* its fields are not ours to read */
		if (desc->thread < d->memory->threads_max && !d->places[i].quarantined && !is_overwritten(d, desc))
			*vec_add(&d->order) = i;
	}
	POINT(pass_collected);
	order_descs = d->memory->descs;
	if (d->order.n)
		qsort(d->order.at, d->order.n, sizeof(d->order.at[0]), by_thread_and_seq);
}

static void release_quarantined(struct drain *d)
{
	uint32_t used = shared_memory_used(d->memory);

	for (uint32_t i = 0; i < used; i++)
		if (d->places[i].quarantined && !thread_lives(d->memory, d->memory->descs[i].thread))
			give_back(d, i);
}

/* What a writer that is no more would have noted: where its last whole record ends. */
static void close_for_writer(struct drain *d, uint32_t i)
{
	uint64_t *words = shared_memory_words(d->memory, i);

	d->memory->descs[i].used = (uint32_t)scan_words(words, MEMORY_BUFFER_WORDS, 0, false).n * 8;
}

/* Sub-buffers of threads that ended would otherwise stay with them to the end of the session. */
static void reap_dead(struct drain *d)
{
	uint32_t used = shared_memory_used(d->memory);

	for (uint32_t i = 0; i < used; i++) {
		struct memory_desc *desc = &d->memory->descs[i];

		if (__atomic_load_n(&desc->state, __ATOMIC_ACQUIRE) != MEMORY_FILLING ||
		    desc->thread >= d->memory->threads_max || thread_lives(d->memory, desc->thread))
			continue;
		close_for_writer(d, i);
		__atomic_store_n(&desc->state, MEMORY_FULL, __ATOMIC_RELEASE);
	}
}

static bool is_scarce(const struct drain *d)
{
	uint32_t used = shared_memory_used(d->memory);

	return used > d->memory->buffers_max / 2 &&
	       (uint32_t)__atomic_load_n(&d->memory->header->free_head, __ATOMIC_RELAXED) == MEMORY_NONE;
}

int drain_pass(struct drain *d, bool partial, drain_sink *sink, void *context, struct err *err)
{
	uint64_t now = clock_tsc();
	int taken = 0, r;

	if (is_scarce(d) && d->memory->header->mode != MEMORY_OVERWRITE) {
		reap_dead(d);
		release_quarantined(d);
	}
	collect(d, partial);
	for (size_t k = 0; k < d->order.n; k++) {
		uint32_t i = d->order.at[k];
		const struct memory_desc *desc = &d->memory->descs[i];

		if (desc->seq != d->expected[desc->thread % d->memory->threads_max])
			continue; /* its predecessor became FULL after we looked */
		if (__atomic_load_n(&desc->state, __ATOMIC_ACQUIRE) == MEMORY_FULL)
			r = take_full(d, i, false, sink, context, err);
		else
			r = take_partial(d, i, now, sink, context, err);
		if (r < 0)
			return r;
		taken += r;
		shared_memory_beat(d->memory);
		shared_memory_wake_writers(d->memory);
	}
	return taken;
}

static uint64_t count_window(const struct memory_thread *t)
{
	if (!t->in_void || t->lost != t->void_from)
		return 0;
	return scan_words(t->nowhere, MEMORY_VOID_WORDS, 0, false).records;
}

/* Losses that no sub-buffer tells: since its thread's last one was opened. */
static uint64_t count_untold(struct drain *d, uint32_t slot)
{
	const struct memory_thread *t = &d->memory->threads[slot];
	uint64_t told = t->lost_reported > d->lost[slot] ? t->lost_reported : d->lost[slot];

	return t->lost - told + count_window(t) + overwritten(d, slot);
}

int drain_finish(struct drain *d, drain_sink *sink, void *context, uint64_t *lost, struct err *err)
{
	int taken = 0, r;

	POINT(finish_begins);
	collect(d, true);
	for (size_t k = 0; k < d->order.n; k++) {
		struct memory_desc *desc = &d->memory->descs[d->order.at[k]];

		if (desc->state == MEMORY_FILLING)
			close_for_writer(d, d->order.at[k]);
		r = take_full(d, d->order.at[k], true, sink, context, err);
		if (r < 0)
			return r;
		taken += r;
	}
	for (uint32_t i = 0; i < shared_memory_threads(d->memory); i++)
		*lost += count_untold(d, i);
	*lost += __atomic_load_n(&d->memory->header->lost_threadless, __ATOMIC_RELAXED);
	return taken;
}
