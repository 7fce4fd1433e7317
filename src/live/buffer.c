#include "live/buffer.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "shared/record.h"
#include "store/store.h"

/* How long what could be a call without calls of its own waits for its end to come. */
#define HELD_BACK_NS 100000000u
/* Printed at a time for a reader of trace_pipe. */
#define PIPE_TEXT 65536u

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- settings ----------------------------------------------------------------------- */

/* buffer_size_kb is of each CPU, as ftrace's. */
static uint64_t limit_of(const struct settings *s)
{
	return s->buffer_size_kb * 1024 * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static void select_events(struct buffer *b)
{
	selection_put(b->events);
	b->events = selection_new(&b->settings.events);
	if (selection_is_empty(b->events)) {
		selection_put(b->events);
		b->events = NULL;
	}
}

void buffer_init(struct buffer *b, const struct settings *settings)
{
	*b = (struct buffer){ .on = settings->tracing_on };
	pthread_mutex_init(&b->lock, NULL);
	pthread_mutex_init(&b->reading, NULL);
	ring_init(&b->ring, limit_of(settings), settings->mode == BUFFER_OVERWRITE);
	settings_copy(&b->settings, settings);
	select_events(b);
	if (!b->on)
		*vec_add(&b->off) = (struct off_span){ 0, UINT64_MAX };
}

static void turn(struct buffer *b, bool on, uint64_t tsc)
{
	if (b->on == on)
		return;
	b->on = on;
	if (on)
		b->off.at[b->off.n - 1].to = tsc;
	else
		*vec_add(&b->off) = (struct off_span){ tsc, UINT64_MAX };
}

static bool is_other_tracer(const struct settings *a, const struct settings *b)
{
	return a->nop != b->nop || a->graph != b->graph;
}

void buffer_configure(struct buffer *b, const struct settings *settings, uint64_t tsc)
{
	bool other;

	pthread_mutex_lock(&b->lock);
	other = is_other_tracer(&b->settings, settings);
	turn(b, settings->tracing_on, tsc);
	settings_free(&b->settings);
	settings_copy(&b->settings, settings);
	select_events(b);
	pthread_mutex_unlock(&b->lock);
	ring_configure(&b->ring, limit_of(settings), settings->mode == BUFFER_OVERWRITE);
	if (other)
		buffer_clear(b, tsc);
}

/* What is on its way here, too. */
void buffer_clear(struct buffer *b, uint64_t tsc)
{
	pthread_mutex_lock(&b->lock);
	b->off.n = 0;
	*vec_add(&b->off) = (struct off_span){ 0, b->on ? tsc : UINT64_MAX };
	pthread_mutex_unlock(&b->lock);
	ring_clear(&b->ring);
}

static bool is_among(const struct pid_list *these, const struct pid_list *not_these, pid_t tid)
{
	return (!these->pids.n || pid_list_has(these, tid)) && !pid_list_has(not_these, tid);
}

void buffer_offer(struct buffer *b, struct chunk *c, pid_t tid)
{
	const struct settings *s = &b->settings;
	struct kept k = { .chunk = c };

	pthread_mutex_lock(&b->lock);
	if (b->on || c->near_tsc < b->off.at[b->off.n - 1].from) { /* off: there is one */
		if (!s->nop && is_among(&s->pids, &s->notrace_pids, tid))
			k.what |= KEEP_FUNCTIONS;
		if (b->events && is_among(&s->event_pids, &s->event_notrace_pids, tid)) {
			k.what |= KEEP_EVENTS;
			k.events = b->events;
		}
	}
	if (k.what)
		ring_push(&b->ring, &k);
	pthread_mutex_unlock(&b->lock);
}

/* --- reading ------------------------------------------------------------------------ */

static void name_tracer(struct trace_info *info, const struct settings *s)
{
	free(info->tracer);
	info->tracer = mem_strdup(settings_tracer(s));
}

static void copy_off(struct buffer *b, off_list *out)
{
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < b->off.n; i++)
		*vec_add(out) = b->off.at[i];
	pthread_mutex_unlock(&b->lock);
}

