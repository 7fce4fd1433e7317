/* SPDX-License-Identifier: MIT */
/* The function profiler's counters (trace_stat/functionN). The pump calls profile_feed for every
 * resolved chunk, profiling.c the rest; all have pump_lock. It sees millions of records a second,
 * hence tables indexed by id and inlined steps. Losses are counted and shown below the table.
 * Nothing fails. */
#include "instance/profile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "report/profile_table.h"
#include "trace/tracks.h"
#include "shared/messages.h"
#include "trace/unpack.h"

#define NAME_MAX_BYTES 512

struct sums {
	/* self: without the time of the calls it made; its hits are not used */
	struct profile_sums all, self;
};

/* The function ids of one image. */
struct ids {
	/* 0: not looked up; else 1 + index into functions, with LEFT_OUT if the function is not
	 * wanted */
	uint32_t *at;
	size_t n;
};
#define LEFT_OUT 0x80000000u

/* A thread, and its calls from chunk to chunk. */
struct followed {
	struct tracks tracks;
	struct lane *lane;
	bool wanted;
	/* By depth: ticks of spans (calls told at their end) whose caller has not ended yet. */
	VEC(uint64_t) inside;
};

/* One CPU's row of counters; functions by the index that struct ids has. */
struct cpu_sums {
	VEC(struct sums) functions;
	uint64_t lost;
};

struct counted { uint32_t image, fn; };

struct profile {
	const struct trace_info *info;
	struct settings settings;
	uint64_t from, to;
	struct sites sites;
	VEC(struct followed *) threads;      /* by thread; NULL: nothing came */
	VEC(struct ids) images;
	VEC(struct counted) functions;
	struct cpu_sums *cpus;
	/* CPU numbers are the traced program's: one beyond these counts for CPU 0. */
	unsigned n_cpus;
	/* The chunk that is being fed. */
	struct followed *now;
	uint32_t image;
};

/* --- which functions, which threads --------------------------------------------------- */

/* Whether the settings select the function. Other instances may have more functions hooked than the
 * profile wants. */
static bool selects(const struct settings *s, const struct trace_module *m,
		    const struct trace_function *f)
{
	char place[NAME_MAX_BYTES];
	const char *name = m->strings.at + f->name;

	if (!f->name) {
		trace_function_name(m, f, place, sizeof(place));
		name = place;
	}
	return (!s->filter.patterns.n || function_list_has(&s->filter, name, m->name)) &&
	       !function_list_has(&s->notrace, name, m->name);
}

/* The profile follows set_ftrace_pid, not its fork option. */
static bool is_wanted_thread(const struct settings *s, pid_t tid)
{
	return (!s->pids.pids.n || pid_list_has(&s->pids, tid)) &&
	       !pid_list_has(&s->notrace_pids, tid);
}

static struct ids *ids_of(struct profile *p, uint32_t image)
{
	while (p->images.n <= image)
		*vec_add(&p->images) = (struct ids){ 0 };
	return &p->images.at[image];
}

/* The entry of function fn, growing the table by doubling. */
static uint32_t *id_slot(struct ids *ids, uint32_t fn)
{
	if (fn >= ids->n) {
		size_t n = fn + 1 > 2 * ids->n ? (size_t)fn + 1 : 2 * ids->n;

		ids->at = mem_realloc(ids->at, n, sizeof(*ids->at));
		memset(ids->at + ids->n, 0, (n - ids->n) * sizeof(*ids->at));
		ids->n = n;
	}
	return &ids->at[fn];
}

/* The slow path of counted_index(): numbers a function that is met for the first time. Kept out of
 * line, for the sake of the loop that calls it. */
static __attribute__((noinline)) uint32_t ask_function(struct profile *p, uint32_t fn)
{
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(p->info, p->image, fn, &m);
	uint32_t *slot;

	if (!f)
		return LEFT_OUT; /* not kept: it may become known */
	*vec_add(&p->functions) = (struct counted){ p->image, fn };
	slot = id_slot(ids_of(p, p->image), fn);
	*slot = (uint32_t)p->functions.n | (selects(&p->settings, m, f) ? 0 : LEFT_OUT);
	return *slot;
}

