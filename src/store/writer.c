/* SPDX-License-Identifier: MIT */
/* Collects each thread's runs until they make a packet worth coding, and passes them to the
 * pipeline. One thread writes: the recording one, which also drains the session memory, so that the
 * loops here are on its path. Packets wait in a list by age; the oldest goes when too much is
 * pending or it has waited for AGE_MAX. An error of the pipeline comes back from the next call. */
#include <errno.h>
#include <string.h>

#include "shared/record.h"
#include "store/columns.h"
#include "store/info.h"
#include "store/pipeline.h"
#include "store/reader.h"
#include "store/writer.h"

/* Words that are collected at most, all threads together; beyond it the oldest packet goes. That
 * bounds a reader's memory too: packets that overlap in time were collected together, and by the
 * time as many more words have come all of them are gone, so that overlapping packets are twice
 * this at most. */
#define PENDING_WORDS (4u << 20)
/* words with which a packet goes to an idle worker: less is left to code when the program has
 * ended */
#define EARLY_WORDS (PACKET_WORDS_MAX / 4)
/* ticks between runs in one packet: the format stores differences */
#define GAP_MAX (UINT64_C(1) << (RECORD_TSC_BITS - 2))
#define AGE_MAX 2          /* seconds that a record may wait; a killed tracer loses no more */
/* Bytes of items that make a packet of their own. */
#define INFO_ENOUGH (64u << 10)
#define WORTH_WORDS (64u << 10) /* of a file, whatever size is asked for */
#define NONE UINT32_MAX

struct pending_run {
	struct pipeline_words words;
	struct packet_records head;
	uint64_t tsc;            /* of the last record */
	uint16_t cpu;            /* after the last record */
	/* neighbours in the list of threads with pending records, by their first record */
	uint32_t older, younger;
};

struct store_writer {
	const struct trace_info *info;
	struct info_writer *items;
	struct pipeline *pipeline;
	struct bytes raw;
	VEC(struct pending_run) threads;
	uint32_t oldest, youngest; /* threads with pending records */
	size_t n_pending;          /* words */
	uint64_t n_sent;           /* words that the pipeline got */
};

void writer_free(struct store_writer *w)
{
	for (size_t i = 0; i < w->threads.n; i++)
		free(w->threads.at[i].words.at);
	vec_free(&w->threads);
	vec_free(&w->raw);
	info_writer_free(w->items);
	free(w);
}

/* Sends the collected items on their way. */
static int put_info(struct store_writer *w, struct err *err)
{
	return w->raw.n ? pipeline_info(w->pipeline, &w->raw, err) : 0;
}

/* Collects the items that are new. They become a packet when there are enough, or before the next
 * records: a program's first seconds bring a few call sites with every run. One call of
 * info_write() may stop early: the loop ends when it has added nothing. */
static int sync_info(struct store_writer *w, bool last, struct err *err)
{
	size_t before;
	int r = 0;

	do {
		before = w->raw.n;
		info_write(w->items, w->info, last, &w->raw);
		if (w->raw.n == before)
			break;
		if (w->raw.n >= INFO_ENOUGH)
			r = put_info(w, err);
	} while (!r);
	return r;
}

static struct store_writer *new_writer(struct pipeline *pipeline, const struct trace_info *info)
{
	struct store_writer *w = mem_zalloc(sizeof(*w));

	w->info = info;
	w->items = info_writer_new();
	w->pipeline = pipeline;
	w->oldest = w->youngest = NONE;
	return w;
}

int store_flush_info(struct store_writer *w, struct err *err)
{
	int r = sync_info(w, false, err);

	return r ? r : put_info(w, err);
}

int store_create(const char *path, const struct trace_info *info, struct store_writer **out,
		 struct err *err)
{
	struct pipeline *pipeline = pipeline_new(path, info->values, 0, err);
	struct store_writer *w;
	int r;

	*out = NULL;
	if (!pipeline)
		return err ? -err->code : -EIO;
	pipeline_compress(pipeline, info->compress);
	w = new_writer(pipeline, info);
	r = store_flush_info(w, err);
	/* The first packet must be info: a file that is cut later is readable from here on. */
	if (r)
		store_discard(w);
	else
		*out = w;
	return r;
}

/* Copies the packets of a file that is continued, each checked. */
static int adopt_packets(struct pipeline *p, struct store_reader *reader, struct err *err)
{
	struct loader l = {0};
	int r = 0;

	for (size_t i = 0; i < reader->entries.n && !r; i++) {
		r = reader_packet(reader, &reader->entries.at[i], &l, err);
		if (!r)
			r = pipeline_adopt(p, &reader->entries.at[i].head, &l.packet, err);
	}
	reader_loader_free(&l);
	return r;
}