static struct source *merge(struct buffer *b, struct trace_info *info, chunk_list *chunks, unsigned cpu)
{
	struct merge_filter filter = { .one_cpu = cpu != BUFFER_ALL_CPUS, .cpu = (uint16_t)cpu };
	struct source *source;

	copy_off(b, &filter.off);
	source = merge_chunks(info, chunks, &filter);
	vec_free(&filter.off);
	return source;
}

static int print_all(struct source *source, const struct trace_header *header, uint64_t options, struct out *out,
		     struct err *err)
{
	struct printer printer;
	struct event e;
	int r;

	printer_open(&printer, source->info, options, out);
	printer_header(&printer, header);
	while ((r = source->ops->next(source, &e, err)) > 0)
		printer_event(&printer, &e);
	printer_close(&printer);
	source->ops->close(source);
	return r;
}

static struct trace_header header_of(const struct ring_counts *c)
{
	return (struct trace_header){ .entries = c->entries, .written = c->entries + c->overrun + c->lost };
}

int buffer_show(struct buffer *b, struct trace_info *info, const struct settings *s, unsigned cpu, struct out *out,
		struct err *err)
{
	uint64_t oldest;
	struct ring_counts counts = cpu == BUFFER_ALL_CPUS ? ring_counts(&b->ring) : buffer_count(b, info, cpu, &oldest);
	struct trace_header header = header_of(&counts);
	chunk_list chunks = { 0 };

	ring_copy(&b->ring, &chunks);
	name_tracer(info, s);
	return print_all(merge(b, info, &chunks, cpu), &header, s->options, out, err);
}

struct ring_counts buffer_count(struct buffer *b, struct trace_info *info, unsigned cpu, uint64_t *oldest_tsc)
{
	struct ring_counts counts = { 0 };
	chunk_list chunks = { 0 };
	struct source *source;
	struct event e;
	struct err ignored;

	*oldest_tsc = 0;
	ring_copy(&b->ring, &chunks);
	source = merge(b, info, &chunks, cpu);
	while (source->ops->next(source, &e, &ignored) > 0) {
		if (!*oldest_tsc)
			*oldest_tsc = e.tsc;
		if (e.kind == EVENT_LOST)
			counts.lost += e.count;
		else
			counts.entries++;
	}
	source->ops->close(source);
	counts.bytes = counts.entries * sizeof(uint64_t);
	return counts;
}

bool buffer_write(struct buffer *b, uint32_t thread, uint16_t cpu, const uint64_t *words, size_t n, uint64_t tsc)
{
	const struct drain_run run = { .slot = thread, .cpu = cpu, .near_tsc = tsc, .words = words, .n = n, .records = 1 };
	struct chunk *c;
	bool on;

	pthread_mutex_lock(&b->lock);
	on = b->on;
	pthread_mutex_unlock(&b->lock);
	if (!on)
		return false;
	c = chunk_new(&run);
	c->settled = true;
	ring_push(&b->ring, &(struct kept){ .chunk = c, .what = KEEP_EVENTS });
	chunk_put(c);
	return true;
}

/* --- the snapshot ------------------------------------------------------------------- */

static void drop(struct buffer_snapshot *s)
{
	chunk_list_free(&s->chunks);
	vec_free(&s->off);
	*s = (struct buffer_snapshot){ 0 };
}

void buffer_snapshot_take(struct buffer *b)
{
	off_list off = { 0 };

	copy_off(b, &off);
	pthread_mutex_lock(&b->lock);
	drop(&b->snapshot);
	b->snapshot.taken = true;
	b->snapshot.off = off;
	b->snapshot.counts = ring_move(&b->ring, &b->snapshot.chunks);
	pthread_mutex_unlock(&b->lock);
}

void buffer_snapshot_drop(struct buffer *b)
{
	pthread_mutex_lock(&b->lock);
	drop(&b->snapshot);
	pthread_mutex_unlock(&b->lock);
}