/* Returns 1 + the function's index in p->functions, with LEFT_OUT if it is not to be counted. */
static inline uint32_t counted_index(struct profile *p, uint32_t fn)
{
	const struct ids *ids = &p->images.at[p->image];

	return __builtin_expect(fn < ids->n && ids->at[fn], 1) ? ids->at[fn] : ask_function(p, fn);
}

/* --- sums ------------------------------------------------------------------------------ */

static __attribute__((noinline)) void grow_sums(struct cpu_sums *c, size_t n)
{
	vec_reserve(&c->functions, n);
	while (c->functions.n < n)
		c->functions.at[c->functions.n++] = (struct sums){ 0 };
}

static inline struct cpu_sums *sums_of_cpu(struct profile *p, unsigned cpu)
{
	return &p->cpus[cpu < p->n_cpus ? cpu : 0];
}

static inline struct sums *sums_of(struct profile *p, unsigned cpu, uint32_t number)
{
	struct cpu_sums *c = sums_of_cpu(p, cpu);

	if (__builtin_expect(c->functions.n < number, 0))
		grow_sums(c, p->functions.n);
	return &c->functions.at[number - 1];
}

static inline void add_time(struct profile_sums *s, uint64_t ticks)
{
	s->ticks += ticks;
	/* Squares for the standard deviation; in 64 bits a call of two seconds would overflow. */
	s->squares += (unsigned __int128)ticks * ticks;
}

/* ticks of the call, of which `inside` were spent in calls it made. */
static inline void add_call(struct sums *s, uint64_t ticks, uint64_t inside)
{
	add_time(&s->all, ticks);
	add_time(&s->self, ticks - (inside < ticks ? inside : ticks));
}

/* --- steps ----------------------------------------------------------------------------- */

/* Takes the time of a call that is not counted back out of its caller's `inside`: only the calls
 * that it made are subtracted from the caller's own time. */
static void take_time_from_caller(struct profile *p, const struct call_step *s)
{
	struct calls *c = &p->now->lane->now->calls;
	uint64_t own = s->tsc - s->begin - s->inside;

	if (c->n && c->track == s->track && c->at[c->n - 1].inside >= own)
		c->at[c->n - 1].inside -= own;
}

/* Returns the time of spans one level below depth that have ended since, and adds this span to its
 * own caller's. A span is recorded at its end only, so that inner spans come first. */
static uint64_t take_inside(struct followed *f, uint32_t depth, uint64_t ticks)
{
	uint64_t inside;

	while (f->inside.n < depth + 2)
		*vec_add(&f->inside) = 0;
	inside = f->inside.at[depth + 1];
	f->inside.at[depth + 1] = 0;
	f->inside.at[depth] += ticks;
	return inside;
}

static void add_span(struct profile *p, const struct call_step *s, uint32_t number)
{
	struct sums *sums = sums_of(p, s->cpu, number);
	uint64_t ticks = s->tsc - call_step_begin(s);

	sums->all.hits++;
	add_call(sums, ticks, take_inside(p->now, s->depth, ticks));
}

/* Inlined into tracks_feed's callers, one step of a call. A loss is counted on the CPU where the
 * next record was made. */
static inline __attribute__((always_inline)) void count_step(void *arg, const struct call_step *s)
{
	struct profile *p = arg;
	uint32_t number;

	if (__builtin_expect(s->kind == CALL_LOST || s->kind == CALL_EVENT, 0)) {
		sums_of_cpu(p, s->cpu)->lost += s->kind == CALL_LOST ? s->count : 0;
		return;
	}
	number = counted_index(p, s->fn);
	if (__builtin_expect(number & LEFT_OUT, 0)) {
		if (s->kind == CALL_LEAVE)
			take_time_from_caller(p, s);
	} else if (s->kind == CALL_LEAVE) {
		add_call(sums_of(p, s->cpu, number), s->tsc - s->begin, s->inside);
	} else if (s->kind == CALL_SPAN) {
		add_span(p, s, number);
	} else {
		sums_of(p, s->cpu, number)->all.hits++;
	}
}

/* --- records --------------------------------------------------------------------------- */

/* Returns the thread's state, made when its first chunk arrives. */
static struct followed *followed_of(struct profile *p, uint32_t thread)
{
	struct followed *f;

	while (p->threads.n <= thread)
		*vec_add(&p->threads) = NULL;
	f = p->threads.at[thread];
	if (!f) {
		f = p->threads.at[thread] = mem_zalloc(sizeof(*f));
		f->lane = tracks_init_one(&f->tracks, p->info, &p->sites, thread);
		f->wanted = is_wanted_thread(&p->settings, (pid_t)p->info->threads.at[thread].tid);
	}
	return f;
}

