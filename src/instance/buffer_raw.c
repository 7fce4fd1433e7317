/* SPDX-License-Identifier: MIT */
/* Converts an instance's records into ftrace's binary ones, and these into pages (page.c), for
 * trace_pipe_raw. Threads of the tree call it under pump_lock; raw->lock protects the pages, so
 * that buffer_raw_take and the poll functions need no pump_lock.
 *
 * Records leave the ring by thread and become binary by CPU: reorder.c sorts each CPU's until
 * nothing older can come. Records that the ring lost are reported as missing in the next page. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "instance/buffer_internal.h"
#include "model/buffer_sizes.h"
#include "shared/record.h"

/* The fields at the start of each record, as `format` files list them. */
struct page_common { uint16_t type; uint8_t flags, preempt_count; int32_t pid; };
struct function_record { struct page_common common; uint64_t ip, parent_ip; };
struct entry_record { struct page_common common; uint64_t func; int32_t depth; };
struct exit_record {
	struct page_common common;
	uint64_t func, retval;
	int32_t depth;
	uint32_t overrun;
	uint64_t calltime, rettime;
};
/* IDs of the formats in event/builtin.c: readers of a raw trace know records by these only. */
enum {
	ID_FUNCTION = 1,
	ID_KERNEL_STACK = 4,
	ID_PRINT = 5,
	ID_GRAPH_EXIT = 10,
	ID_GRAPH_ENTRY = 11,
	ID_USER_STACK = 12,
	ID_FUNC_REPEATS = 19
};
/* sizeof(struct entry_record) is 24 because of its alignment; the kernel writes 20. */
#define ENTRY_BYTES 20u
#define STACK_CALLERS 1u  /* payload words before the callers: their number, or the pid */

/* A page that was begun so long ago is handed out unfinished: nobody should wait for a busy CPU's
 * page. */
#define STALE_NS 100000000u
/* Events between two releases: bounds the memory of a large buffer's conversion. */
#define RELEASE_EVERY 4096u

/* One call of buffer_raw_fill. */
struct filling {
	struct buffer_raw *raw;
	struct trace_info *info;
	struct addresses *addresses;
	uint64_t limit;
	uint64_t until; /* ns; younger records stay in the queue */
};

/* Returns the CPU's state, made at need with the usual limit. */
static struct raw_cpu *raw_cpu_state(struct filling *f, uint32_t cpu)
{
	while (f->raw->cpus.n <= cpu)
		*vec_add(&f->raw->cpus) = (struct raw_cpu){ .pages.limit = f->limit };
	return &f->raw->cpus.at[cpu];
}

static struct page_common common_of(const struct filling *f, uint16_t type, uint32_t thread)
{
	return (struct page_common){ .type = type,
				     .pid = (int32_t)f->info->threads.at[thread].tid };
}

static uint64_t ns_of(const struct filling *f, uint64_t tsc)
{
	return trace_clock_ns(&f->info->clock, tsc);
}

/* Queues a record. The CPU number is the traced program's: one out of range is dropped rather than
 * believed. */
static void add_record(struct filling *f, uint32_t thread, uint16_t cpu, uint64_t tsc,
		       const void *record, size_t n)
{
	if (cpu < CPUS_MAX)
		reorder_add(&raw_cpu_state(f, cpu)->reorder,
			    cpu_order_time(&f->raw->order, thread, cpu, ns_of(f, tsc)), record, n);
}

/* --- functions ---------------------------------------------------------------------- */

static uint64_t address_of(struct filling *f, uint32_t thread, uint32_t fn)
{
	return addresses_function(f->addresses, f->info, f->info->threads.at[thread].image, fn);
}

static void add_call(struct filling *f, const struct event *e)
{
	const struct function_record r = {
		common_of(f, ID_FUNCTION, e->thread),
		address_of(f, e->thread, e->fn),
		addresses_site(f->addresses, f->info, f->info->threads.at[e->thread].image, e->site,
			       e->tsc),
	};

	add_record(f, e->thread, e->cpu, e->tsc, &r, sizeof(r));
}

static void add_entry(struct filling *f, const struct call_step *s)
{
	const struct entry_record r = { common_of(f, ID_GRAPH_ENTRY, s->thread),
					address_of(f, s->thread, s->fn), (int32_t)s->depth };

	add_record(f, s->thread, s->cpu, s->tsc, &r, ENTRY_BYTES);
}

/* The kernel's funcgraph_exit has both times; depth counts from 0. */
static void add_exit(struct filling *f, const struct call_step *s)
{
	const struct exit_record r = { common_of(f, ID_GRAPH_EXIT, s->thread),
				       address_of(f, s->thread, s->fn),
				       s->flags & CALL_VALUE ? s->value : 0,
				       (int32_t)s->depth,
				       0,
				       ns_of(f, call_step_begin(s)),
				       ns_of(f, s->tsc) };

	add_record(f, s->thread, s->cpu, s->tsc, &r, sizeof(r));
}

