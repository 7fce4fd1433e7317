/* SPDX-License-Identifier: MIT */
/* Parts of one thread side by side. Summary workers call segments_tally(), which starts its own
 * threads and joins them; a part's tally and cursor belong to its thread until then. What a part
 * cannot know while it reads is put right afterwards: the own time of calls that began in an
 * earlier part (tally_lend(), tally_settle()). What would make a difference otherwise (handlers,
 * sleeps, spans, other stacks, records lost, calls abandoned) is looked for, and makes the part be
 * read again. */
#include "report/segments.h"

#include "report/pipe.h"

#define BATCH 2048

struct segment {
	const struct summary_input *in;
	uint32_t thread;
	void *cursor;
	size_t told;          /* events that tell what was open */
	struct tally *tally;
	VEC(struct event) start; /* those events */
	struct tally_open open; /* the stack after them */
	pthread_t worker;
	bool started;
	int result;
	struct err err;
};

/* --- one part ------------------------------------------------------------------------ */

/* Takes the events that tell what was open. False: they ended early, or the input failed. One event
 * at a time: the start's events are kept for tally_ends_with(), and the part's own ones stay in the
 * cursor. */
static bool read_start(struct segment *s)
{
	while (s->start.n < s->told) {
		struct event *e = vec_add(&s->start);
		int n = s->in->next(s->cursor, e, 1, &s->err);

		if (n <= 0) {
			s->result = n;
			return false;
		}
		tally_events(s->tally, e, 1);
	}
	return true;
}

/* The input has no words: decodes and adds up in turns, so that events stay in the cache between
 * the two. */
static int tally_batches(struct segment *s)
{
	struct event *events = mem_realloc(NULL, BATCH, sizeof(*events));
	int n;

	while ((n = s->in->next(s->cursor, events, BATCH, &s->err)) > 0)
		tally_events(s->tally, events, (size_t)n);
	free(events);
	return n;
}

static int tally_packets(struct segment *s)
{
	struct unpack *u;
	int r;

	while ((r = s->in->words(s->cursor, &u, &s->err)) > 0)
		tally_words(s->tally, u);
	return r;
}

/* Nothing here is shared but the input, whose cursors may be read by several threads at once.
 * result, err and the tally are read behind the join. */
static void *run_segment(void *arg)
{
	struct segment *s = arg;

	tally_begin(s->tally, s->thread);
	if (!read_start(s))
		return NULL;
	tally_lend(s->tally, &s->open);
	/* Only what comes behind the start tells whether the thread may have left a stack. */
	s->tally->switches = false;
	s->result = s->in->words ? tally_packets(s) : tally_batches(s);
	return NULL;
}

static struct tally *new_tally(const struct summary_input *in)
{
	struct tally *t = mem_zalloc(sizeof(*t));

	tally_init(t, in->info);
	t->groups = in->group_name;
	return t;
}

static void free_tally(struct tally *t)
{
	if (!t)
		return;
	tracks_free(&t->tracks);
	tally_free(t);
	free(t);
}

/* --- from part to part --------------------------------------------------------------- */

/* Whether reading both parts by one core gives what two gave: the second began with the stack that
 * the first ended with, and met nothing that what came before could explain in another way. Calls
 * that were unwound, exits without an entry and losses may concern calls of the first part, of
 * which the second knows only that they are open. */
static bool follows(const struct segment *first, const struct segment *second)
{
	const struct calls_counts counts = tracks_counts(&second->tally->tracks);

	if (counts.unwound || counts.unmatched_exits || counts.lost)
		return false;
	if (second->tally->switches && first->tally->lane->last_fn != FN_NONE)
		return false;
	return tally_ends_with(first->tally, &second->open, second->start.at, second->start.n);
}

/* Goes on with the first part's tally through the second part's events, which gets a cursor of its
 * own: one core decodes, this one adds up. bare: the calls that are open are in the tally already.
 * 0 without a cursor: the part has no records. */
