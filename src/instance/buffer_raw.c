/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "instance/buffer_internal.h"
#include "model/buffer_sizes.h"
#include "shared/record.h"

/* Of a record, before its own fields. */
struct common { uint16_t type; uint8_t flags, preempt_count; int32_t pid; };
struct function_record { struct common common; uint64_t ip, parent_ip; };
struct entry_record { struct common common; uint64_t func; int32_t depth; };
struct exit_record { struct common common; uint64_t func, retval; int32_t depth; uint32_t overrun; uint64_t calltime, rettime; };
/* As their `format` files have it (event/builtin.c). */
enum { ID_FUNCTION = 1, ID_KERNEL_STACK = 4, ID_PRINT = 5, ID_GRAPH_EXIT = 10, ID_GRAPH_ENTRY = 11, ID_USER_STACK = 12,
       ID_FUNC_REPEATS = 19 };
#define ENTRY_BYTES 20u
#define STACK_CALLERS 1u  /* payload words before them */

#define STALE_NS 100000000u
#define RELEASE_EVERY 4096u

struct filling {
	struct buffer_raw *raw;
	struct trace_info *info;
	struct addresses *addresses;
	uint64_t limit;
	uint64_t until; /* ns: younger ones wait */
};

static struct raw_cpu *cpu_of(struct filling *f, uint32_t cpu)
{
	while (f->raw->cpus.n <= cpu)
		*vec_add(&f->raw->cpus) = (struct raw_cpu){ .pages.limit = f->limit };
	return &f->raw->cpus.at[cpu];
}

static struct common common_of(const struct filling *f, uint16_t type, uint32_t thread)
{
	return (struct common){ .type = type, .pid = (int32_t)f->info->threads.at[thread].tid };
}

static uint64_t ns_of(const struct filling *f, uint64_t tsc)
{
	return trace_clock_ns(&f->info->clock, tsc);
}

static void add(struct filling *f, uint16_t cpu, uint64_t tsc, const void *record, size_t n)
{
	if (cpu < CPUS_MAX)
		order_add(&cpu_of(f, cpu)->order, ns_of(f, tsc), record, n);
}

/* --- functions ---------------------------------------------------------------------- */

static uint64_t address_of(struct filling *f, uint32_t thread, uint32_t fn)
{
	return addresses_function(f->addresses, f->info, f->info->threads.at[thread].image, fn);
}

static void add_call(struct filling *f, const struct event *e)
{
	const struct function_record r = {
		common_of(f, ID_FUNCTION, e->thread), address_of(f, e->thread, e->fn),
		addresses_site(f->addresses, f->info, f->info->threads.at[e->thread].image, e->site, e->tsc),
	};

	add(f, e->cpu, e->tsc, &r, sizeof(r));
}

static void add_entry(struct filling *f, const struct call_step *s)
{
	const struct entry_record r = { common_of(f, ID_GRAPH_ENTRY, s->thread), address_of(f, s->thread, s->fn), (int32_t)s->depth };

	add(f, s->cpu, s->tsc, &r, ENTRY_BYTES);
}

static void add_exit(struct filling *f, const struct call_step *s)
{
	const struct exit_record r = { common_of(f, ID_GRAPH_EXIT, s->thread), address_of(f, s->thread, s->fn),
				       s->flags & CALL_VALUE ? s->value : 0, (int32_t)s->depth, 0,
				       ns_of(f, call_step_begin(s)), ns_of(f, s->tsc) };

	add(f, s->cpu, s->tsc, &r, sizeof(r));
}

static void add_miss(struct filling *f, const struct call_step *s)
{
	if (s->cpu < CPUS_MAX)
		order_miss(&cpu_of(f, s->cpu)->order, ns_of(f, s->tsc), s->count);
}

/* --- events ------------------------------------------------------------------------- */

static uint16_t find_id(const struct trace_info *info, uint32_t index)
{
	const struct trace_event *e = trace_info_event(info, index);
	const char *line = e ? strstr(e->format, "\nID: ") : NULL;
	unsigned id;

	return line && sscanf(line, "\nID: %u", &id) == 1 && id <= UINT16_MAX ? (uint16_t)id : 0;
}

/* 0: it is not known yet. */
static uint16_t id_of(struct filling *f, uint32_t index)
{
	struct buffer_raw *r = f->raw;

	while (r->ids.n <= index)
		*vec_add(&r->ids) = 0;
	if (!r->ids.at[index])
		r->ids.at[index] = find_id(f->info, index);
	return r->ids.at[index];
}