/* Told in the next page of its CPU, as the kernel tells it. */
static void add_miss(struct filling *f, const struct call_step *s)
{
	if (s->cpu < CPUS_MAX)
		reorder_miss(&raw_cpu_state(f, s->cpu)->reorder, ns_of(f, s->tsc), s->count);
}

/* --- events ------------------------------------------------------------------------- */

/* Reads the ID out of the event's format text: the trace_info has nothing else of it. */
static uint16_t find_id(const struct trace_info *info, uint32_t index)
{
	const struct trace_event *e = trace_info_event(info, index);
	const char *line = e ? strstr(e->format, "\nID: ") : NULL;
	unsigned id;

	return line && sscanf(line, "\nID: %u", &id) == 1 && id <= UINT16_MAX ? (uint16_t)id : 0;
}

/* The ID of an event of the catalogue; 0: the trace_info does not know it yet. */
static uint16_t id_of(struct filling *f, uint32_t index)
{
	struct buffer_raw *r = f->raw;

	while (r->ids.n <= index)
		*vec_add(&r->ids) = 0;
	if (!r->ids.at[index])
		r->ids.at[index] = find_id(f->info, index);
	return r->ids.at[index];
}

/* Translates addresses in the payload words [first, end) to the session's, as those of functions
 * are. */
static void move_addresses(struct filling *f, const struct event *e, uint64_t *record, size_t first,
			   size_t end)
{
	uint32_t image = f->info->threads.at[e->thread].image;

	for (size_t i = 1 + first; i < 1 + end && i < 1 + e->count / 8; i++)
		if (record[i])
			record[i] =
				addresses_resolve(f->addresses, f->info, image, record[i], e->tsc);
}

static void add_page_event(struct filling *f, const struct event *e)
{
	uint64_t record[1 + RECORD_PAYLOAD_MAX];
	uint16_t id = id_of(f, e->fn);
	struct page_common common;

	/* A hostile program can claim any length. */
	if (!id || e->count > 8 * RECORD_PAYLOAD_MAX)
		return;
	common = common_of(f, id, e->thread);
	memcpy(record, &common, sizeof(common));
	memcpy(record + 1, e->payload, e->count);
	/* trace_marker's text has no caller address of its own. */
	if (id == ID_PRINT && !record[1])
		record[1] = ADDRESS_MARKER;
	if (id == ID_USER_STACK || id == ID_KERNEL_STACK)
		move_addresses(f, e, record, STACK_CALLERS, RECORD_PAYLOAD_MAX);
	if (id == ID_FUNC_REPEATS)
		move_addresses(f, e, record, 0, 2);
	add_record(f, e->thread, e->cpu, e->tsc, record, 8 + e->count);
}

/* --- from the buffer to pages --------------------------------------------------------- */

/* A call of which only one half is known gives that half. */
static void add_step(void *arg, const struct call_step *s)
{
	struct filling *f = arg;

	switch ((enum call_kind)s->kind) {
	case CALL_ENTER:
	case CALL_ONLY: add_entry(f, s); break;
	case CALL_LEAVE:
	case CALL_SPAN: add_exit(f, s); break;
	case CALL_LOST: add_miss(f, s); break;
	case CALL_EVENT: add_page_event(f, s->event); break;
	}
}

/* Calls that have no exits need no pairing. */
static void take_page_event(struct filling *f, const struct event *e)
{
	struct tracks *t = &f->raw->tracks;

	if (e->kind == EVENT_CALL)
		add_call(f, e);
	else
		tracks_feed(t, tracks_lane(t, e->thread), e, add_step, f);
}

/* Records behind until_ns may still get earlier ones from other threads: they wait in the reorder
 * list. */
static void release_records(struct filling *f, uint64_t until_ns)
{
	for (size_t i = 0; i < f->raw->cpus.n; i++)
		reorder_release(&f->raw->cpus.at[i].reorder,
				until_ns < f->until ? until_ns : f->until,
				&f->raw->cpus.at[i].pages);
}

/* Reports records that the ring dropped since the last fill as missing before the first record
 * taken now. */
static void tell_gone(struct filling *f, struct ring *ring, uint64_t tsc)
{
	for (uint32_t i = 0; i < f->info->cpus && i < CPUS_MAX; i++) {
		const struct ring_losses g = ring_losses(ring, i);
		uint64_t gone = g.overrun + g.dropped + g.lost_gone;
		struct raw_cpu *c = raw_cpu_state(f, i);

		if (gone > c->gone)
			reorder_miss(&c->reorder, ns_of(f, tsc), gone - c->gone);
		c->gone = gone;
	}
}