static int read_again(struct segment *first, struct segment *second, unsigned part, unsigned parts,
		      struct err *err)
{
	const struct summary_input *in = first->in;
	struct pipe *p;
	const struct event *events;
	void *cursor = in->open_part(in->of, first->thread, part, parts, true, &(size_t){ 0 });
	size_t n;
	int r;

	if (!cursor)
		return 0;
	p = pipe_start(in->next, cursor);
	while (!(r = pipe_next(p, &events, &n, err)) && n)
		tally_events(first->tally, events, n);
	pipe_stop(p);
	in->close(cursor);
	free_tally(second->tally);
	second->tally = NULL;
	return r;
}

/* Joins the parts to one thread; the last tally that is left ends it. From left to right: whether a
 * part began right is known when all before it are settled. A part that was read again belongs to
 * the tally before, so that `last` stays. */
static int join_parts(struct segment *s, unsigned parts, struct err *err)
{
	unsigned last = 0;
	int r = 0;

	for (unsigned i = 1; i < parts && !r; i++) {
		if (follows(&s[last], &s[i])) {
			tally_settle(s[i].tally, s[last].tally);
			tally_stop(s[last].tally);
			last = i;
		} else {
			r = read_again(&s[last], &s[i], i, parts, err);
		}
	}
	if (!r)
		tally_end(s[last].tally);
	return r;
}

/* --- all of them --------------------------------------------------------------------- */

/* Opens all parts. False: not all of them can begin where they should. The reader is shared with
 * the other workers, and makes one cursor at a time (summary.c). end_parts() closes those that were
 * opened before one failed. */
static bool open_parts(struct segment *s, const struct summary_input *in, uint32_t thread,
		       unsigned parts, pthread_mutex_t *lock)
{
	bool all = true;

	pthread_mutex_lock(lock);
	for (unsigned i = 0; i < parts && all; i++) {
		s[i].in = in;
		s[i].thread = thread;
		s[i].cursor = in->open_part(in->of, thread, i, parts, false, &s[i].told);
		all = s[i].cursor;
	}
	pthread_mutex_unlock(lock);
	return all;
}

/* Runs the first part on this thread, and those for which there is no other one. A thread that
 * cannot be started costs time, and no result. */
static void run_parts(struct segment *s, unsigned parts)
{
	for (unsigned i = 0; i < parts; i++)
		s[i].tally = new_tally(s[i].in);
	for (unsigned i = 1; i < parts; i++)
		s[i].started = !pthread_create(&s[i].worker, NULL, run_segment, &s[i]);
	for (unsigned i = 0; i < parts; i++)
		if (!s[i].started)
			run_segment(&s[i]);
	for (unsigned i = 1; i < parts; i++)
		if (s[i].started)
			pthread_join(s[i].worker, NULL);
}

/* Closes what the parts read with, and hands their tallies over. */
static void end_parts(struct segment *s, unsigned parts, struct segments *out)
{
	out->at = mem_realloc(NULL, parts, sizeof(*out->at));
	for (unsigned i = 0; i < parts; i++) {
		if (s[i].cursor)
			s[i].in->close(s[i].cursor);
		if (s[i].tally)
			out->at[out->n++] = s[i].tally;
		vec_free(&s[i].start);
		tally_open_free(&s[i].open);
	}
}

int segments_tally(const struct summary_input *in, uint32_t thread, unsigned parts,
		   pthread_mutex_t *lock, struct segments *out, struct err *err)
{
	struct segment *s = mem_zalloc(parts * sizeof(*s));
	int r = 0;

	*out = (struct segments){ 0 };
	if (!open_parts(s, in, thread, parts, lock)) {
		r = 1;
	} else {
		run_parts(s, parts);
		for (unsigned i = 0; i < parts && !r; i++) {
			r = s[i].result;
			if (r && err)
				*err = s[i].err;
		}
		if (!r)
			r = join_parts(s, parts, err);
	}
	end_parts(s, parts, out);
	free(s);
	return r;
}

void segments_free(struct segments *s)
{
	for (size_t i = 0; i < s->n; i++)
		free_tally(s->at[i]);
	free(s->at);
}