/* Feeds the loss that the chunk began with, right before its first counted record e. */
static void feed_lost(struct profile *p, const struct event *e, uint64_t count)
{
	const struct event lost = { .kind = EVENT_LOST,
				    .count = count,
				    .tsc = e->tsc,
				    .thread = e->thread,
				    .cpu = e->cpu };

	tracks_feed(&p->now->tracks, p->now->lane, &lost, count_step, p);
}

/* Feeds the chunk's records between p->from and p->to. One unsigned comparison tests both ends. */
static void feed_events(struct profile *p, const struct chunk *c)
{
	struct unpack u = { .at = c->words,
			    .end = c->words + c->n,
			    .tsc = c->near_tsc,
			    .cpu = c->cpu,
			    .thread = c->thread };
	struct followed *f = p->now;
	const uint64_t length = p->to - p->from;
	const bool sleep_time = !settings_exclude_sleep(&p->settings);
	uint64_t lost = c->lost;
	struct event e;

	while (unpack_next(&u, &e)) {
		if (__builtin_expect(e.tsc - p->from > length || e.kind == EVENT_CALL, 0))
			continue; /* EVENT_CALL: told to the function tracer, its entry follows */
		if (__builtin_expect(e.kind == EVENT_SLEPT && sleep_time, 0))
			continue; /* another instance wants it */
		if (__builtin_expect(lost != 0, 0))
			feed_lost(p, &e, lost);
		lost = 0;
		tracks_feed(&f->tracks, f->lane, &e, count_step, p);
	}
	/* A chunk without records tells what its thread lost at its end. */
	e = (struct event){ .tsc = c->near_tsc, .thread = c->thread, .cpu = c->cpu };
	if (lost && !c->n && e.tsc - p->from <= length) /* at its thread's end */
		feed_lost(p, &e, lost);
}

void profile_feed(struct profile *p, const struct chunk *c)
{
	if (c->thread >= p->info->threads.n)
		return;
	p->image = p->info->threads.at[c->thread].image;
	p->now = followed_of(p, c->thread);
	/* counted_index() relies on p->images having the image. */
	ids_of(p, p->image);
	if (p->now->wanted && p->to > p->from)
		feed_events(p, c);
}

/* --- beginning and end ------------------------------------------------------------------- */

struct profile *profile_new(const struct trace_info *info, const struct settings *s, uint64_t tsc)
{
	struct profile *p = mem_zalloc(sizeof(*p));
	long n = sysconf(_SC_NPROCESSORS_CONF);

	p->info = info;
	p->from = tsc;
	p->to = UINT64_MAX;
	/* CPUs that are configured but offline have rows, too, as the kernel's trace_stat. */
	p->n_cpus = n > 0 ? (unsigned)n : 1;
	p->cpus = mem_zalloc(p->n_cpus * sizeof(*p->cpus));
	sites_init(&p->sites, info);
	settings_copy(&p->settings, s);
	return p;
}

static void followed_free(struct followed *f)
{
	if (f) {
		tracks_free(&f->tracks);
		vec_free(&f->inside);
	}
	free(f);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->threads.n; i++)
		followed_free(p->threads.at[i]);
	for (size_t i = 0; i < p->images.n; i++)
		free(p->images.at[i].at);
	for (unsigned i = 0; i < p->n_cpus; i++)
		vec_free(&p->cpus[i].functions);
	free(p->cpus);
	vec_free(&p->threads);
	vec_free(&p->images);
	vec_free(&p->functions);
	sites_free(&p->sites);
	settings_free(&p->settings);
	free(p);
}

/* Drops the state of threads whose being wanted changes: calls that began while they were not
 * followed have no beginning. */
static void choose_threads(struct profile *p)
{
	for (size_t i = 0; i < p->threads.n; i++) {
		struct followed *f = p->threads.at[i];

		if (f &&
		    f->wanted == is_wanted_thread(&p->settings, (pid_t)p->info->threads.at[i].tid))
			continue;
		followed_free(f);
		p->threads.at[i] = NULL;
	}
}

/* Decides anew about every function that was met. Counters stay, also of functions that count no
 * longer. */