/* Converts the source's events and closes it. They come by time, so that records before the current
 * one can be released in between. ring: its losses are reported before the first event; or NULL. */
static void take_events(struct filling *f, struct source *source, struct ring *ring)
{
	struct event e;
	struct err ignored;
	size_t n = 0;

	while (source->ops->next(source, &e, &ignored) > 0) {
		if (!n && ring)
			tell_gone(f, ring, e.tsc);
		if (e.thread < f->info->threads.n)
			take_page_event(f, &e);
		if (++n % RELEASE_EVERY == 0)
			release_records(f, ns_of(f, e.tsc));
	}
	source->ops->close(source);
}

/* The ring gives its chunks away: from here on the pages have the records. */
static void take_chunks(struct filling *f, struct buffer *b)
{
	chunk_list chunks = { 0 };

	ring_take(&b->ring, false, &chunks);
	if (chunks.n)
		take_events(f, buffer_merge(b, f->info, &chunks, BUFFER_ALL_CPUS), &b->ring);
	else
		vec_free(&chunks);
}

/* The CPU's share in bytes, at least two pages: a smaller buffer could not be read. */
static uint64_t limit_of(const struct settings *s, unsigned cpu)
{
	uint64_t kb = buffer_size_of(s, cpu);

	return kb > 8 ? kb * 1024 : 2 * PAGE_BYTES;
}

/* Takes buffer_size_kb, which may have changed, into all CPUs. *usual: for CPUs that are seen
 * later. CPUS_MAX is no CPU, so buffer_size_of() gives the size that holds for all. */
static void set_limits(struct buffer *b, struct buffer_raw *r, uint32_t cpus, uint64_t *usual)
{
	pthread_mutex_lock(&b->lock);
	while (r->cpus.n < cpus && r->cpus.n < CPUS_MAX)
		*vec_add(&r->cpus) = (struct raw_cpu){ 0 };
	for (unsigned i = 0; i < r->cpus.n; i++)
		r->cpus.at[i].pages.limit = limit_of(&b->settings, i);
	*usual = limit_of(&b->settings, CPUS_MAX);
	pthread_mutex_unlock(&b->lock);
}

/* Locked. */
static void open_tracks(struct buffer_raw *r, struct trace_info *info)
{
	sites_init(&r->sites, info);
	tracks_init(&r->tracks, info, &r->sites);
	r->open = true;
}

/* Pages are made when a reader asks. r->lock is taken before b->lock. */
void buffer_raw_fill(struct buffer *b, struct trace_info *info, struct addresses *a,
		     uint64_t until_tsc)
{
	struct buffer_raw *r = &b->raw;
	struct filling f = { r, info, a, 0, trace_clock_ns(&info->clock, until_tsc) };

	pthread_mutex_lock(&r->lock);
	set_limits(b, r, info->cpus, &f.limit);
	if (!r->open)
		open_tracks(r, info);
	take_chunks(&f, b);
	release_records(&f, f.until);
	pthread_mutex_unlock(&r->lock);
}

/* --- reading ------------------------------------------------------------------------ */

/* Whether the oldest page was begun STALE_NS ago, by CLOCK_MONOTONIC, which the records' clock is
 * translated to. */
static bool is_stale(const struct pages *p)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return pages_oldest(p, &ns) &&
	       (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec > ns + STALE_NS;
}

/* A copy: settings may change as soon as the lock is given back. */
static uint64_t percent_of(struct buffer *b)
{
	uint64_t percent;

	pthread_mutex_lock(&b->lock);
	percent = b->settings.buffer_percent;
	pthread_mutex_unlock(&b->lock);
	return percent;
}

/* With buffer_percent 0 poll reports the first record, so that a reader must then get it even from
 * an unfinished page: trace-cmd gives up otherwise. */
bool buffer_raw_take(struct buffer *b, unsigned cpu, bool unfinished, void *page)
{
	struct buffer_raw *r = &b->raw;
	bool took = false;

	unfinished |= !percent_of(b);

	pthread_mutex_lock(&r->lock);
	if (cpu < r->cpus.n)
		took = pages_take(&r->cpus.at[cpu].pages,
				  unfinished || is_stale(&r->cpus.at[cpu].pages), page);
	pthread_mutex_unlock(&r->lock);
	return took;
}

/* By buffer_percent, for poll(). */
bool buffer_raw_is_filled(struct buffer *b, unsigned cpu)
{
	struct buffer_raw *r = &b->raw;
	uint64_t full = 0, any = 0, percent = percent_of(b);

	pthread_mutex_lock(&r->lock);
	if (cpu < r->cpus.n) {
		any = r->cpus.at[cpu].pages.records;
		full = any ? 100 * pages_full_bytes(&r->cpus.at[cpu].pages) /
				       r->cpus.at[cpu].pages.limit
			   : 0;
	}
	pthread_mutex_unlock(&r->lock);
	return any && full >= percent;
}

