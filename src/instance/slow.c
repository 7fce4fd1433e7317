/* SPDX-License-Identifier: MIT */
/* Follows each thread's calls as the profile does (profile.c), and compares the durations of those
 * that have a limit. The pump feeds it on its thread; the thread of `brace record` asks. A function
 * is matched once, by its name, and its limit kept by its id. Nothing fails. */
#include "instance/slow.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/tracks.h"
#include "trace/unpack.h"

#define NAME_MAX_BYTES 512
#define NO_LIMIT UINT64_MAX

/* The limits of one image's functions, in ticks, by id; 0: not looked up. */
struct slow_ids { uint64_t *at; size_t n; };

/* A thread and its calls. Those that began at `told` or before have been told. */
struct slow_thread {
	struct tracks tracks;
	struct lane *lane;
	uint64_t told;
};

struct slow {
	const struct trace_info *info;
	const slow_limits *limits;
	struct sites sites;
	VEC(struct slow_thread *) threads; /* by thread; NULL: nothing came */
	VEC(struct slow_ids) images;
	struct slow_call hit;
	uint64_t hits;
	/* the thread that is fed */
	struct slow_thread *now;
	uint32_t thread, image;
};

/* info and limits outlive it. info grows while the session runs; it is looked up anew each time. */
struct slow *slow_new(const struct trace_info *info, const slow_limits *limits)
{
	struct slow *s = mem_zalloc(sizeof(*s));

	s->info = info;
	s->limits = limits;
	sites_init(&s->sites, info);
	return s;
}

void slow_free(struct slow *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->threads.n; i++) {
		if (s->threads.at[i])
			tracks_free(&s->threads.at[i]->tracks);
		free(s->threads.at[i]);
	}
	for (size_t i = 0; i < s->images.n; i++)
		free(s->images.at[i].at);
	vec_free(&s->threads);
	vec_free(&s->images);
	sites_free(&s->sites);
	free(s);
}

static uint64_t ticks_of(const struct trace_info *info, uint64_t ns)
{
	unsigned __int128 ticks = (unsigned __int128)ns * info->clock.hz / 1000000000u;

	return ticks < NO_LIMIT ? (uint64_t)ticks + 1 : NO_LIMIT;
}

/* The least of the limits that the function has. */
static uint64_t limit_by_name(const struct slow *s, const struct trace_module *m,
			      const struct trace_function *f)
{
	uint64_t ns = NO_LIMIT;
	char place[NAME_MAX_BYTES];
	const char *name = m->strings.at + f->name;

	if (!f->name) {
		trace_function_name(m, f, place, sizeof(place));
		name = place;
	}
	for (size_t i = 0; i < s->limits->n; i++)
		if (s->limits->at[i].ns < ns &&
		    function_list_has(&s->limits->at[i].functions, name, m->name))
			ns = s->limits->at[i].ns;
	return ns == NO_LIMIT ? NO_LIMIT : ticks_of(s->info, ns);
}

/* Valid until a later image is asked for. */
static struct slow_ids *ids_of(struct slow *s, uint32_t image)
{
	while (s->images.n <= image)
		*vec_add(&s->images) = (struct slow_ids){ 0 };
	return &s->images.at[image];
}

/* Looks a function up that is met for the first time; one that is not known yet may be later. */
static __attribute__((noinline)) uint64_t ask_limit(struct slow *s, uint32_t image, uint32_t fn)
{
	struct slow_ids *ids = ids_of(s, image);
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(s->info, image, fn, &m);

	if (!f)
		return NO_LIMIT;
	if (fn >= ids->n) {
		size_t n = fn + 1 > 2 * ids->n ? (size_t)fn + 1 : 2 * ids->n;

		ids->at = mem_realloc(ids->at, n, sizeof(*ids->at));
		memset(ids->at + ids->n, 0, (n - ids->n) * sizeof(*ids->at));
		ids->n = n;
	}
	return ids->at[fn] = limit_by_name(s, m, f);
}

/* On the way of every call that returns: one look into an array. 0 is "not looked up", NO_LIMIT
 * "has none". */
static inline uint64_t limit_of(struct slow *s, uint32_t fn)
{
	const struct slow_ids *ids = &s->images.at[s->image];

	return __builtin_expect(fn < ids->n && ids->at[fn], 1) ? ids->at[fn]
							       : ask_limit(s, s->image, fn);
}

