/* SPDX-License-Identifier: MIT */
/* Reads one thread's packets in order, for the merge and for the public cursor. Any number of
 * threads may do this on one reader: all state is in struct thread_packets and the loader. merge.c,
 * the excerpt and report/ call it. A packet that does not decode is -EBADMSG, with its place in the
 * file. */
#include <errno.h>
#include <stdatomic.h>

#include "store/reader.h"
#include "store/effects.h"

/* Packets of thread t are r->packets from r->first[t] to r->first[t + 1]. False: the thread has
 * none. */
bool thread_packets_begin(struct store_reader *r, uint32_t thread, struct thread_packets *out)
{
	if (thread >= r->info->threads.n || r->first.at[thread] == r->first.at[thread + 1])
		return false;
	*out = (struct thread_packets){ .thread = thread,
					.next = r->first.at[thread],
					.end = r->first.at[thread + 1] };
	return true;
}

/* A packet's head has the stamps as they are; its records move by no more than the pairs do. Bounds
 * of where the pairs may put the packet's records, for a merge that decides by heads which packet
 * to read next. */
static uint64_t earliest(const struct store_reader *r, uint64_t tsc)
{
	const uint64_t reach = r->pairs ? clock_pairs_reach(r->pairs) : 0;

	return tsc > reach ? tsc - reach : 0;
}

static uint64_t latest(const struct store_reader *r, uint64_t tsc)
{
	const uint64_t reach = r->pairs ? clock_pairs_reach(r->pairs) : 0;

	return tsc < UINT64_MAX - reach ? tsc + reach : UINT64_MAX;
}

/* A thread's times never go back, by however little two processors' lines disagree. */
void thread_packets_place(const struct store_reader *r, struct event *e, uint64_t *last)
{
	const uint64_t stamp = e->tsc;

	if (!r->pairs)
		return;
	e->tsc = clock_pairs_tsc(r->pairs, e->cpu, e->tsc);
	e->tsc = e->tsc > *last ? e->tsc : *last;
	*last = e->tsc;
	if (e->kind == EVENT_SPAN)
		e->begin = clock_pairs_tsc(r->pairs, e->cpu, e->begin);
	else if (e->kind == EVENT_SLEPT) /* on which CPU it began, no record tells */
		e->begin += e->tsc - stamp;
}

/* Events of a start that are no calls have the time of the packet, which is right already. */
void thread_packets_place_start(const struct store_reader *r, struct event *e, uint64_t *last)
{
	if (e->kind != EVENT_AT && e->kind != EVENT_MARK)
		thread_packets_place(r, e, last);
}

/* Call it only while there is a next packet. */
uint64_t thread_packets_next_tsc(const struct store_reader *r, const struct thread_packets *t)
{
	return earliest(r, r->entries.at[r->packets.at[t->next]].head.records.first_tsc);
}

uint64_t thread_packets_next_bytes(const struct store_reader *r, const struct thread_packets *t)
{
	return r->entries.at[r->packets.at[t->next]].head.payload;
}

uint64_t thread_packets_next_last_tsc(const struct store_reader *r, const struct thread_packets *t)
{
	return latest(r, r->entries.at[r->packets.at[t->next]].head.records.last_tsc);
}

uint64_t thread_packets_last_tsc(const struct store_reader *r, const struct thread_packets *t)
{
	return latest(r, r->entries.at[r->packets.at[t->end - 1]].head.records.last_tsc);
}

bool store_last(struct store_reader *r, uint32_t thread, uint64_t *tsc)
{
	struct thread_packets t;

	if (!thread_packets_begin(r, thread, &t))
		return false;
	*tsc = thread_packets_last_tsc(r, &t);
	return true;
}

/* Whether the index and the packet agree. The index was believed when the packets were put in
 * order, before the packet itself is seen. */
static bool same_records(const struct packet_records *a, const struct packet_records *b)
{
	return a->thread == b->thread && a->words == b->words && a->first_tsc == b->first_tsc;
}

/* Gives the loader a decoder and room for the words of a packet. The room only grows: a thread's
 * packets are of like size, and the loader serves one after another. */
static void make_ready(struct loader *l, size_t words)
{
	if (!l->decoder)
		l->decoder = columns_decoder_new();
	if (l->room >= words)
		return;
	free(l->words);
	l->words = mem_realloc(NULL, words, sizeof(*l->words));
	l->room = words;
}

/* 1: words are there to be unpacked; 0: the thread's packets are used up; -errno and *err. The
 * loader's words stay until its next packet: events that point into them (payloads) have to be used
 * up by then. */
int thread_packets_load(struct store_reader *r, struct thread_packets *t, struct loader *l,
			struct err *err)
{
	struct packet_entry entry;
	const struct packet_records *head = &entry.head.records;
	struct packet_records known;
	int res;

	if (t->next == t->end)
		return 0;
	entry = r->entries.at[r->packets.at[t->next]];
	known = *head;
	res = reader_packet(r, &entry, l, err);
	if (res)
		return res;
	if (!same_records(head, &known))
		return err_set(err, EBADMSG,
			       "trace file %s is damaged: its index and the packet at "
			       "byte %llu differ",
			       r->name, (unsigned long long)entry.offset);
	make_ready(l, head->words);
	res = columns_decoder_run(l->decoder, head, l->packet.at + l->packet.n - entry.head.payload,
				  entry.head.payload, l->words, err);
	if (res)
		return err_prefix(err, "trace file %s, byte %llu", r->name,
				  (unsigned long long)entry.offset), res;
	atomic_fetch_add_explicit(&r->read, entry.head.payload, memory_order_relaxed);
	t->next++;
	t->unpack = (struct unpack){ .at = l->words,
				     .end = l->words + head->words,
				     .tsc = head->first_tsc,
				     .thread = t->thread,
				     .cpu = head->cpu,
				     .arguments = t->unpack.arguments };
	return 1;
}

