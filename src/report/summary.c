/* SPDX-License-Identifier: MIT */
/* Makes the summary. summary_make starts the workers, each with a tally of its own, so that nothing
 * is shared while they run but the list of jobs (an atomic index) and the first error (work->lock).
 * The caller's thread is worker 0 and joins the others; then the tallies are merged by function. A
 * job's error does not stop the others; the summary fails as a whole. */
#include "report/summary.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "report/gathered.h"
#include "report/pipe.h"
#include "report/segments.h"
#include "report/tally.h"
#include "trace/overloads.h"

/* Events of one read; and the most workers, because each has tables of its own. */
#define BATCH 2048
#define WORKERS_MAX 64

struct summary_job { uint32_t thread; bool piped; };

struct work {
	const struct summary_input *in;
	struct summary *out; /* by thread: protected by lock */
	VEC(struct summary_job) jobs;
	/* by thread, each written by who has its job: as gathered_new() takes it */
	bool *coroutines;
	atomic_size_t next_job;
	pthread_mutex_t lock; /* protects result, err, segments and calls of in->open */
	unsigned cores;
	VEC(struct segments) segments; /* of threads that several cores added up */
	VEC(struct tally *) tallies;   /* when the workers are done: all */
	int result;
	struct err err;
};

struct worker {
	struct work *work;
	struct tally tally;
	pthread_t thread;
	bool started;
};

/* --- values ---------------------------------------------------------------------------- */

/* A percentile is the middle of a bucket: it must not leave the range of real durations. A function
 * whose calls all lasted equally long could have a P99 above its MAX otherwise. */
static uint64_t clamp_total(uint64_t v, const struct tally_function *f)
{
	return v < f->min ? f->min : v > f->max ? f->max : v;
}

/* Calls without times count, but have no durations. */
static void set_values(struct summary_row *row, const struct trace_clock *clock,
		       const struct tally_function *f)
{
	uint64_t ticks[SUMMARY_NUMBERS] = { 0 };

	if (f->timed) {
		ticks[SUMMARY_TOTAL] = f->total;
		ticks[SUMMARY_SELF] = f->self;
		ticks[SUMMARY_MIN] = f->min;
		ticks[SUMMARY_MAX] = f->max;
		ticks[SUMMARY_MEAN] = f->sum / f->timed;
		ticks[SUMMARY_P50] =
			clamp_total(histogram_percentile(&f->durations, f->timed, 50), f);
		ticks[SUMMARY_P99] =
			clamp_total(histogram_percentile(&f->durations, f->timed, 99), f);
	}
	for (unsigned c = 0; c < SUMMARY_NUMBERS; c++)
		row->value[c] = trace_clock_delta_ns(clock, ticks[c]);
	row->value[SUMMARY_CALLS] = f->timed + f->untimed;
	row->timed = f->timed;
	row->in_kernel = trace_clock_delta_ns(clock, f->kernel);
	row->blocked = trace_clock_delta_ns(clock, f->blocked);
	row->counter[SUMMARY_COUNTER_CPU] = trace_clock_delta_ns(clock, f->count.cpu);
	row->counter[SUMMARY_COUNTER_ASLEEP] = trace_clock_delta_ns(clock, f->count.asleep);
	row->counter[SUMMARY_COUNTER_SWITCHES] = f->count.switches;
	row->counter[SUMMARY_COUNTER_FAULTS] = f->count.faults;
}

/* All calls of the one thread that the tally has. Each is in some function's self time once. Total
 * is set to the sum of self times, because totals of functions that call each other contain one
 * another. */
static void add_thread_row(struct summary *s, struct tally *t, uint32_t thread)
{
	const struct trace_thread *about = &s->info->threads.at[thread];
	struct summary_row row = { .module = "", .thread = thread };
	struct tally_function *all = t->functions.at;

	for (size_t i = 1; i < t->functions.n; i++)
		tally_merge(all, &t->functions.at[i]);
	if (!t->functions.n || !(all->timed + all->untimed))
		return;
	all->total = all->self;
	set_values(&row, &s->info->clock, all);
	row.name = mem_printf("%.*s-%u", TRACE_COMM, trace_thread_name(about), about->tid);
	*vec_add(&s->rows) = row;
}

/* Called with work->lock held, or by the one thread that is left. */
static void add_counts(struct summary *s, const struct tally *t)
{
	s->counts.unwound += t->counts.unwound;
	s->counts.unmatched_exits += t->counts.unmatched_exits;
	s->counts.lost += t->counts.lost;
	s->cut |= t->cut;
}