bool buffer_snapshot_show(struct buffer *b, struct trace_info *info, const struct settings *s, struct out *out)
{
	struct merge_filter filter = { 0 };
	struct trace_header header;
	chunk_list chunks = { 0 };
	struct err ignored;

	pthread_mutex_lock(&b->lock);
	if (!b->snapshot.taken) {
		pthread_mutex_unlock(&b->lock);
		return false;
	}
	header = header_of(&b->snapshot.counts);
	for (size_t i = 0; i < b->snapshot.off.n; i++)
		*vec_add(&filter.off) = b->snapshot.off.at[i];
	for (size_t i = 0; i < b->snapshot.chunks.n; i++)
		*vec_add(&chunks) = kept_get(&b->snapshot.chunks.at[i]);
	pthread_mutex_unlock(&b->lock);
	name_tracer(info, s);
	print_all(merge_chunks(info, &chunks, &filter), &header, s->options, out, &ignored);
	vec_free(&filter.off);
	return true;
}

/* --- into a file -------------------------------------------------------------------- */

static bool is_off(const off_list *off, uint64_t tsc)
{
	for (size_t i = 0; i < off->n; i++)
		if (off->at[i].from <= tsc && tsc < off->at[i].to)
			return true;
	return false;
}

struct extract {
	struct store_writer *store;
	off_list off;
	VEC(uint64_t) words;       /* of a chunk, without those that were made while recording was off */
	struct trace_total *total;
};

static void cut(struct extract *x, const struct chunk *c)
{
	uint64_t tsc = c->near_tsc;
	size_t words;

	x->words.n = 0;
	vec_reserve(&x->words, c->n + 1);
	for (size_t i = 0; i < c->n; i += words) {
		words = 1 + record_payload(c->words[i]);
		tsc = record_tsc(c->words[i], tsc);
		if (i + words > c->n)
			return;
		if (record_counts(c->words[i]) && is_off(&x->off, tsc))
			continue;
		memcpy(x->words.at + x->words.n, c->words + i, words * sizeof(c->words[0]));
		x->words.n += words;
		x->total->records += record_counts(c->words[i]);
		x->total->calls += record_is_call(c->words[i]);
	}
}

static int store_chunk(struct extract *x, const struct chunk *c, struct err *err)
{
	cut(x, c);
	x->total->lost += c->lost;
	return store_records(x->store, c->thread, c->near_tsc, c->cpu, c->lost, x->words.at, x->words.n, err);
}

static int store_chunks(struct extract *x, const chunk_list *chunks, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < chunks->n && r == 0; i++)
		if (chunks->at[i].chunk->settled)
			r = store_chunk(x, chunks->at[i].chunk, err);
	return r;
}

int buffer_extract(struct buffer *b, struct trace_info *info, const char *path, struct err *err)
{
	const struct trace_total before = info->total;
	struct extract x = { .total = &info->total };
	chunk_list chunks = { 0 };
	int r;

	pthread_mutex_lock(&b->lock);
	name_tracer(info, &b->settings);
	pthread_mutex_unlock(&b->lock);
	r = store_create(path, info, &x.store, err);
	if (r < 0)
		return r;
	copy_off(b, &x.off);
	ring_copy(&b->ring, &chunks);
	info->total = (struct trace_total){ 0 };
	r = store_chunks(&x, &chunks, err);
	if (r < 0)
		store_discard(x.store);
	else
		r = store_finish(x.store, err);
	info->total = before;
	chunk_list_free(&chunks);
	vec_free(&x.off);
	vec_free(&x.words);
	return r;
}

/* --- trace_pipe --------------------------------------------------------------------- */

static int take_text(void *arg, const char *bytes, size_t n)
{
	struct buffer_pipe *p = arg;

	vec_reserve(&p->text, p->text.n + n);
	memcpy(p->text.at + p->text.n, bytes, n);
	p->text.n += n;
	return 0;
}