/* The calls behind the first one are counted until somebody asks. */
static void note(struct slow *s, uint32_t thread, uint32_t fn, uint64_t ticks, bool open)
{
	const struct trace_module *m;
	const struct trace_thread *t = &s->info->threads.at[thread];
	const struct trace_function *f = trace_info_function(s->info, t->image, fn, &m);

	if (s->hits++ || !f)
		return;
	s->hit = (struct slow_call){ .ns = trace_clock_delta_ns(&s->info->clock, ticks),
				     .tid = t->tid, .open = open };
	trace_function_name(m, f, s->hit.name, sizeof(s->hit.name));
}

/* A call is told once: when it returns, or before that by look_at(), which sets `told`. A call
 * that encloses a told one began earlier, and is not told again for the same time. */
static void take_step(void *arg, const struct call_step *step)
{
	struct slow *s = arg;
	uint64_t begin = call_step_begin(step), ticks = step->tsc - begin;

	if ((step->kind != CALL_LEAVE && step->kind != CALL_SPAN) ||
	    step->flags & CALL_UNFINISHED || ticks < limit_of(s, step->fn) ||
	    begin <= s->now->told)
		return;
	s->now->told = begin;
	note(s, s->thread, step->fn, ticks, false);
}

/* Each in memory of its own: `lane` points into `tracks`. */
static struct slow_thread *thread_of(struct slow *s, uint32_t thread)
{
	struct slow_thread *t;

	while (s->threads.n <= thread)
		*vec_add(&s->threads) = NULL;
	t = s->threads.at[thread];
	if (!t) {
		t = s->threads.at[thread] = mem_zalloc(sizeof(*t));
		t->lane = tracks_init_one(&t->tracks, s->info, &s->sites, thread);
	}
	return t;
}

/* Before the first record of the chunk: what was open may have returned in the gap. */
static void feed_lost(struct slow *s, uint64_t tsc, const struct chunk *c)
{
	const struct event lost = { .kind = EVENT_LOST, .count = c->lost, .tsc = tsc,
				    .thread = c->thread, .cpu = c->cpu };

	tracks_feed(&s->now->tracks, s->now->lane, &lost, take_step, s);
}

/* The pump's. A chunk is of one thread, whose image and limits are looked up once. */
void slow_feed(struct slow *s, const struct chunk *c)
{
	struct unpack u = { .at = c->words, .end = c->words + c->n, .tsc = c->near_tsc,
			    .cpu = c->cpu, .thread = c->thread };
	bool lost = c->lost;
	struct event e;

	if (c->thread >= s->info->threads.n)
		return;
	s->thread = c->thread;
	s->image = s->info->threads.at[c->thread].image;
	s->now = thread_of(s, c->thread);
	ids_of(s, s->image);
	while (unpack_next(&u, &e)) {
		if (e.kind == EVENT_CALL) /* told to the function tracer, its entry follows */
			continue;
		if (lost)
			feed_lost(s, e.tsc, c);
		lost = false;
		tracks_feed(&s->now->tracks, s->now->lane, &e, take_step, s);
	}
}

/* The innermost open call of the thread that is over its limit and not told yet. */
static void look_at(struct slow *s, uint32_t thread, uint64_t tsc)
{
	struct slow_thread *t = s->threads.at[thread];
	const struct calls *c = t && t->lane->now ? &t->lane->now->calls : NULL;

	s->image = s->info->threads.at[thread].image;
	for (size_t i = c ? c->n : 0; i-- > 0;) {
		const struct call_frame *f = &c->at[i];

		if (f->begin <= t->told)
			return;
		if (tsc <= f->begin || tsc - f->begin < limit_of(s, f->fn))
			continue;
		t->told = f->begin;
		note(s, thread, f->fn, tsc - f->begin, true);
		return;
	}
}

/* Told once: what is taken is forgotten here. tsc: now, by which calls are measured that have not
 * returned. */
bool slow_take(struct slow *s, uint64_t tsc, struct slow_call *out)
{
	for (uint32_t i = 0; i < s->threads.n; i++)
		look_at(s, i, tsc);
	if (!s->hits)
		return false;
	*out = s->hit;
	out->more = s->hits - 1;
	s->hits = 0;
	s->hit = (struct slow_call){ 0 };
	return true;
}

/* False: the patterns name nothing that is traced, so that no snapshot would ever be taken. */
bool slow_has_functions(const struct slow *s)
{
	for (size_t i = 0; i < s->info->modules.n; i++) {
		const struct trace_module *m = &s->info->modules.at[i];

		for (size_t k = 0; k < m->functions.n; k++)
			if (m->functions.at[k].hook &&
			    limit_by_name(s, m, &m->functions.at[k]) != NO_LIMIT)
				return true;
	}
	return false;
}