static void begin_tally(struct tally *t, const struct summary_input *in)
{
	tally_init(t, in->info);
	t->groups = in->group_name;
	t->kernel = in->kernel;
	t->counters = in->counters;
}

/* Makes the thread's row, and frees the tally. */
static void end_thread(struct work *w, struct tally *t, uint32_t thread)
{
	pthread_mutex_lock(&w->lock);
	add_thread_row(w->out, t, thread);
	add_counts(w->out, t);
	pthread_mutex_unlock(&w->lock);
	tally_free(t);
}

/* --- the jobs -------------------------------------------------------------------------- */

/* Keeps the first error. The other workers go on: jobs are few and cannot be called back. */
static void fail_work(struct work *w, int result, const struct err *err)
{
	pthread_mutex_lock(&w->lock);
	if (!w->result) {
		w->result = result;
		w->err = *err;
	}
	pthread_mutex_unlock(&w->lock);
}

/* A big thread: decoded by the pipe's thread, added up here. Such an input's events outlive the
 * next read (not summary_input.at_once), since the pipe reads ahead. */
static int read_piped(const struct summary_input *in, void *cursor, struct tally *t,
		      struct err *err)
{
	struct pipe *p = pipe_start(in->next, cursor);
	const struct event *events;
	size_t n;
	int r;

	while (!(r = pipe_next(p, &events, &n, err)) && n)
		tally_events(t, events, n);
	pipe_stop(p);
	return r;
}

/* A packet's records at a time. */
static int read_words(const struct summary_input *in, void *cursor, struct tally *t,
		      struct err *err)
{
	struct unpack *u;
	int r;

	while ((r = in->words(cursor, &u, err)) > 0)
		tally_words(t, u);
	return r;
}

/* Decodes and adds up in turns: events stay in the cache between the two. */
static int read_directly(const struct summary_input *in, void *cursor, struct tally *t,
			 struct err *err)
{
	struct event *events;
	int n;

	if (in->words)
		return read_words(in, cursor, t, err);
	events = mem_realloc(NULL, BATCH, sizeof(*events));
	while ((n = in->next(cursor, events, BATCH, err)) > 0)
		tally_events(t, events, (size_t)n);
	free(events);
	return n;
}

/* A big thread whose middle is known: added up by all cores at once. 1: it is not. What a part
 * cannot tell of its own (rows by thread, the kernel's part of a call, counters, the cost of
 * recording that is left out) makes one core read all. The segments are kept also after a failure:
 * their owner frees them. */
static int do_in_segments(struct work *w, uint32_t thread, struct err *err)
{
	const struct summary_input *in = w->in;
	struct segments s;
	int r;

	if (!in->open_part || in->by_thread || in->kernel || in->counters || in->info->net ||
	    w->cores < 2)
		return 1;
	r = segments_tally(in, thread, w->cores, &w->lock, &s, err);
	for (size_t i = 0; i < s.n; i++)
		w->coroutines[thread] |= s.at[i]->coroutines;
	pthread_mutex_lock(&w->lock);
	*vec_add(&w->segments) = s;
	pthread_mutex_unlock(&w->lock);
	return r;
}

/* Rows by thread of an input that gathers: a tally for each thread that its events are of. A call
 * counts for the thread that it returned in. */
static int read_process(struct work *work, void *cursor, struct err *err)
{
	const struct summary_input *in = work->in;
	VEC(struct tally *) tallies = { 0 }; /* by thread */
	struct event e;
	int n;

	while ((n = in->next(cursor, &e, 1, err)) > 0) {
		while (tallies.n <= e.thread)
			*vec_add(&tallies) = NULL;
		if (!tallies.at[e.thread]) {
			tallies.at[e.thread] = mem_zalloc(sizeof(struct tally));
			begin_tally(tallies.at[e.thread], in);
			tally_begin(tallies.at[e.thread], e.thread);
		}
		tally_events(tallies.at[e.thread], &e, 1);
	}
	for (uint32_t i = 0; i < tallies.n; i++) {
		if (!tallies.at[i])
			continue;
		tally_end(tallies.at[i]);
		end_thread(work, tallies.at[i], i);
		free(tallies.at[i]);
	}
	vec_free(&tallies);
	return n;
}

/* Reads the thread's events, and adds them up. 0, or -errno and *err. */
static int read_thread(struct worker *w, const struct summary_job *job, void *cursor,
		       struct err *err)
{
	const struct summary_input *in = w->work->in;
	int r;

