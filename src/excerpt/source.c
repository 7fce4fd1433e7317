/* SPDX-License-Identifier: MIT */
/* An excerpt of all threads as a struct source. It belongs to one thread, as store_source() does.
 * Fails as the reader does, and on more calls than there are bits for. */
#include "base/mem.h"
#include "excerpt/extract.h"

struct excerpt_source {
	struct source source;
	struct source *inner;
	struct excerpt_reading extract;
	struct excerpt *owned; /* closed with the source; or NULL */
	bool ended;
};

/* More threads are read than are chosen: see find_readers(). */
static bool wants_thread(const void *arg, uint32_t thread)
{
	const struct excerpt *x = arg;

	return thread < x->readers.n && x->readers.at[thread];
}

/* Where records stand alone, those before the range need not be read. */
static struct source *open_inner(const struct excerpt *x)
{
	const struct store_part part = {
		.wants = wants_thread, .arg = x, .from_tsc = x->nests ? 0 : x->from,
		.start = x->start,
	};

	return store_source_part(x->reader, &part);
}

/* Reads all of the trace for the bits of its calls. */
static int feed_all(struct excerpt *x, struct call_bits *bits, struct err *err)
{
	struct source *inner = open_inner(x);
	struct excerpt_reading e;
	struct event event;
	int r;

	extract_begin(&e, x, NO_THREAD, true, NULL);
	while ((r = inner->ops->next(inner, &event, err)) > 0 && extract_take(&e, &event))
		;
	if (r >= 0)
		extract_end(&e);
	inner->ops->close(inner);
	*bits = e.bits;
	e.bits = (struct call_bits){ 0 };
	r = r < 0 ? r : e.full ? extract_too_many(err) : 0;
	extract_free(&e);
	return r;
}

/* The end of the file is not yet the end of the excerpt: calls that are open still give steps. */
static int source_next(struct source *source, struct event *out, struct err *err)
{
	struct excerpt_source *s = (struct excerpt_source *)source;
	struct event event;
	int r = 1;

	while (!extract_give(&s->extract, out)) {
		if (s->ended)
			return 0;
		r = s->inner->ops->next(s->inner, &event, err);
		if (r < 0)
			return r;
		if (r && extract_take(&s->extract, &event))
			continue;
		extract_end(&s->extract);
		s->ended = true;
	}
	return 1;
}

/* The excerpt goes last, because extract_free() adds the counts to it. */
static void source_close(struct source *source)
{
	struct excerpt_source *s = (struct excerpt_source *)source;

	s->inner->ops->close(s->inner);
	extract_free(&s->extract);
	excerpt_close(s->owned);
	free(s);
}

static const struct source_ops ops = { source_next, source_close };

/* The second reading reads the file again: of the first one only the bits are kept. */
struct source *excerpt_source(struct excerpt *x, struct err *err)
{
	struct excerpt_source *s;
	struct call_bits bits = { 0 };

	if (x->later && feed_all(x, &bits, err)) {
		call_bits_free(&bits);
		return NULL;
	}
	s = mem_zalloc(sizeof(*s));
	s->source.ops = &ops;
	s->inner = open_inner(x);
	s->source.info = s->inner->info;
	extract_begin(&s->extract, x, NO_THREAD, false, &bits);
	return &s->source;
}

static bool is_shown(const void *reader, uint32_t thread)
{
	return trace_info_shows(store_info((struct store_reader *)reader), thread);
}

/* The part that the reader wants of a trace of programs and the kernel. */
static struct source *source_of_side(struct store_reader *r)
{
	const struct store_part part = { .wants = is_shown, .arg = r };

	return store_source_part(r, &part);
}

struct source *excerpt_source_of(const struct excerpt_spec *w, struct store_reader *r,
				 struct err *err)
{
	struct excerpt *x;
	struct source *source;

	if (excerpt_spec_is_all(w))
		return store_info(r)->sides == SIDES_BOTH ? store_source(r) : source_of_side(r);
	if (excerpt_open(w, r, &x, err))
		return NULL;
	source = excerpt_source(x, err);
	if (!source) {
		excerpt_close(x);
		return NULL;
	}
	((struct excerpt_source *)source)->owned = x;
	return source;
}

struct excerpt *excerpt_of(const struct source *source)
{
	return source->ops == &ops ? ((const struct excerpt_source *)source)->extract.x : NULL;
}

/* The counts of this reading are not the excerpt's before it is freed. */
int excerpt_source_is_empty(const struct source *source, struct err *err)
{
	const struct excerpt_source *s = (const struct excerpt_source *)source;

	if (source->ops != &ops || s->extract.given)
		return 0;
	for (unsigned i = 0; i < LEFT_REASONS_N; i++)
		/* Relaxed: one thread reads a source. */
		atomic_store_explicit(&s->extract.x->left[i], s->extract.left[i],
				      memory_order_relaxed);
	return excerpt_is_empty(s->extract.x, err);
}