/* Called by the pump's thread without pump_lock. */
bool buffer_raw_is_pending(struct buffer *b)
{
	struct buffer_raw *r = &b->raw;
	bool pending = false;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->cpus.n && !pending; i++)
		pending = r->cpus.at[i].pages.records || !reorder_is_empty(&r->cpus.at[i].reorder);
	pthread_mutex_unlock(&r->lock);
	return pending;
}

/* Adds to *counts: pages that a reader has not taken are part of the buffer. */
void buffer_raw_count(struct buffer *b, unsigned cpu, struct ring_counts *counts,
		      uint64_t *oldest_ns)
{
	struct buffer_raw *r = &b->raw;
	uint64_t ns;

	pthread_mutex_lock(&r->lock);
	if (cpu < r->cpus.n) {
		const struct raw_cpu *c = &r->cpus.at[cpu];

		counts->entries += c->pages.records + c->reorder.records.n - c->reorder.first;
		counts->bytes += pages_bytes(&c->pages) + c->reorder.bytes.n;
		counts->overrun += c->pages.overrun;
		counts->read += c->pages.read;
		if (pages_oldest(&c->pages, &ns))
			*oldest_ns = ns;
	}
	pthread_mutex_unlock(&r->lock);
}

/* --- the snapshot ------------------------------------------------------------------- */

/* Locked. Pages are made once of each snapshot: r->open. */
static void fill_from_snapshot(struct buffer *b, struct trace_info *info, struct addresses *a)
{
	struct buffer_raw *r = &b->snapshot_raw;
	struct filling f = { r, info, a, 0, UINT64_MAX };
	struct source *source = r->open ? NULL : buffer_snapshot_merge(b, info, BUFFER_ALL_CPUS);

	if (!source)
		return;
	set_limits(b, r, info->cpus, &f.limit);
	open_tracks(r, info);
	take_events(&f, source, NULL);
	release_records(&f, f.until);
}

/* page has the size of a sub-buffer. False: the snapshot has nothing more of that CPU. */
bool buffer_snapshot_raw_take(struct buffer *b, struct trace_info *info, struct addresses *a,
			      unsigned cpu, void *page)
{
	struct buffer_raw *r = &b->snapshot_raw;
	bool took;

	pthread_mutex_lock(&r->lock);
	fill_from_snapshot(b, info, a);
	took = cpu < r->cpus.n && pages_take(&r->cpus.at[cpu].pages, true, page);
	if (took) {
		pthread_mutex_lock(&b->lock);
		off_discard_before(&b->snapshot.gone, cpu, UINT64_MAX);
		pthread_mutex_unlock(&b->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return took;
}

/* Fills it first: poll asks before anybody has read. */
bool buffer_snapshot_raw_is_filled(struct buffer *b, struct trace_info *info, struct addresses *a,
				   unsigned cpu)
{
	struct buffer_raw *r = &b->snapshot_raw;
	bool filled;

	pthread_mutex_lock(&r->lock);
	fill_from_snapshot(b, info, a);
	filled = cpu < r->cpus.n && r->cpus.at[cpu].pages.records;
	pthread_mutex_unlock(&r->lock);
	return filled;
}

/* --- beginning and end -------------------------------------------------------------- */

void buffer_raw_init(struct buffer_raw *r)
{
	*r = (struct buffer_raw){ 0 };
	pthread_mutex_init(&r->lock, NULL);
}

/* With r->lock held, or where nobody else has it. */
void buffer_raw_drop(struct buffer_raw *r)
{
	for (size_t i = 0; i < r->cpus.n; i++) {
		pages_free(&r->cpus.at[i].pages);
		reorder_free(&r->cpus.at[i].reorder);
	}
	vec_free(&r->cpus);
	cpu_order_free(&r->order);
	if (r->open) {
		tracks_free(&r->tracks);
		sites_free(&r->sites);
	}
	r->open = false;
}

void buffer_raw_clear(struct buffer_raw *r)
{
	pthread_mutex_lock(&r->lock);
	buffer_raw_drop(r);
	pthread_mutex_unlock(&r->lock);
}

void buffer_raw_clear_cpu(struct buffer_raw *r, unsigned cpu)
{
	pthread_mutex_lock(&r->lock);
	if (cpu < r->cpus.n) {
		pages_clear(&r->cpus.at[cpu].pages);
		reorder_free(&r->cpus.at[cpu].reorder);
	}
	pthread_mutex_unlock(&r->lock);
}

void buffer_raw_free(struct buffer_raw *r)
{
	buffer_raw_drop(r);
	vec_free(&r->ids);
	pthread_mutex_destroy(&r->lock);
}