static void choose_functions(struct profile *p)
{
	for (size_t i = 0; i < p->functions.n; i++) {
		const struct counted *c = &p->functions.at[i];
		const struct trace_module *m;
		const struct trace_function *f = trace_info_function(p->info, c->image, c->fn, &m);

		if (f)
			p->images.at[c->image].at[c->fn] =
				(uint32_t)(i + 1) | (selects(&p->settings, m, f) ? 0 : LEFT_OUT);
	}
}

void profile_configure(struct profile *p, const struct settings *s)
{
	settings_free(&p->settings);
	settings_copy(&p->settings, s);
	choose_threads(p);
	choose_functions(p);
	/* Sites that meant nothing may be known since other functions were hooked. */
	sites_renew(&p->sites);
}

void profile_end(struct profile *p, uint64_t tsc)
{
	p->to = tsc;
}

/* --- the table ---------------------------------------------------------------------------- */

/* A row before functions of several images are added up. */
struct profile_found {
	const struct trace_module *module;
	const struct trace_function *function;
	struct profile_sums sums;
};

typedef VEC(struct profile_found) found_list;

/* Orders by file and address, so that a function of one file stands together whatever image it was
 * seen in. */
static int by_function(const void *a, const void *b)
{
	const struct profile_found *x = a, *y = b;
	int c = x->module == y->module ? 0 : strcmp(x->module->path, y->module->path);

	if (c)
		return c;
	return x->function->vaddr < y->function->vaddr ? -1
						       : x->function->vaddr > y->function->vaddr;
}

/* Collects a CPU's counted functions. graph_time: with the time of the calls they made. */
static void find_rows(const struct profile *p, const struct cpu_sums *c, bool graph_time,
		      found_list *all)
{
	for (size_t i = 0; i < c->functions.n; i++) {
		const struct sums *s = &c->functions.at[i];
		struct profile_found f = { .sums = graph_time ? s->all : s->self };

		f.sums.hits = s->all.hits;
		f.function = trace_info_function(p->info, p->functions.at[i].image,
						 p->functions.at[i].fn, &f.module);
		if (f.function && s->all.hits)
			*vec_add(all) = f;
	}
	if (all->n)
		qsort(all->at, all->n, sizeof(*all->at), by_function);
}

/* free() it. */
static char *found_name(const struct profile_found *f)
{
	size_t n = (size_t)trace_function_name(f->module, f->function, NULL, 0) + 1;
	char *name = mem_zalloc(n);

	trace_function_name(f->module, f->function, name, n);
	return name;
}

static void print_rows(const struct profile *p, const found_list *all, uint64_t thresh_ns,
		       struct out *out)
{
	VEC(struct profile_row) rows = { 0 };

	for (size_t i = 0; i < all->n; i++) {
		if (i && !by_function(&all->at[i - 1], &all->at[i]))
			profile_sums_add(&rows.at[rows.n - 1].sums, &all->at[i].sums);
		else
			*vec_add(&rows) =
				(struct profile_row){ found_name(&all->at[i]), all->at[i].sums };
	}
	profile_print(rows.at, rows.n, &p->info->clock, thresh_ns, out);
	for (size_t i = 0; i < rows.n; i++)
		free(rows.at[i].name);
	vec_free(&rows);
}

/* Switches that the kernel's buffer had no room for: sleep times are incomplete then. */
static uint32_t unseen_switches(const struct trace_info *info)
{
	uint32_t n = 0;

	for (size_t i = 0; i < info->messages.n; i++)
		n += info->messages.at[i].kind == MESSAGE_UNSEEN ? info->messages.at[i].count : 0;
	return n;
}

void profile_show(const struct profile *p, unsigned cpu, const struct settings *s, struct out *out)
{
	found_list all = { 0 };

	if (cpu >= p->n_cpus)
		return;
	find_rows(p, &p->cpus[cpu], option_is_set(s->options, OPTION_GRAPH_TIME), &all);
	print_rows(p, &all, s->tracing_thresh_ns, out);
	vec_free(&all);
	if (p->cpus[cpu].lost)
		out_printf(out, "#\n# %lu records were lost before they could be counted\n",
			   p->cpus[cpu].lost);
	if (unseen_switches(p->info))
		out_printf(
			out,
			"#\n# the kernel had no room for %u or more of the threads' switches: times may hold time slept\n",
			unseen_switches(p->info));
}