static void close_pipe(struct buffer_pipe *p)
{
	if (!p->open)
		return;
	printer_close(&p->printer);
	out_flush(&p->out);
	out_free(&p->out);
	if (p->source)
		p->source->ops->close(p->source);
	p->source = NULL;
	p->open = false;
	p->fed_ns = 0;
}

/* Another tracer, or other options: printed with another printer. */
static void open_pipe(struct buffer *b, struct trace_info *info)
{
	struct buffer_pipe *p = &b->pipe;

	pthread_mutex_lock(&b->lock);
	if (p->open && (p->graph != b->settings.graph || p->options != b->settings.options))
		close_pipe(p);
	if (!p->open) {
		p->graph = b->settings.graph;
		p->options = b->settings.options;
		name_tracer(info, &b->settings);
		out_init(&p->out, take_text, p);
		printer_open(&p->printer, info, p->options, &p->out);
		p->open = true;
	}
	pthread_mutex_unlock(&b->lock);
}

static void take_chunks(struct buffer *b, struct trace_info *info)
{
	chunk_list chunks = { 0 };

	ring_take(&b->ring, &chunks);
	if (chunks.n)
		b->pipe.source = merge(b, info, &chunks, BUFFER_ALL_CPUS);
	else
		vec_free(&chunks);
}

/* Prints what there is, a while's worth at most. */
static int feed(struct buffer *b, struct trace_info *info, struct err *err)
{
	struct buffer_pipe *p = &b->pipe;
	struct event e;
	int r = 1;

	if (!p->source)
		take_chunks(b, info);
	while (p->source && r > 0 && p->text.n < PIPE_TEXT) {
		r = p->source->ops->next(p->source, &e, err);
		if (r > 0) {
			printer_event(&p->printer, &e);
			p->fed_ns = now_ns();
		}
		if (r <= 0) {
			p->source->ops->close(p->source);
			p->source = NULL;
		}
	}
	return r < 0 ? r : 0;
}

static bool holds_back_too_long(const struct buffer_pipe *p)
{
	return p->fed_ns && now_ns() - p->fed_ns > HELD_BACK_NS;
}

static size_t give(struct buffer_pipe *p, char *buf, size_t n)
{
	size_t have = p->text.n - p->read;

	if (n > have)
		n = have;
	if (n)
		memcpy(buf, p->text.at + p->read, n);
	p->read += n;
	if (p->read == p->text.n)
		p->text.n = p->read = 0;
	return n;
}

ssize_t buffer_read(struct buffer *b, struct trace_info *info, char *buf, size_t n, struct err *err)
{
	struct buffer_pipe *p = &b->pipe;
	size_t given;
	int r = 0;

	pthread_mutex_lock(&b->reading);
	if (p->text.n == p->read) {
		open_pipe(b, info);
		r = feed(b, info, err);
		if (!p->source && holds_back_too_long(p)) {
			printer_flush(&p->printer);
			p->fed_ns = 0;
		}
		out_flush(&p->out);
	}
	given = give(p, buf, n);
	pthread_mutex_unlock(&b->reading);
	return r < 0 ? r : given ? (ssize_t)given : -EAGAIN;
}

bool buffer_is_readable(struct buffer *b)
{
	const struct buffer_pipe *p = &b->pipe;
	bool readable;

	if (!ring_is_empty(&b->ring))
		return true;
	pthread_mutex_lock(&b->reading);
	readable = p->source || p->text.n > p->read || holds_back_too_long(p);
	pthread_mutex_unlock(&b->reading);
	return readable;
}

void buffer_free(struct buffer *b)
{
	close_pipe(&b->pipe);
	vec_free(&b->pipe.text);
	drop(&b->snapshot);
	vec_free(&b->off);
	selection_put(b->events);
	settings_free(&b->settings);
	ring_free(&b->ring);
	pthread_mutex_destroy(&b->lock);
	pthread_mutex_destroy(&b->reading);
}