int store_continue(const char *path, struct store_reader *reader, struct store_writer **out,
		   struct err *err)
{
	struct pipeline *pipeline =
		pipeline_new(path, reader->info->values, reader->created_ns, err);
	int r;

	*out = NULL;
	if (!pipeline)
		return err ? -err->code : -EIO;
	r = adopt_packets(pipeline, reader, err);
	if (r)
		pipeline_finish(pipeline, false, NULL);
	else
		*out = new_writer(pipeline, reader->info);
	return r;
}

void store_limit(struct store_writer *w, uint64_t bytes)
{
	pipeline_limit(w->pipeline, bytes);
}

void store_compress(struct store_writer *w, unsigned level)
{
	pipeline_compress(w->pipeline, level);
}

void store_renamed(struct store_writer *w, const char *path)
{
	pipeline_renamed(w->pipeline, path);
}

int store_sync_info(struct store_writer *w, struct err *err)
{
	int r = sync_info(w, false, err);

	return r ? r : pipeline_error(w->pipeline, err);
}

/* The table grows with the threads of the trace. A pointer into it is valid until the next call. */
static struct pending_run *pending_of_thread(struct store_writer *w, uint32_t thread)
{
	while (thread >= w->threads.n)
		*vec_add(&w->threads) = (struct pending_run){0};
	return &w->threads.at[thread];
}

/* Pending threads form a list by age of their oldest record; a new one is the youngest. */
static void link_youngest(struct store_writer *w, struct pending_run *p)
{
	p->older = w->youngest;
	p->younger = NONE;
	if (w->youngest != NONE)
		w->threads.at[w->youngest].younger = p->head.thread;
	else
		w->oldest = p->head.thread;
	w->youngest = p->head.thread;
}

/* The packet leaves the list when it goes to the pipeline; its thread may come back as the
 * youngest. */
static void unlink_pending(struct store_writer *w, struct pending_run *p)
{
	if (p->older != NONE)
		w->threads.at[p->older].younger = p->younger;
	else
		w->oldest = p->younger;
	if (p->younger != NONE)
		w->threads.at[p->younger].older = p->older;
	else
		w->youngest = p->older;
}

/* Sends the thread's packet off, after the items that it refers to. A reader takes packets in their
 * order: names stand before the records that use them. */
static int flush_pending(struct store_writer *w, struct pending_run *p, struct err *err)
{
	int r;

	if (!p->words.n)
		return 0;
	r = sync_info(w, false, err);
	if (!r)
		r = put_info(w, err);
	if (r)
		return r;
	unlink_pending(w, p);
	w->n_pending -= p->words.n;
	w->n_sent += p->words.n;
	return pipeline_records(w->pipeline, &p->head, &p->words, err);
}

/* Begins a packet if the thread has none. */
static void begin_pending(struct store_writer *w, struct pending_run *p, uint32_t thread,
			  uint64_t tsc)
{
	if (p->words.n)
		return;
	if (!p->words.at)
		p->words = pipeline_buffer(w->pipeline);
	p->head = (struct packet_records){ .thread = thread, .first_tsc = tsc, .cpu = p->cpu };
	link_youngest(w, p);
}

/* At least 64 words of room: small runs would make the buffer grow each time. */
static void add_pending_words(struct store_writer *w, struct pending_run *p, const uint64_t *words,
			      size_t n)
{
	vec_reserve(&p->words, p->words.n + (n > 64 ? n : 64));
	w->n_pending += n;
	memcpy(p->words.at + p->words.n, words, n * sizeof(*words));
	p->words.n += n;
}

/* Adds one record of n words, its header first. */
static int add_words(struct store_writer *w, struct pending_run *p, uint32_t thread, uint64_t tsc,
	       const uint64_t *words, size_t n, struct err *err)
{
	int r = p->words.n + n > PACKET_WORDS_MAX ? flush_pending(w, p, err) : 0;

	if (r)
		return r;
	begin_pending(w, p, thread, tsc);
	add_pending_words(w, p, words, n);
	p->tsc = tsc;
	return 0;
}

/* Adds a record that says how many are missing here. It has the type that readers unpack to
 * EVENT_LOST; it is not counted as a record. It stands among the records at the place of the loss,
 * because a thread's stack is unknown from there. */
static int add_lost(struct store_writer *w, struct pending_run *p, uint32_t thread, uint64_t tsc,
		    uint64_t lost, struct err *err)
{
	uint64_t words[] = {
		record_word(tsc, record_event_id(1, RECORD_STORE_LOST), RECORD_EVENT), lost
	};
	int r = add_words(w, p, thread, tsc, words, 2, err);

	p->head.lost += lost;
	return r;
}

