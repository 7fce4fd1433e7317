/* SPDX-License-Identifier: MIT */
/* Merges all threads' events by time (store_source). A heap holds the threads whose records overlap
 * the present one: a thread enters when the merge reaches its first record, gives its decoded
 * packet back while it waits for its next one, and leaves after its last. So memory follows what
 * went on at one time, not the length of the file or the number of threads it ever had. If so many
 * threads live at one time that their packets would be too much, each holds only a slice of its
 * packet, which is decoded again for the next slice: slower, but never bigger.
 *
 * Commands, the library, excerpts and queries that read a trace call it. A source belongs to one
 * thread; several may read one store_reader. A damaged packet ends the merge with an error for
 * good. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/heap.h"
#include "shared/record.h"
#include "store/reader.h"
#include "store/effects.h"

#define SPARE_MAX 64
#define BUDGET (8u << 20) /* words decoded and waiting: 64 MiB */
/* words that a lane has at least, beyond the budget if need be, for the sake of speed */
#define SLICE_LEAST 512u

struct merge_lane {
	struct thread_packets packets;
	uint64_t *words;    /* the words that are being unpacked */
	size_t room;
	/* words of the packet in earlier slices and this one; 0: the packet is used up */
	size_t done;
	/* never falls: a thread's events keep their order whatever their stamps */
	uint64_t key;
	uint64_t last;      /* time of the event before */
	struct call_arguments *arguments; /* of the thread's next call, or NULL */
	const struct thread_start *start; /* or NULL */
	struct start_told told;
	bool ready;         /* `event` is the next one; otherwise a packet must be loaded first */
	struct event event;
};

/* When a thread's records begin, or end. */
struct merge_turn {
	uint64_t tsc;
	uint32_t thread;
};

struct spare { uint64_t *words; size_t room; };

struct store_merge {
	struct source source;
	struct store_reader *reader;
	struct store_part part;
	struct loader loader;
	VEC(struct merge_lane *) heap;
	VEC(struct merge_turn) starts;
	size_t started;
	VEC(struct spare) spare;
	size_t slice;      /* words that a lane may hold */
	struct err failed;
	uint64_t payload[RECORD_PAYLOAD_MAX]; /* payload of the event given out last */
};

/* Equal times by thread, so that a merge always gives the same order. */
static bool key_before(uint64_t key_a, uint32_t thread_a, uint64_t key_b, uint32_t thread_b)
{
	return key_a != key_b ? key_a < key_b : thread_a < thread_b;
}

static bool lane_before(const struct merge_lane *a, const struct merge_lane *b)
{
	return key_before(a->key, a->packets.thread, b->key, b->packets.thread);
}

/* Gives a lane room for n words, from the spare buffers if one is large enough. */
static void take_room(struct store_merge *m, struct merge_lane *lane, size_t n)
{
	struct spare s = {0};

	if (m->spare.n)
		s = m->spare.at[--m->spare.n];
	if (s.room < n) {
		free(s.words);
		s = (struct spare){ mem_realloc(NULL, n, sizeof(*s.words)), n };
	}
	lane->words = s.words;
	lane->room = s.room;
}

/* Threads come and go: the room of one that has ended serves the next one. */
static void give_room_back(struct store_merge *m, struct merge_lane *lane)
{
	if (m->spare.n < SPARE_MAX && lane->words)
		*vec_add(&m->spare) = (struct spare){ lane->words, lane->room };
	else
		free(lane->words);
	lane->words = NULL;
	lane->room = 0;
}

/* The first packet of a thread that is in the part. False: there is none. */
static bool begin_packets(struct store_merge *m, uint32_t thread, struct thread_packets *out)
{
	const struct store_part *part = &m->part;
	const struct thread_start *start = store_start_of(part->start, thread);

	if (part->wants && !part->wants(part->arg, thread))
		return false;
	if (!thread_packets_begin(m->reader, thread, out))
		return false;
	while (out->next < out->end &&
	       thread_packets_next_last_tsc(m->reader, out) < part->from_tsc)
		out->next++;
	if (start)
		out->next = start->packet;
	return out->next < out->end || (start && start->open.n);
}