	if (in->by_thread && in->gathers)
		return read_process(w->work, cursor, err);
	tally_begin(&w->tally, job->thread);
	r = (job->piped && !in->at_once ? read_piped : read_directly)(in, cursor, &w->tally, err);
	tally_end(&w->tally);
	w->work->coroutines[job->thread] |= w->tally.coroutines;
	if (in->by_thread) {
		end_thread(w->work, &w->tally, job->thread);
		begin_tally(&w->tally, in);
	}
	return r;
}

/* Tallies one thread's events. Cursors are opened one at a time, because the reader is shared. 1 of
 * do_in_segments(): nothing was read yet, so that the thread is read in the usual way. */
static int do_job(struct worker *w, const struct summary_job *job, struct err *err)
{
	const struct summary_input *in = w->work->in;
	void *cursor;
	int r = job->piped ? do_in_segments(w->work, job->thread, err) : 1;

	if (r <= 0)
		return r;
	pthread_mutex_lock(&w->work->lock);
	cursor = in->open(in->of, job->thread);
	pthread_mutex_unlock(&w->work->lock);
	/* A thread without records has no cursor, and no row. */
	if (!cursor)
		return 0;
	r = read_thread(w, job, cursor, err);
	in->close(cursor);
	return r;
}

/* A worker: takes jobs until none is left. The first failure is kept as the result. */
static void *run_worker(void *arg)
{
	struct worker *w = arg;
	struct err err = { 0 };
	size_t i;

	/* Relaxed: only the number matters. Jobs were written before the threads were begun, and
	 * their results are read after the threads' end. */
	while ((i = atomic_fetch_add_explicit(&w->work->next_job, 1, memory_order_relaxed)) <
	       w->work->jobs.n) {
		int r = do_job(w, &w->work->jobs.at[i], &err);

		if (r < 0)
			fail_work(w->work, r, &err);
	}
	return NULL;
}

/* The biggest first, so that no worker begins one when the others are done. */
struct by_size { uint64_t records; uint32_t thread; };

static int bigger_first(const void *a, const void *b)
{
	const struct by_size *x = a, *y = b;

	if (x->records != y->records)
		return x->records > y->records ? -1 : 1;
	return x->thread < y->thread ? -1 : 1;
}

/* Sorts jobs so that the biggest threads come first. Threads that exceed a core's share by a
 * quarter are decoded by one core while another adds them up. A thread's number of records is what
 * the file says: it decides about who reads it when, and a wrong one makes no wrong sum. */
static void plan_jobs(struct work *w, unsigned workers)
{
	const struct trace_info *info = w->in->info;
	struct by_size *order = mem_realloc(NULL, info->threads.n, sizeof(*order));
	uint64_t all = 0;

	for (uint32_t i = 0; i < info->threads.n; i++) {
		order[i] = (struct by_size){ info->threads.at[i].records, i };
		all += order[i].records;
	}
	qsort(order, info->threads.n, sizeof(*order), bigger_first);
	for (size_t i = 0; i < info->threads.n; i++) {
		double share = all ? (double)order[i].records / (double)all
				   : 1.0 / (double)info->threads.n;

		*vec_add(&w->jobs) =
			(struct summary_job){ order[i].thread, share * workers > 1.25 };
	}
	free(order);
}

/* --- rows ------------------------------------------------------------------------------ */

/* A function of one worker's tally. */
struct summary_found {
	struct tally_function *sums;
	const struct trace_module *module;     /* NULL: nothing defines the id */
	const struct trace_function *function;
};

/* The library that a PLT entry leads to; NULL: not known. */
static const char *library_of(const struct summary_found *f)
{
	bool known;

	return f->function->library ? trace_function_file(f->module, f->function, &known) : NULL;
}

/* Orders PLT entries by target: entries of several modules that lead to one function become one
 * row. Of such entries neither module's path nor address may count: each module has a stub of its
 * own. */
static int by_library(const struct summary_found *x, const struct summary_found *y)
{
	const char *a = library_of(x), *b = library_of(y);
	int c;

	if (!a || !b)
		return !!a - !!b;
	c = strcmp(a, b);
	return c ? c
		 : strcmp(x->module->strings.at + x->function->name,
			  y->module->strings.at + y->function->name);
}

/* Orders by file and address, so that one function is one row whatever image it was seen in. Ids
 * that no module defines come first, and are all equal: they are one row. */