/* Adds a record of the CPU on which the next run was written. */
static int add_cpu(struct store_writer *w, struct pending_run *p, uint32_t thread, uint64_t tsc,
		   uint16_t cpu, struct err *err)
{
	uint64_t words[] = {
		record_word(tsc, record_event_id(1, RECORD_EVENT_CPU), RECORD_EVENT), cpu
	};
	int r;

	if (!p->words.n) { /* the packet's header tells */
		p->cpu = cpu;
		return 0;
	}
	r = add_words(w, p, thread, tsc, words, 2, err);
	p->cpu = cpu;
	return r;
}

/* A slot that nobody has written. The id and kind of a record (the lower 24 bits) are never all 0:
 * a thread was interrupted between its reservation and its store, and died. */
static bool is_hole(uint64_t word) { return !(word & 0xffffff); }

static bool is_event(uint64_t word, enum record_event type)
{
	return record_kind(word) == RECORD_EVENT && record_type(word) == type;
}

/* Counts how many of the first n words are entries and exits, which need nothing but their time,
 * and adds them up. Most records are, so that this is the loop on which the drain's speed
 * depends. */
static size_t plain_run(struct pending_run *p, const uint64_t *words, size_t n)
{
	uint64_t tsc = p->tsc;
	uint32_t records = 0, exits = 0;
	size_t i, len;

	for (i = 0; i < n && record_kind(words[i]) != RECORD_EVENT; i += len) {
		len = 1 + record_payload(words[i]);
		if (len > n - i)
			break;
		tsc = record_tsc(words[i], tsc);
		records++;
		exits += record_kind(words[i]) == RECORD_EXIT;
	}
	p->tsc = tsc;
	p->head.records += records;
	p->head.calls += records - exits;
	return i;
}

/* Adds as many plain records as fit into the open packet. */
static size_t add_plain(struct store_writer *w, struct pending_run *p, const uint64_t *words,
			size_t n)
{
	size_t room = PACKET_WORDS_MAX - p->words.n, took;

	if (!p->words.n || !room)
		return 0;
	took = plain_run(p, words, n < room ? n : room);
	add_pending_words(w, p, words, took);
	return took;
}

/* Adds the record at the head of n words. *took is the number of its words, or n when nothing
 * usable follows. */
static int add_one(struct store_writer *w, struct pending_run *p, uint32_t thread, uint64_t near,
		   const uint64_t *words, size_t n, size_t *took, struct err *err)
{
	size_t len = 1 + record_payload(words[0]);
	uint64_t tsc = record_tsc(words[0], near);
	int r;

	*took = n;
	if (is_event(words[0], RECORD_EVENT_PAD))
		return 0;
	/* copies of stacks are for live readers: no file has bytes of a program's stack */
	if (is_event(words[0], RECORD_EVENT_STACK)) {
		*took = len < n ? len : n;
		return 0;
	}
	if (is_hole(words[0])) {
		*took = 1;
		return 0;
	}
	if (len > n) /* its end is missing */
		return add_lost(w, p, thread, tsc, 1, err);
	*took = len;
	r = add_words(w, p, thread, tsc, words, len, err);
	p->head.records += (uint32_t)record_counts(words[0]);
	p->head.calls += (uint32_t)record_is_call(words[0]);
	if (is_event(words[0], RECORD_EVENT_CPU) && len == 2)
		p->cpu = (uint16_t)words[1];
	return r;
}

/* Adds records to the thread's pending packet: plain ones at once, others one by one. */
static int add_run(struct store_writer *w, struct pending_run *p, uint32_t thread, uint64_t tsc,
		   const uint64_t *words, size_t n, struct err *err)
{
	int r = 0;

	for (size_t i = 0, took; i < n && !r; i += took) {
		took = add_plain(w, p, words + i, n - i);
		if (!took)
			r = add_one(w, p, thread, tsc, words + i, n - i, &took, err);
		if (p->words.n)
			tsc = p->tsc;
	}
	return r;
}

/* Call it only if there is an oldest one. */
static int flush_oldest(struct store_writer *w, struct err *err)
{
	return flush_pending(w, &w->threads.at[w->oldest], err);
}

int store_flush(struct store_writer *w, uint64_t before_tsc, struct err *err)
{
	int r = 0;

	while (!r && w->oldest != NONE && w->threads.at[w->oldest].head.first_tsc <= before_tsc)
		r = flush_oldest(w, err);
	return r ? r : pipeline_error(w->pipeline, err);
}

/* The full TSC of the first record; near if there is none. A word has its lower bits alone; `near`
 * restores the upper ones (record_tsc()). */
static uint64_t first_tsc(const uint64_t *words, size_t n, uint64_t near)
{
	size_t i = 0;

	while (i < n && is_hole(words[i]))
		i++;
	return i < n ? record_tsc(words[i], near) : near;
}