/* When the thread's events begin. It has some. */
static uint64_t first_tsc(const struct store_merge *m, const struct thread_packets *packets)
{
	const struct thread_start *start = store_start_of(m->part.start, packets->thread);

	if (start && start->open.n && m->reader->pairs)
		return clock_pairs_tsc(m->reader->pairs, start->open.at[0].cpu,
				       start->open.at[0].tsc);
	return start && start->open.n ? start->open.at[0].tsc
				      : thread_packets_next_tsc(m->reader, packets);
}

/* The lane's next event: of its start, or of the words that are loaded. */
static bool next_of(const struct store_merge *m, struct merge_lane *lane)
{
	if (lane->start && store_start_next(lane->start, &lane->told, lane->packets.thread,
					     lane->key, &lane->event)) {
		thread_packets_place_start(m->reader, &lane->event, &lane->last);
		return true;
	}
	if (!unpack_next(&lane->packets.unpack, &lane->event))
		return false;
	thread_packets_place(m->reader, &lane->event, &lane->last);
	return true;
}

/* Adds the lane of the thread whose records begin next. */
static void come_in(struct store_merge *m)
{
	struct merge_turn *s = &m->starts.at[m->started++];
	struct merge_lane *lane = mem_zalloc(sizeof(*lane));

	begin_packets(m, s->thread, &lane->packets);
	lane->packets.unpack.arguments = &lane->arguments;
	lane->key = s->tsc;
	lane->start = store_start_of(m->part.start, s->thread);
	lane->ready = lane->start && next_of(m, lane);
	heap_push(&m->heap, lane, lane_before);
}

/* Whether a thread begins before the first lane's next event. */
static bool start_is_next(const struct store_merge *m)
{
	const struct merge_turn *s;

	if (m->started == m->starts.n)
		return false;
	s = &m->starts.at[m->started];
	return !m->heap.n ||
	       key_before(s->tsc, s->thread, m->heap.at[0]->key, m->heap.at[0]->packets.thread);
}

/* Frees the first lane: its thread's records are all given out. */
static void leave_track(struct store_merge *m)
{
	struct merge_lane *lane = m->heap.at[0];

	give_room_back(m, lane);
	free(lane->arguments);
	free(lane);
	heap_pop(&m->heap, lane_before);
}

static void raise_key(struct merge_lane *lane, uint64_t tsc)
{
	if (tsc > lane->key)
		lane->key = tsc;
}

/* Moves the first lane on to its next event, to its wait for the next packet, or out of the heap.
 */
static void advance_track(struct store_merge *m)
{
	struct merge_lane *lane = m->heap.at[0];

	lane->ready = next_of(m, lane);
	if (lane->ready) {
		raise_key(lane, lane->event.tsc);
	} else if (lane->packets.next < lane->packets.end) {
		/* Between slices of one packet the key stays: the next event is known to be no
		 * earlier. */
		if (!lane->done)
			raise_key(lane, thread_packets_next_tsc(m->reader, &lane->packets));
		give_room_back(m, lane);
	} else {
		leave_track(m);
		return;
	}
	heap_sift(&m->heap, lane_before);
}

/* Number of words at the beginning of [at, end) that a lane takes: whole records, about m->slice
 * words. */
static size_t slice_words(const struct store_merge *m, const uint64_t *at, const uint64_t *end)
{
	size_t all = (size_t)(end - at), n = 0;

	if (all <= m->slice)
		return all;
	while (n < m->slice)
		/* May end beyond m->slice by a record's payload, but not beyond `end`: a packet
		 * ends with a whole record. */
		n += 1 + record_payload(at[n]);
	return n;
}

/* Takes the next slice of the packet that was just decoded for the lane. `before` has the time and
 * CPU that the previous slice ended with. */