struct store_cursor {
	struct store_reader *reader;
	struct thread_packets packets;
	struct loader loader;
	const struct thread_start *start; /* or NULL */
	struct start_told told;
	struct store_start *owned;        /* or NULL */
	uint64_t last;                    /* time of the event given last */
	struct err failed; /* a damaged packet ends the thread for good */
};

struct store_cursor *store_cursor_open(struct store_reader *r, uint32_t thread)
{
	struct thread_packets packets;
	struct store_cursor *c;

	if (!thread_packets_begin(r, thread, &packets))
		return NULL;
	c = mem_zalloc(sizeof(*c));
	c->reader = r;
	c->packets = packets;
	return c;
}

/* The thread has no place in the start where no record of it lies before: it begins with its
 * first packet then. */
struct store_cursor *store_cursor_open_at(struct store_reader *r, uint32_t thread,
					  const struct store_start *start)
{
	struct store_cursor *c = store_cursor_open(r, thread);

	if (!c)
		return NULL;
	c->start = store_start_of(start, thread);
	if (c->start)
		c->packets.next = c->start->packet;
	return c;
}

/* When part number `part` of a thread begins: its records before that are its share. Words are
 * counted, not packets, for packets of a quiet thread are small. The last packet is never passed:
 * its time is read. */
static uint64_t part_begins(const struct store_reader *r, uint32_t thread, unsigned part,
			    unsigned parts)
{
	const uint32_t first = r->first.at[thread], end = r->first.at[thread + 1];
	uint64_t all = 0, seen = 0;
	uint32_t i;

	for (i = first; i < end; i++)
		all += r->entries.at[r->packets.at[i]].head.records.words;
	for (i = first; i + 1 < end && seen < all / parts * part; i++)
		seen += r->entries.at[r->packets.at[i]].head.records.words;
	return r->entries.at[r->packets.at[i]].head.records.first_tsc;
}

/* Where the part begins. NULL: that is not known. */
static struct store_start *start_of_part(struct store_reader *r, uint32_t thread, unsigned part,
					 unsigned parts)
{
	struct store_start *s = store_start_at(r, part_begins(r, thread, part, parts));

	if (s && store_start_of(s, thread))
		return s;
	store_start_free(s);
	return NULL;
}

struct store_cursor *store_cursor_open_part(struct store_reader *r, uint32_t thread, unsigned part,
					    unsigned parts, bool bare, size_t *told)
{
	struct store_cursor *c = store_cursor_open(r, thread);
	struct store_start *next = NULL;

	*told = 0;
	if (!c)
		return NULL;
	c->owned = part ? start_of_part(r, thread, part, parts) : NULL;
	next = part + 1 < parts ? start_of_part(r, thread, part + 1, parts) : NULL;
	if (next)
		c->packets.end = store_start_of(next, thread)->packet;
	if (c->owned)
		c->packets.next = store_start_of(c->owned, thread)->packet;
	if ((part && !c->owned) || (part + 1 < parts && !next) ||
	    c->packets.next >= c->packets.end) {
		store_cursor_close(c);
		c = NULL;
	} else if (c->owned && !bare) {
		c->start = store_start_of(c->owned, thread);
		*told = (c->start->at != 0) + c->start->open.n + c->start->marks.n;
	}
	store_start_free(next);
	return c;
}

/* Events of the start, up to n. */
static size_t give_start(struct store_cursor *c, struct event *out, size_t n)
{
	const uint64_t tsc = c->packets.next < c->packets.end
				     ? thread_packets_next_tsc(c->reader, &c->packets)
				     : thread_packets_last_tsc(c->reader, &c->packets);
	size_t done = 0;

	while (done < n && store_start_next(c->start, &c->told, c->packets.thread, tsc, &out[done]))
		thread_packets_place_start(c->reader, &out[done++], &c->last);
	return done;
}

/* After an error the same error again: what follows a damaged packet is not given out. */
static int load_next(struct store_cursor *c)
{
	if (c->failed.code)
		return -c->failed.code;
	return thread_packets_load(c->reader, &c->packets, &c->loader, &c->failed);
}

/* Events of the start come first: they tell what was open, and need no packet. */
int store_cursor_next(struct store_cursor *c, struct event *out, size_t n, struct err *err)
{
	size_t done = c->start ? give_start(c, out, n) : 0;
	int r = 1;

	while (done < n && r > 0) {
		if (unpack_next(&c->packets.unpack, &out[done]))
			thread_packets_place(c->reader, &out[done++], &c->last);
		else
			r = load_next(c);
	}
	/* An error is returned only when the events before it have been given out. */
	if (r < 0 && !done) {
		if (err)
			*err = c->failed;
		return r;
	}
	return (int)done;
}

int store_cursor_words(struct store_cursor *c, struct unpack **out, struct err *err)
{
	int r = c->packets.unpack.at < c->packets.unpack.end ? 1 : load_next(c);

	*out = &c->packets.unpack;
	if (r < 0 && err)
		*err = c->failed;
	return r;
}

void store_cursor_close(struct store_cursor *c)
{
	if (!c)
		return;
	reader_loader_free(&c->loader);
	store_start_free(c->owned);
	free(c);
}