int store_records(struct store_writer *w, uint32_t thread, uint64_t near_tsc, uint16_t cpu,
		  uint64_t lost, const uint64_t *words, size_t n, struct err *err)
{
	uint64_t age = w->info->clock.hz * AGE_MAX, tsc = first_tsc(words, n, near_tsc);
	struct pending_run *p;
	int r = 0;

	if (thread >= w->info->threads.n)
		return err_set(err, EINVAL, "records of a thread that trace_info does not have: %u",
			       thread);
	p = pending_of_thread(w, thread);
	/* Too far from the packet's last record, in either direction. Differences are unsigned: one
	 * of the two directions is always a number near 2^64, so that both have to be too large. */
	if (p->words.n && tsc - p->tsc >= GAP_MAX && p->tsc - tsc >= GAP_MAX)
		r = flush_pending(w, p, err);
	if (!r && cpu != p->cpu)
		r = add_cpu(w, p, thread, tsc, cpu, err);
	if (!r && lost)
		r = add_lost(w, p, thread, tsc, lost, err);
	if (!r)
		r = add_run(w, p, thread, tsc, words, n, err);
	if (!r && p->words.n >= EARLY_WORDS && pipeline_is_idle(w->pipeline))
		r = flush_pending(w, p, err);
	while (!r && w->n_pending > PENDING_WORDS)
		r = flush_oldest(w, err);
	/* age is 0 while the clock is not known. */
	if (!r && age && p->tsc > age)
		r = store_flush(w, p->tsc - age, err);
	return r ? r : pipeline_error(w->pipeline, err);
}

int store_wait_written(struct store_writer *w, struct err *err)
{
	int r = store_flush(w, UINT64_MAX, err);

	if (!r)
		r = put_info(w, err);
	return r ? r : pipeline_wait_written(w->pipeline, err);
}

int writer_put_rest(struct store_writer *w, struct err *err)
{
	int r = sync_info(w, true, err);

	return r ? r : put_info(w, err);
}

int writer_put_all(struct store_writer *w, struct err *err)
{
	int r = store_flush(w, UINT64_MAX, err);

	if (!r)
		r = writer_put_rest(w, err);
	return r ? r : pipeline_wait_written(w->pipeline, err);
}

struct pipeline *writer_pipeline(struct store_writer *w)
{
	return w->pipeline;
}

/* Records that wait are dropped, and all of the trace's information is written once more. */
void writer_begin_anew(struct store_writer *w)
{
	for (size_t t = 0; t < w->threads.n; t++)
		w->threads.at[t].words.n = 0;
	w->oldest = w->youngest = NONE;
	w->n_pending = 0;
	w->raw.n = 0;
	info_writer_free(w->items);
	w->items = info_writer_new();
}

int writer_put_lost(struct store_writer *w, uint32_t thread, uint64_t lost, struct err *err)
{
	struct pending_run *p = pending_of_thread(w, thread);
	/* A thread that never wrote: when it was first seen. */
	int r = add_lost(w, p, thread, p->tsc ? p->tsc : w->info->threads.at[thread].tsc, lost,
			 err);

	return r ? r : flush_pending(w, p, err);
}

int store_finish(struct store_writer *w, struct err *err)
{
	int r = writer_put_all(w, err), finished;

	finished = pipeline_finish(w->pipeline, true, r ? NULL : err);
	writer_free(w);
	return r ? r : finished;
}

void store_discard(struct store_writer *w)
{
	pipeline_finish(w->pipeline, false, NULL);
	writer_free(w);
}

uint64_t store_bytes(const struct store_writer *w)
{
	return pipeline_bytes(w->pipeline);
}

int store_count(struct store_writer *w, struct trace_info *info, struct err *err)
{
	const struct packet_entry *entries;
	int r = store_wait_written(w, err);
	size_t n = pipeline_index(w->pipeline, &entries);

	info->total.calls = 0;
	for (size_t i = 0; i < n; i++)
		if (entries[i].head.type == PACKET_RECORDS)
			info->total.calls += entries[i].head.records.calls;
	return r;
}

static bool has_likely(const struct store_writer *w, uint64_t bytes)
{
	return w->n_sent + w->n_pending >= WORTH_WORDS &&
	       pipeline_bytes_likely(w->pipeline, w->n_pending) >= bytes;
}

/* A word may become a byte, or a sixteenth of one: nobody knows before the first packet is coded.
 * The wait is none that a new file would not bring. A failure of a write is told by the next call
 * that returns one. */
bool store_has(struct store_writer *w, uint64_t bytes)
{
	struct err err;

	if (!has_likely(w, bytes) || pipeline_has_records(w->pipeline))
		return has_likely(w, bytes);
	if (!w->n_sent && flush_oldest(w, &err))
		return true;
	if (pipeline_wait_written(w->pipeline, &err))
		return true;
	return has_likely(w, bytes);
}