static void take_slice(struct store_merge *m, struct merge_lane *lane, const struct unpack *before)
{
	struct unpack *u = &lane->packets.unpack;
	size_t n;

	if (lane->done) {
		u->at += lane->done;
		u->tsc = before->tsc;
		u->cpu = before->cpu;
	}
	n = slice_words(m, u->at, u->end);
	lane->done = u->at + n < u->end ? lane->done + n : 0;
	if (lane->done) {
		/* The packet has more events than the slice holds: it is decoded once more. */
		lane->packets.next--;
		atomic_fetch_sub_explicit(&m->reader->read,
					  thread_packets_next_bytes(m->reader, &lane->packets),
					  memory_order_relaxed);
	}
	take_room(m, lane, n);
	/* The loader's buffer is shared by all lanes. */
	memcpy(lane->words, u->at, n * sizeof(*lane->words));
	u->at = lane->words;
	u->end = lane->words + n;
}

/* Whether the words that earlier slices took are whole records of the packet still: it was read
 * anew, and somebody may write to the file. */
static bool is_read_again(const struct merge_lane *lane)
{
	size_t n = 0;

	while (n < lane->done)
		n += 1 + record_payload(lane->packets.unpack.at[n]);
	return n == lane->done;
}

/* Loads the first lane's next words. */
static void wake_tracks(struct store_merge *m)
{
	struct merge_lane *lane = m->heap.at[0];
	struct unpack before_it = lane->packets.unpack;

	if (thread_packets_load(m->reader, &lane->packets, &m->loader, &m->failed) <= 0)
		return;
	if (!is_read_again(lane)) {
		err_set(&m->failed, ESTALE, "trace file %s changed while brace read it",
			m->reader->name);
		return;
	}
	take_slice(m, lane, &before_it);
	advance_track(m);
}

/* Copies the event out. Its payload would be gone when the lane moves on. */
static void give_out(struct store_merge *m, struct event *out)
{
	*out = m->heap.at[0]->event;
	if (!event_payload_words(out))
		return;
	memcpy(m->payload, out->payload, 8 * event_payload_words(out));
	out->payload = m->payload;
}

static int merge_next(struct source *s, struct event *out, struct err *err)
{
	struct store_merge *m = (struct store_merge *)s;

	while (!m->failed.code) {
		if (start_is_next(m)) {
			come_in(m);
		} else if (!m->heap.n) {
			return 0;
		} else if (m->heap.at[0]->ready) {
			give_out(m, out);
			advance_track(m);
			return 1;
		} else {
			wake_tracks(m);
		}
	}
	if (err)
		*err = m->failed;
	return -m->failed.code;
}

static void close_merge(struct source *s)
{
	struct store_merge *m = (struct store_merge *)s;

	for (size_t i = 0; i < m->heap.n; i++) {
		free(m->heap.at[i]->words);
		free(m->heap.at[i]->arguments);
		free(m->heap.at[i]);
	}
	for (size_t i = 0; i < m->spare.n; i++)
		free(m->spare.at[i].words);
	vec_free(&m->heap);
	vec_free(&m->starts);
	vec_free(&m->spare);
	reader_loader_free(&m->loader);
	free(m);
}

static int by_time(const void *a, const void *b)
{
	const struct merge_turn *x = a, *y = b;

	return key_before(x->tsc, x->thread, y->tsc, y->thread) ? -1 : 1;
}

static void sort_turns(struct merge_turn *at, size_t n)
{
	if (n)
		qsort(at, n, sizeof(*at), by_time);
}

/* The greatest number of threads that exist at one time. Both lists are sorted, and no thread ends
 * before it begins. */
static size_t most_at_once(const struct merge_turn *starts, const struct merge_turn *ends, size_t n)
{
	size_t most = 1;

	for (size_t in = 0, out = 0; in < n; in++) {
		while (out < n && ends[out].tsc < starts[in].tsc)
			out++;
		if (in + 1 - out > most)
			most = in + 1 - out;
	}
	return most;
}

/* When a lane gives its thread's last event out, which is never before another of them: packets
 * that a hostile program forged may go back in time. */
static uint64_t end_of(const struct store_merge *m, struct thread_packets packets, uint64_t begin)
{
	uint64_t end = begin;

	for (; packets.next < packets.end; packets.next++) {
		const uint64_t last = thread_packets_next_last_tsc(m->reader, &packets);

		end = last > end ? last : end;
	}
	return end;
}

