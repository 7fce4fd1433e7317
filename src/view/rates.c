/* SPDX-License-Identifier: MIT */
/* Called by ui/cmd/top.c: steps on the main thread, turns on the monitor's, both with its lock.
 * Nothing fails. Memory grows with functions, threads, and what each thread has called. */
#include "view/rates.h"

#include <stdlib.h>
#include <string.h>

void rates_init(struct rates *r, const struct walk *walk)
{
	*r = (struct rates){ .walk = walk };
}

/* RATES_TURN has no histogram of its own; freeing the zeroed one does nothing. */
static void free_row(struct rates_row *row)
{
	free(row->name);
	for (unsigned s = 0; s < RATES_SPANS_N; s++)
		histogram_free(&row->sums[s].durations);
}

void rates_free(struct rates *r)
{
	for (unsigned by = 0; by < RATES_BY_N; by++) {
		for (size_t i = 0; i < r->rows[by].n; i++)
			free_row(&r->rows[by].at[i]);
		vec_free(&r->rows[by]);
	}
	for (size_t i = 0; i < r->lanes.n; i++) {
		vec_free(&r->lanes.at[i].stack);
		for (unsigned by = 0; by < RATES_BY_N; by++)
			vec_free(&r->lanes.at[i].open[by]);
	}
	for (unsigned s = 0; s < RATES_SPANS_N; s++)
		histogram_pool_free(&r->pools[s]);
	vec_free(&r->lanes);
	vec_free(&r->functions);
	vec_free(&r->threads);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Finds the row of this name and file, or makes it; takes the name over. A linear search does: it
 * is asked once for each function of each image. A file's text is the trace's, and is not freed. */
static uint32_t row_named(struct rates *r, enum rates_by by, char *name, const char *file)
{
	for (size_t i = 0; i < r->rows[by].n; i++) {
		if (strcmp(r->rows[by].at[i].name, name) || strcmp(r->rows[by].at[i].file, file))
			continue;
		free(name);
		return (uint32_t)i;
	}
	*vec_add(&r->rows[by]) = (struct rates_row){ .name = name, .file = file };
	return (uint32_t)r->rows[by].n - 1;
}

/* The row of the walk's function; rows of two images with equal name and file are one. Makes its
 * module's row, too. `functions` has the row + 1, so that 0 says: not asked yet. */
static uint32_t function_row(struct rates *r, uint32_t function)
{
	const struct walk_function *f = &r->walk->functions.at[function];
	uint32_t row, module;

	while (r->functions.n <= function)
		*vec_add(&r->functions) = 0;
	if (r->functions.at[function])
		return r->functions.at[function] - 1;
	module = row_named(r, RATES_MODULES, mem_strdup(*f->file ? f->file : "[unknown]"), "");
	row = row_named(r, RATES_FUNCTIONS, mem_strdup(f->text), f->file);
	r->rows[RATES_FUNCTIONS].at[row].module = module;
	r->functions.at[function] = row + 1;
	return row;
}

/* Threads may share a name: the number tells them apart. The caller frees the text. */
static char *thread_name(const struct trace_thread *t)
{
	return mem_printf("%.*s-%u", TRACE_COMM, trace_thread_name(t), t->tid);
}

/* A thread of the trace has one row; its name is that of its first step. */
static uint32_t thread_row(struct rates *r, uint32_t thread)
{
	while (r->threads.n <= thread)
		*vec_add(&r->threads) = 0;
	if (!r->threads.at[thread]) {
		*vec_add(&r->rows[RATES_THREADS]) = (struct rates_row){
			.name = thread_name(&r->walk->info->threads.at[thread]), .file = "" };
		r->threads.at[thread] = (uint32_t)r->rows[RATES_THREADS].n;
	}
	return r->threads.at[thread] - 1;
}

/* --- times ------------------------------------------------------------------------------------ */

/* The turn that lasts: all is counted there, and added to the whole when the turn ends. */
static struct rates_sum *sum_of(struct rates *r, enum rates_by by, uint32_t row)
{
	return &r->rows[by].at[row].sums[RATES_NOW];
}

/* The time since the lane's latest step was the topmost call's. Called before a step changes the
 * stack, and at the end of a turn. Times of one lane may come late by another thread's clock: they
 * never go back. */
static void spend_time(struct rates *r, struct rates_lane *l, uint64_t ns)
{
	uint64_t spent = ns > l->last ? ns - l->last : 0;
	uint32_t function;

	l->last = ns > l->last ? ns : l->last;
	if (!l->stack.n || l->over)
		return;
	function = l->stack.at[l->stack.n - 1].function;
	sum_of(r, RATES_FUNCTIONS, function)->self += spent;
	sum_of(r, RATES_MODULES, r->rows[RATES_FUNCTIONS].at[function].module)->self += spent;
	sum_of(r, RATES_THREADS, l->thread)->self += spent;
	sum_of(r, RATES_THREADS, l->thread)->total += spent;
}

/* The number of times that a row is on this lane's stack. Valid until another row is asked for. */
static struct rates_open *open_of(struct rates_lane *l, enum rates_by by, uint32_t row)
{
	while (l->open[by].n <= row)
		*vec_add(&l->open[by]) = (struct rates_open){ 0 };
	return &l->open[by].at[row];
}

/* Only the outermost call of a row on a stack begins its total. A recursive call would count its
 * time twice. */
static void begin_in(struct rates *r, struct rates_lane *l, enum rates_by by, uint32_t row)
{
	struct rates_open *o = open_of(l, by, row);

	if (!o->calls++)
		o->since = l->last;
	sum_of(r, by, row)->calls++;
}

/* Adds the time of the row's outermost call since the turn began, or since the call did. `since`
 * moves to now, so that the next turn has the rest: settling twice at one time adds nothing. */
static void settle_total(struct rates *r, struct rates_lane *l, enum rates_by by, uint32_t row)
{
	struct rates_open *o = open_of(l, by, row);

	sum_of(r, by, row)->total += l->last > o->since ? l->last - o->since : 0;
	o->since = l->last;
}

/* Only the end of the outermost one ends it. */
static void end_in(struct rates *r, struct rates_lane *l, enum rates_by by, uint32_t row)
{
	struct rates_open *o = open_of(l, by, row);

	if (o->calls && !--o->calls)
		settle_total(r, l, by, row);
}

/* A duration counts in the turn and in the whole at once: percentiles of two turns do not add up.
 * RATES_ALL and RATES_NOW stand beside each other in the enumeration. */
static void add_duration(struct rates *r, enum rates_by by, uint32_t row, uint64_t ns)
{
	for (unsigned s = RATES_ALL; s <= RATES_NOW; s++) {
		struct rates_sum *sum = &r->rows[by].at[row].sums[s];

		sum->ended++;
		sum->sum += ns;
		sum->max = ns > sum->max ? ns : sum->max;
		histogram_add(&sum->durations, &r->pools[s], ns);
	}
}

/* --- steps ------------------------------------------------------------------------------------ */

/* The lane of the step, as its latest thread: a coroutine may have moved to another one. A lane
 * with a step is not over. The pointer holds until a lane is added. pid and tid are kept for
 * rates_turn(), which must not read the trace's table: its thread is another one. */
static struct rates_lane *lane_of(struct rates *r, const struct walk_step *s)
{
	const struct trace_thread *t = &r->walk->info->threads.at[s->thread];
	struct rates_lane *l;

	while (r->lanes.n <= s->lane)
		*vec_add(&r->lanes) = (struct rates_lane){ .last = s->ns };
	l = &r->lanes.at[s->lane];
	l->thread = thread_row(r, s->thread);
	l->pid = t->pid;
	l->tid = t->tid;
	l->moved = true;
	l->over = false;
	return l;
}

/* Pushes the function's row: turns read this stack alone. */
static void begin_call(struct rates *r, struct rates_lane *l, const struct walk_step *s)
{
	uint32_t function = function_row(r, s->function);

	*vec_add(&l->stack) = (struct rates_frame){ function, s->ns };
	begin_in(r, l, RATES_FUNCTIONS, function);
	begin_in(r, l, RATES_MODULES, r->rows[RATES_FUNCTIONS].at[function].module);
	sum_of(r, RATES_THREADS, l->thread)->calls++;
	r->calls[RATES_NOW]++;
}

/* Calls that have no end of their own (open at the end, cut by a loss) have no duration. A lane
 * that was met in the middle of a call has ends without beginnings: they are passed over. */
static void end_call(struct rates *r, struct rates_lane *l, const struct walk_step *s)
{
	const unsigned endless = WALK_UNFINISHED | WALK_CUT | WALK_UNFOLLOWED;
	struct rates_frame f;
	uint32_t module;

	if (!l->stack.n)
		return;
	f = l->stack.at[--l->stack.n];
	module = r->rows[RATES_FUNCTIONS].at[f.function].module;
	end_in(r, l, RATES_FUNCTIONS, f.function);
	end_in(r, l, RATES_MODULES, module);
	if (s->flags & endless)
		return;
	add_duration(r, RATES_FUNCTIONS, f.function, walk_ns(r->walk, s->ticks));
	add_duration(r, RATES_MODULES, module, walk_ns(r->walk, s->ticks));
	add_duration(r, RATES_THREADS, l->thread, walk_ns(r->walk, s->ticks));
}

/* Losses are counted; of the rest only beginnings and ends of calls matter. The whole time since
 * the lane's last step is accounted for before the stack changes. */
int rates_take(void *arg, const struct walk_step *s)
{
	struct rates *r = arg;
	struct rates_lane *l;

	if (!r->first)
		r->first = r->began = s->ns;
	rates_reach(r, s->ns);
	if (s->kind == WALK_LOST)
		r->records_lost += s->lost;
	if (s->kind != WALK_BEGIN && s->kind != WALK_END)
		return 0;
	l = lane_of(r, s);
	spend_time(r, l, s->ns);
	(s->kind == WALK_BEGIN ? begin_call : end_call)(r, l, s);
	return 0;
}

void rates_reach(struct rates *r, uint64_t ns)
{
	r->latest = ns > r->latest ? ns : r->latest;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Open calls have their part of the turn, up to its end. A thread whose `over` is set has gone
 * without ending its calls (an exec, a kill): they take no more time. */
static void settle_lane(struct rates *r, struct rates_lane *l)
{
	spend_time(r, l, r->latest);
	for (size_t i = 0; i < l->stack.n && !l->over; i++) {
		uint32_t function = l->stack.at[i].function;

		settle_total(r, l, RATES_FUNCTIONS, function);
		settle_total(r, l, RATES_MODULES, r->rows[RATES_FUNCTIONS].at[function].module);
	}
	r->threads_on += l->stack.n && !l->over;
	l->moved = false;
}

/* The middle of a bucket may be longer than the longest call. */
static uint64_t p99_of(const struct rates_sum *s)
{
	uint64_t v = histogram_percentile(&s->durations, s->ended, 99);

	return v < s->max ? v : s->max;
}

/* RATES_ALL had its durations at once: its histogram is no sum of others. */
static void turn_row(struct rates_row *row)
{
	struct rates_sum *now = &row->sums[RATES_NOW], *all = &row->sums[RATES_ALL];

	all->calls += now->calls;
	all->self += now->self;
	all->total += now->total;
	if (now->ended) {
		now->p99 = p99_of(now);
		all->p99 = p99_of(all);
	}
	histogram_free(&now->durations);
	memset(&now->durations, 0, sizeof(now->durations));
	row->sums[RATES_TURN] = *now;
	*now = (struct rates_sum){ 0 };
}

/* Lives is asked only of lanes that made no step, since it looks into /proc. All percentiles of the
 * turn are made before its histograms are thrown away with their pool. */
void rates_turn(struct rates *r, bool (*lives)(uint32_t pid, uint32_t tid))
{
	r->threads_on = 0;
	for (size_t i = 0; i < r->lanes.n; i++) {
		struct rates_lane *l = &r->lanes.at[i];

		if (l->stack.n && !l->moved && lives && !l->over)
			l->over = !lives(l->pid, l->tid);
		settle_lane(r, l);
	}
	for (unsigned by = 0; by < RATES_BY_N; by++)
		for (size_t i = 0; i < r->rows[by].n; i++)
			turn_row(&r->rows[by].at[i]);
	histogram_pool_free(&r->pools[RATES_NOW]);
	r->pools[RATES_NOW] = (struct histogram_pool){ 0 };
	r->calls[RATES_ALL] += r->calls[RATES_NOW];
	r->calls[RATES_TURN] = r->calls[RATES_NOW];
	r->calls[RATES_NOW] = 0;
	r->turn_ns = r->latest - r->began;
	r->all_ns = r->latest - r->first;
	r->began = r->latest;
}

/* The whole is the time of all threads in recorded calls, not that of the clock: threads that run
 * side by side would else have more than 100 %. */
unsigned rates_share(const struct rates *r, enum rates_span span, uint64_t ns)
{
	uint64_t all = 0;

	for (size_t i = 0; i < r->rows[RATES_THREADS].n; i++)
		all += r->rows[RATES_THREADS].at[i].sums[span].self;
	return all ? (unsigned)((unsigned __int128)ns * 10000 / all) : 0;
}