static int by_function(const void *a, const void *b)
{
	const struct summary_found *x = a, *y = b;
	int c;

	if (!x->module || !y->module)
		return !!x->module - !!y->module;
	if (library_of(x) || library_of(y))
		return by_library(x, y);
	c = x->module == y->module ? 0 : strcmp(x->module->path, y->module->path);
	if (c)
		return c;
	return x->function->vaddr < y->function->vaddr ? -1
						       : x->function->vaddr > y->function->vaddr;
}

/* A row of a function's sums. Calls without times count, but have no durations. */
static void add_row(struct summary *s, const struct summary_input *in,
		    const struct summary_found *found, struct overloads *o)
{
	const struct tally_function *f = found->sums;
	struct summary_row row = { .symbol = found->function && found->function->name };

	row.name = overloads_row_text(o, found->module, found->function, &row.module);
	if (!found->module && in->nobody) {
		free(row.name);
		row.name = mem_strdup(in->nobody);
	}
	set_values(&row, &in->info->clock, f);
	*vec_add(&s->rows) = row;
}

/* Sorts all workers' functions and merges equal ones into the first of each run. The tallies' sums
 * are changed by that: it happens once, when the workers are done. */
static void make_rows(struct summary *s, const struct work *work)
{
	const struct summary_input *in = work->in;
	const struct trace_info *info = in->info;
	VEC(struct summary_found) all = { 0 };
	struct overloads overloads = { 0 };

	for (size_t w = 0; w < work->tallies.n; w++) {
		for (size_t i = 0; i < work->tallies.at[w]->functions.n; i++) {
			struct summary_found *f = vec_add(&all);

			f->sums = &work->tallies.at[w]->functions.at[i];
			f->module = NULL;
			f->function =
				trace_info_function(info, f->sums->image, f->sums->fn, &f->module);
		}
	}
	if (all.n)
		qsort(all.at, all.n, sizeof(*all.at), by_function);
	for (size_t i = 0, first = 0; i < all.n; i++) {
		if (i != first)
			tally_merge(all.at[first].sums, all.at[i].sums);
		if (i + 1 < all.n && !by_function(&all.at[i], &all.at[i + 1]))
			continue;
		if (all.at[first].sums->timed + all.at[first].sums->untimed)
			add_row(s, in, &all.at[first], &overloads);
		first = i + 1;
	}
	overloads_free(&overloads);
	vec_free(&all);
}

/* Groups are told apart by number alone, which tally_function.fn has in place of a function's. */
static int by_group(const void *a, const void *b)
{
	const struct tally_function *const *x = a, *const *y = b;

	return (*x)->fn < (*y)->fn ? -1 : (*x)->fn > (*y)->fn;
}

/* Groups are the same in all images. */
static void make_group_rows(struct summary *s, const struct work *work)
{
	const struct summary_input *in = work->in;
	VEC(struct tally_function *) all = { 0 };

	for (size_t w = 0; w < work->tallies.n; w++)
		for (size_t i = 0; i < work->tallies.at[w]->functions.n; i++)
			*vec_add(&all) = &work->tallies.at[w]->functions.at[i];
	if (all.n)
		qsort(all.at, all.n, sizeof(*all.at), by_group);
	for (size_t i = 0, first = 0; i < all.n; i++) {
		struct summary_row row = { .module = "" };

		if (i != first)
			tally_merge(all.at[first], all.at[i]);
		if (i + 1 < all.n && !by_group(&all.at[i], &all.at[i + 1]))
			continue;
		set_values(&row, &in->info->clock, all.at[first]);
		row.name = in->group_name(in->of, all.at[first]->fn);
		*vec_add(&s->rows) = row;
		first = i + 1;
	}
	vec_free(&all);
}

/* Events have a row with a count and no times. trace_event.index is the number that records have,
 * by which tallies count; it need not be the event's place in the info. */
static void make_event_rows(struct summary *s, const struct work *work)
{
	const struct trace_info *info = work->in->info;

	for (size_t i = 0; i < info->events.n; i++) {
		const struct trace_event *e = &info->events.at[i];
		struct summary_row row = { .module = "" };

		for (size_t w = 0; w < work->tallies.n; w++) {
			const struct tally *t = work->tallies.at[w];

			if (e->index < t->events.n)
				row.value[SUMMARY_CALLS] += t->events.at[e->index];
		}
		if (!row.value[SUMMARY_CALLS])
			continue;
		row.name = mem_printf("%s:%s", e->system, e->name);
		*vec_add(&s->rows) = row;
	}
}