/* Finds when each thread's records begin and end, and how much memory a lane may take. */
static void plan_merge(struct store_merge *m)
{
	VEC(struct merge_turn) ends = {0};

	for (uint32_t t = 0; t < m->reader->info->threads.n; t++) {
		struct thread_packets packets;
		uint64_t begin;

		if (!begin_packets(m, t, &packets))
			continue;
		begin = first_tsc(m, &packets);
		*vec_add(&m->starts) = (struct merge_turn){ begin, t };
		*vec_add(&ends) = (struct merge_turn){ end_of(m, packets, begin), t };
	}
	sort_turns(m->starts.at, m->starts.n);
	sort_turns(ends.at, ends.n);
	m->slice = BUDGET / most_at_once(m->starts.at, ends.at, ends.n);
	if (m->slice < SLICE_LEAST)
		m->slice = SLICE_LEAST;
	vec_free(&ends);
}

struct source *store_source_part(struct store_reader *r, const struct store_part *part)
{
	static const struct source_ops ops = { merge_next, close_merge };
	struct store_merge *m = mem_zalloc(sizeof(*m));

	m->source.ops = &ops;
	m->source.info = r->info;
	m->reader = r;
	m->part = *part;
	plan_merge(m);
	return &m->source;
}

struct source *store_source(struct store_reader *r)
{
	return store_source_part(r, &(struct store_part){ 0 });
}

static bool is_about_stack(const struct event *e)
{
	return e->kind == EVENT_AT || e->kind == EVENT_MARK || e->kind == EVENT_SWITCH;
}

/* A packet's head has the time of its first word, which may be where the stack pointer was, stamped
 * after the call that it is written before; or one that is no event, of a thread whose first call
 * took its slot. known: the time where there is no event. */
static uint64_t first_event_tsc(struct store_reader *r, uint64_t known)
{
	struct source *s = store_source(r);
	struct event event = { 0 };
	struct err ignored;
	int got;

	do
		got = merge_next(s, &event, &ignored);
	while (got > 0 && is_about_stack(&event));
	close_merge(s);
	return got > 0 ? event.tsc : known;
}

/* When a thread's last event was, by the pairs of clocks: a packet's head does not say on which CPU
 * that was. 0: it has none, or its packet is damaged. */
static uint64_t last_placed(struct store_reader *r, uint32_t thread, struct loader *l)
{
	struct thread_packets packets;
	uint64_t last = 0;
	struct event e;
	struct err ignored;

	if (!thread_packets_begin(r, thread, &packets))
		return 0;
	packets.next = packets.end - 1;
	if (thread_packets_load(r, &packets, l, &ignored) > 0)
		while (unpack_next(&packets.unpack, &e))
			thread_packets_place(r, &e, &last);
	return last;
}

/* Stamps of processors whose TSCs are apart cannot be compared before they are put right. */
static void place_range(struct store_reader *r, uint64_t *first, uint64_t *last)
{
	const struct packet_records *head = &r->entries.at[r->packets.at[0]].head.records;
	struct loader l = { 0 };

	*last = 0;
	for (uint32_t i = 0; i < r->info->threads.n; i++) {
		const uint64_t tsc = last_placed(r, i, &l);

		*last = tsc > *last ? tsc : *last;
	}
	reader_loader_free(&l);
	/* The first event is looked for; this is for a file that has none. */
	*first = clock_pairs_tsc(r->pairs, head->cpu, head->first_tsc);
	*first = *first < *last ? *first : *last;
}

bool store_range(struct store_reader *r, uint64_t *first, uint64_t *last)
{
	*first = UINT64_MAX;
	*last = 0;
	for (size_t i = 0; i < r->packets.n; i++) {
		const struct packet_records *head = &r->entries.at[r->packets.at[i]].head.records;

		*first = head->first_tsc < *first ? head->first_tsc : *first;
		*last = head->last_tsc > *last ? head->last_tsc : *last;
	}
	if (r->pairs && r->packets.n)
		place_range(r, first, last);
	if (*first > *last)
		return false;
	*first = first_event_tsc(r, *first);
	return true;
}
