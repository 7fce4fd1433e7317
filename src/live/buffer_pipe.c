/* trace_pipe: what was recorded, as it comes, and gone when it was read. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "live/buffer_internal.h"

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
		buffer_name_tracer(info, &b->settings);
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
		b->pipe.source = buffer_merge(b, info, &chunks, BUFFER_ALL_CPUS);
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

void buffer_pipe_free(struct buffer_pipe *p)
{
	close_pipe(p);
	vec_free(&p->text);
}