/* Addresses in payload words, like those of functions. */
static void move_addresses(struct filling *f, const struct event *e, uint64_t *record, size_t first, size_t end)
{
	uint32_t image = f->info->threads.at[e->thread].image;

	for (size_t i = 1 + first; i < 1 + end && i < 1 + e->count / 8; i++)
		if (record[i])
			record[i] = addresses_place(f->addresses, f->info, image, record[i], e->tsc);
}

static void add_event(struct filling *f, const struct event *e)
{
	uint64_t record[1 + RECORD_PAYLOAD_MAX];
	uint16_t id = id_of(f, e->fn);
	struct common common;

	if (!id || e->count > 8 * RECORD_PAYLOAD_MAX)
		return;
	common = common_of(f, id, e->thread);
	memcpy(record, &common, sizeof(common));
	memcpy(record + 1, e->payload, e->count);
	if (id == ID_PRINT && !record[1])
		record[1] = ADDRESS_MARKER;
	if (id == ID_USER_STACK || id == ID_KERNEL_STACK)
		move_addresses(f, e, record, STACK_CALLERS, RECORD_PAYLOAD_MAX);
	if (id == ID_FUNC_REPEATS)
		move_addresses(f, e, record, 0, 2);
	add(f, e->cpu, e->tsc, record, 8 + e->count);
}

/* --- from the buffer to pages --------------------------------------------------------- */

static void add_step(void *arg, const struct call_step *s)
{
	struct filling *f = arg;

	switch ((enum call_kind)s->kind) {
	case CALL_ENTER:
	case CALL_ONLY: add_entry(f, s); break;
	case CALL_LEAVE:
	case CALL_SPAN: add_exit(f, s); break;
	case CALL_LOST: add_miss(f, s); break;
	case CALL_EVENT: add_event(f, s->event); break;
	}
}

static void take_event(struct filling *f, const struct event *e)
{
	struct tracks *t = &f->raw->tracks;

	if (e->kind == EVENT_CALL)
		add_call(f, e);
	else
		tracks_feed(t, tracks_lane(t, e->thread), e, add_step, f);
}

static void release(struct filling *f, uint64_t until_ns)
{
	for (size_t i = 0; i < f->raw->cpus.n; i++)
		order_release(&f->raw->cpus.at[i].order, until_ns < f->until ? until_ns : f->until, &f->raw->cpus.at[i].pages);
}

/* What had no room in the ring is missing before what was taken now. */
static void tell_gone(struct filling *f, struct ring *ring, uint64_t tsc)
{
	for (uint32_t i = 0; i < f->info->cpus && i < CPUS_MAX; i++) {
		const struct ring_losses g = ring_losses(ring, i);
		uint64_t gone = g.overrun + g.dropped + g.lost_gone;
		struct raw_cpu *c = cpu_of(f, i);

		if (gone > c->gone)
			order_miss(&c->order, ns_of(f, tsc), gone - c->gone);
		c->gone = gone;
	}
}

/* They come by time, so what was before does not have to wait for the end of a large buffer. */
static void take_chunks(struct filling *f, struct buffer *b)
{
	chunk_list chunks = { 0 };
	struct source *source;
	struct event e;
	struct err ignored;
	size_t n = 0;

	ring_take(&b->ring, false, &chunks);
	if (!chunks.n) {
		vec_free(&chunks);
		return;
	}
	source = buffer_merge(b, f->info, &chunks, BUFFER_ALL_CPUS);
	while (source->ops->next(source, &e, &ignored) > 0) {
		if (!n)
			tell_gone(f, &b->ring, e.tsc);
		if (e.thread < f->info->threads.n)
			take_event(f, &e);
		if (++n % RELEASE_EVERY == 0)
			release(f, ns_of(f, e.tsc));
	}
	source->ops->close(source);
}

/* Fewer than two pages could not be read. */
static uint64_t limit_of(const struct settings *s, unsigned cpu)
{
	uint64_t kb = buffer_size_of(s, cpu);

	return kb > 8 ? kb * 1024 : 2 * PAGE_BYTES;
}

static void set_limits(struct buffer *b, uint32_t cpus, uint64_t *usual)
{
	struct buffer_raw *r = &b->raw;

	pthread_mutex_lock(&b->lock);
	while (r->cpus.n < cpus && r->cpus.n < CPUS_MAX)
		*vec_add(&r->cpus) = (struct raw_cpu){ 0 };
	for (unsigned i = 0; i < r->cpus.n; i++)
		r->cpus.at[i].pages.limit = limit_of(&b->settings, i);
	*usual = limit_of(&b->settings, CPUS_MAX);
	pthread_mutex_unlock(&b->lock);
}