/* --- all of it ------------------------------------------------------------------------- */

/* Rows by thread were made as each thread ended (end_thread()): their tallies are gone. */
static void make_all_rows(struct summary *s, const struct work *work)
{
	if (s->by_thread)
		return;
	if (work->in->group_name) {
		make_group_rows(s, work);
		return;
	}
	make_rows(s, work);
	make_event_rows(s, work);
}

/* The workers' own tallies, and those of threads in segments. */
static void collect_tallies(struct work *work, struct worker *workers, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		*vec_add(&work->tallies) = &workers[i].tally;
	for (size_t i = 0; i < work->segments.n; i++)
		for (size_t k = 0; k < work->segments.at[i].n; k++)
			*vec_add(&work->tallies) = work->segments.at[i].at[k];
}

/* No more workers than threads of the trace, since a thread's events are added up by one. Segments
 * of a big thread have further threads beside these (segments.c). */
static unsigned workers_for(unsigned wanted, size_t threads)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = wanted ? wanted : cores > 0 ? (size_t)cores : 1;

	n = n < WORKERS_MAX ? n : WORKERS_MAX;
	return (unsigned)(n < threads ? n : threads ? threads : 1);
}

/* Starts n - 1 threads, and works on the calling one. */
static void run_workers(struct worker *workers, unsigned n, struct work *work)
{
	for (unsigned i = 0; i < n; i++) {
		workers[i].work = work;
		begin_tally(&workers[i].tally, work->in);
		workers[i].started =
			i && !pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
	}
	/* worker 0 runs here; if no thread could be started it does everything */
	run_worker(&workers[0]);
	for (unsigned i = 1; i < n; i++)
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
}

/* The caller's thread works too, so that workers == 1 starts none. Losses are added up also after a
 * failure: what was read is known to lack them. coroutines is filled in for gathered_new(); its
 * threads are those of the info. */
static int read_all(const struct summary_input *in, unsigned wanted, bool *coroutines,
		    struct summary *out, struct err *err)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = workers_for(wanted, in->info->threads.n);
	struct worker *workers = mem_zalloc(n * sizeof(*workers));
	struct work work = { .in = in, .out = out, .coroutines = coroutines };

	work.cores = wanted ? wanted : cores > 0 ? (unsigned)cores : 1;
	work.cores = work.cores < WORKERS_MAX ? work.cores : WORKERS_MAX;
	*out = (struct summary){ .info = in->info, .cut = in->info->thresh_ns,
				 .by_thread = in->by_thread, .title = in->title,
				 .kernel = in->kernel != NULL,
				 .counters = in->counters != NULL };
	pthread_mutex_init(&work.lock, NULL);
	/* Shares are those of the cores, even if there are fewer threads than cores. */
	plan_jobs(&work, work.cores);
	run_workers(workers, n, &work);
	collect_tallies(&work, workers, n);
	if (!work.result)
		make_all_rows(out, &work);
	else if (err)
		*err = work.err;
	for (size_t i = 0; i < work.tallies.n; i++)
		add_counts(out, work.tallies.at[i]);
	for (unsigned i = 0; i < n; i++)
		tally_free(&workers[i].tally);
	for (size_t i = 0; i < work.segments.n; i++)
		segments_free(&work.segments.at[i]);
	vec_free(&work.segments);
	vec_free(&work.tallies);
	free(workers);
	vec_free(&work.jobs);
	pthread_mutex_destroy(&work.lock);
	return work.result;
}

/* Few programs have threads and coroutines: they are read twice, all others once. The first result
 * is thrown away then: calls that moved between threads have no beginning or no end in it. */
int summary_make(const struct summary_input *in, unsigned wanted, struct summary *out,
		 struct err *err)
{
	bool *coroutines = mem_zalloc(in->info->threads.n + 1);
	int r = read_all(in, wanted, coroutines, out, err);
	struct gathered *g = r ? NULL : gathered_new(in, coroutines);

	if (g) {
		const struct summary_input gathered = gathered_input(g);

		summary_free(out);
		r = read_all(&gathered, wanted, coroutines, out, err);
		gathered_free(g);
	}
	free(coroutines);
	return r;
}

void summary_free(struct summary *s)
{
	for (size_t i = 0; i < s->rows.n; i++)
		free(s->rows.at[i].name);
	vec_free(&s->rows);
}