void buffer_raw_fill(struct buffer *b, struct trace_info *info, struct addresses *a, uint64_t until_tsc)
{
	struct buffer_raw *r = &b->raw;
	struct filling f = { r, info, a, 0, trace_clock_ns(&info->clock, until_tsc) };

	pthread_mutex_lock(&r->lock);
	set_limits(b, info->cpus, &f.limit);
	if (!r->open) {
		sites_init(&r->sites, info);
		tracks_init(&r->tracks, info, &r->sites);
		r->open = true;
	}
	take_chunks(&f, b);
	release(&f, f.until);
	pthread_mutex_unlock(&r->lock);
}

/* --- reading ------------------------------------------------------------------------ */

static bool is_stale(const struct pages *p)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return pages_oldest(p, &ns) && (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec > ns + STALE_NS;
}

static uint64_t percent_of(struct buffer *b)
{
	uint64_t percent;

	pthread_mutex_lock(&b->lock);
	percent = b->settings.buffer_percent;
	pthread_mutex_unlock(&b->lock);
	return percent;
}

/* Who was told that there is something must get it: trace-cmd gives up else. */
bool buffer_raw_take(struct buffer *b, unsigned cpu, bool unfinished, void *page)
{
	struct buffer_raw *r = &b->raw;
	bool took = false;

	unfinished |= !percent_of(b);

	pthread_mutex_lock(&r->lock);
	if (cpu < r->cpus.n)
		took = pages_take(&r->cpus.at[cpu].pages, unfinished || is_stale(&r->cpus.at[cpu].pages), page);
	pthread_mutex_unlock(&r->lock);
	return took;
}

bool buffer_raw_is_filled(struct buffer *b, unsigned cpu)
{
	struct buffer_raw *r = &b->raw;
	uint64_t full = 0, any = 0, percent = percent_of(b);

	pthread_mutex_lock(&r->lock);
	if (cpu < r->cpus.n) {
		any = r->cpus.at[cpu].pages.records;
		full = any ? 100 * pages_full_bytes(&r->cpus.at[cpu].pages) / r->cpus.at[cpu].pages.limit : 0;
	}
	pthread_mutex_unlock(&r->lock);
	return any && full >= percent;
}

bool buffer_raw_is_pending(struct buffer *b)
{
	struct buffer_raw *r = &b->raw;
	bool pending = false;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->cpus.n && !pending; i++)
		pending = r->cpus.at[i].pages.records || !order_is_empty(&r->cpus.at[i].order);
	pthread_mutex_unlock(&r->lock);
	return pending;
}

void buffer_raw_count(struct buffer *b, unsigned cpu, struct ring_counts *counts, uint64_t *oldest_ns)
{
	struct buffer_raw *r = &b->raw;
	uint64_t ns;

	pthread_mutex_lock(&r->lock);
	if (cpu < r->cpus.n) {
		const struct raw_cpu *c = &r->cpus.at[cpu];

		counts->entries += c->pages.records + c->order.records.n - c->order.first;
		counts->bytes += pages_bytes(&c->pages) + c->order.bytes.n;
		counts->overrun += c->pages.overrun;
		counts->read += c->pages.read;
		if (pages_oldest(&c->pages, &ns))
			*oldest_ns = ns;
	}
	pthread_mutex_unlock(&r->lock);
}

/* --- beginning and end -------------------------------------------------------------- */

void buffer_raw_init(struct buffer_raw *r)
{
	*r = (struct buffer_raw){ 0 };
	pthread_mutex_init(&r->lock, NULL);
}

static void drop(struct buffer_raw *r)
{
	for (size_t i = 0; i < r->cpus.n; i++) {
		pages_free(&r->cpus.at[i].pages);
		order_free(&r->cpus.at[i].order);
	}
	vec_free(&r->cpus);
	if (r->open) {
		tracks_free(&r->tracks);
		sites_free(&r->sites);
	}
	r->open = false;
}

void buffer_raw_clear(struct buffer_raw *r)
{
	pthread_mutex_lock(&r->lock);
	drop(r);
	pthread_mutex_unlock(&r->lock);
}

void buffer_raw_clear_cpu(struct buffer_raw *r, unsigned cpu)
{
	pthread_mutex_lock(&r->lock);
	if (cpu < r->cpus.n) {
		pages_clear(&r->cpus.at[cpu].pages);
		order_free(&r->cpus.at[cpu].order);
	}
	pthread_mutex_unlock(&r->lock);
}

void buffer_raw_free(struct buffer_raw *r)
{
	drop(r);
	vec_free(&r->ids);
	pthread_mutex_destroy(&r->lock);
}
