/* SPDX-License-Identifier: MIT */
/* The inner loop of `brace report`: some ten nanoseconds a record, of which most is cache misses;
 * hence the prefetch queue and the inlined steps. Runs in a summary worker (summary.c), on that
 * worker's own tally. Nothing fails; ids that no module defines are summed up as one function. */
#include "report/tally.h"

#include "report/kernel_times.h"

#include <string.h>

#include "shared/record.h"

void tally_init(struct tally *t, const struct trace_info *info)
{
	memset(t, 0, sizeof(*t));
	t->info = info;
	sites_init(&t->sites, info);
}

void tally_free(struct tally *t)
{
	for (size_t i = 0; i < t->functions.n; i++)
		histogram_free(&t->functions.at[i].durations);
	for (size_t i = 0; i < t->maps.n; i++)
		free(t->maps.at[i].slot);
	histogram_pool_free(&t->pool);
	vec_free(&t->events);
	vec_free(&t->functions);
	vec_free(&t->maps);
	vec_free(&t->spans);
	vec_free(&t->lent);
	number_map_free(&t->active);
	sites_free(&t->sites);
}

/* The slot of id fn, growing the table by doubling. fn is RECORD_ID_MAX at most (add_function()),
 * which bounds the table. The slot moves when the table grows. */
static struct tally_slot *slot_for(struct tally *t, uint32_t fn)
{
	struct tally_map *m = t->map;

	if (fn >= m->n) {
		size_t n = fn + 1 > 2 * m->n ? (size_t)fn + 1 : 2 * m->n;

		m->slot = mem_realloc(m->slot, n, sizeof(*m->slot));
		memset(m->slot + m->n, 0, (n - m->n) * sizeof(*m->slot));
		m->n = n;
	}
	return &m->slot[fn];
}

/* The slow path of function_slot(): the first call of a function. A damaged file may have any id:
 * those beyond the ids of records, and those of no function, share one slot, so that nobody's
 * number becomes the size of a table. Groups (report/regroup.h) are the input's own numbers, and no
 * module defines them. */
static __attribute__((noinline)) struct tally_slot *add_function(struct tally *t, uint32_t fn)
{
	bool known = fn <= RECORD_ID_MAX &&
		     (t->groups || trace_info_function(t->info, t->image, fn, NULL));
	struct tally_slot *slot = known ? slot_for(t, fn) : &t->map->unknown;

	if (!slot->index) {
		*vec_add(&t->functions) = (struct tally_function){
			.image = t->image, .fn = known ? fn : FN_NONE, .min = UINT64_MAX };
		slot->index = (uint32_t)t->functions.n;
	}
	return slot;
}

/* The fast path: nearly every call is of a function that was seen before. */
static inline __attribute__((always_inline)) struct tally_slot *function_slot(struct tally *t,
									      uint32_t fn)
{
	if (__builtin_expect(fn < t->map->n && t->map->slot[fn].index, 1))
		return &t->map->slot[fn];
	return add_function(t, fn);
}

/* Indices are 1 more than the place, because a zeroed slot is an empty one. The address is good
 * until a function is added. */
static inline struct tally_function *function_of(struct tally *t, uint32_t index)
{
	return &t->functions.at[index - 1];
}

/* Adds up a call that ended. `total` takes the time of outermost calls by a mask, without a branch.
 * Sums are modulo 2^64, as tally_settle() needs them. */
static inline void add_call(struct tally *t, const struct tally_ended *e)
{
	struct tally_function *f = function_of(t, e->index);

	f->timed++;
	f->total += e->ticks & -(uint64_t)e->outermost;
	f->self += e->self;
	f->sum += e->ticks;
	f->min = e->ticks < f->min ? e->ticks : f->min;
	f->max = e->ticks > f->max ? e->ticks : f->max;
	histogram_add(&f->durations, &t->pool, e->ticks);
}

static inline struct tally_ended *ended_at(struct tally *t, uint64_t number)
{
	return &t->queue[number % TALLY_QUEUE];
}

/* A call of slot's function ended. Prefetches its sums, then the counter of a call that ended half
 * a queue ago, and adds up the one that ended a whole queue ago. outermost: none is open on its
 * stack any more. */
static inline __attribute__((always_inline)) void
end_call(struct tally *t, const struct tally_slot *slot, bool outermost, uint64_t ticks,
	 uint64_t self)
{
	struct tally_ended *e = ended_at(t, t->ended);

	if (t->ended >= TALLY_QUEUE)
		add_call(t, e);
	*e = (struct tally_ended){ slot->index, outermost, ticks, self };
	__builtin_prefetch(function_of(t, e->index), 1);
	__builtin_prefetch(histogram_page(&function_of(t, e->index)->durations, ticks));
	if (t->ended >= TALLY_QUEUE / 2) {
		e = ended_at(t, t->ended - TALLY_QUEUE / 2);
		histogram_prefetch(&function_of(t, e->index)->durations, e->ticks);
	}
	t->ended++;
}

/* Adds up what is left in the queue, at the thread's end. */
static void add_queue(struct tally *t)
{
	uint64_t from = t->ended > TALLY_QUEUE ? t->ended - TALLY_QUEUE : 0;

	for (; from < t->ended; from++)
		add_call(t, ended_at(t, from));
	t->ended = 0;
}

static void add_span(struct tally *t, uint64_t begin, uint64_t ticks, uint32_t fn)
{
	*vec_add(&t->spans) = (struct tally_span){ begin, ticks, fn };
}

/* By the event's number in records. */
static void count_event(struct tally *t, uint32_t index)
{
	while (t->events.n <= index)
		*vec_add(&t->events) = 0;
	t->events.at[index]++;
}

/* A process that is fed as one has calls of all its threads. */
static uint32_t tid_of(const struct tally *t, uint32_t thread)
{
	return t->info->threads.at[thread].tid;
}

/* Adds the kernel's part of an outermost call that ends: recursive calls are not counted again. */
static __attribute__((noinline)) void add_kernel(struct tally *t, const struct tally_slot *slot,
						 uint32_t thread, uint64_t begin, uint64_t end)
{
	struct tally_function *f = function_of(t, slot->index);
	const struct kernel_time time =
		kernel_times_between(t->kernel, tid_of(t, thread), begin, end);

	f->kernel += time.inside;
	f->blocked += time.blocked;
}

static void sum_up(struct thread_count *into, const struct thread_count *from)
{
	into->cpu += from->cpu;
	into->asleep += from->asleep;
	into->switches += from->switches;
	into->faults += from->faults;
}

/* As add_kernel(). */
static __attribute__((noinline)) void add_counters(struct tally *t, const struct tally_slot *slot,
						   uint32_t thread, uint64_t begin, uint64_t end)
{
	const struct thread_count count =
		thread_counters_between(t->counters, tid_of(t, thread), begin, end);

	sum_up(&function_of(t, slot->index)->count, &count);
}

/* --- calls on coroutines' stacks ------------------------------------------------------------ */

static uint64_t active_key(const struct tally_slot *slot, uint32_t track)
{
	return (uint64_t)track << 32 | slot->index;
}

/* Notes that a call of slot's function is open on that coroutine. */
static __attribute__((noinline)) void enter_coroutine(struct tally *t,
						      const struct tally_slot *slot, uint32_t track)
{
	const uint64_t key = active_key(slot, track), n = number_map_get(&t->active, key);

	t->coroutines = true;
	number_map_set(&t->active, key, n == NUMBER_NONE ? 1 : n + 1);
}

/* Whether the call that ends was the only open one of its function there. A call that another
 * thread began was not noted. */
static __attribute__((noinline)) bool leave_coroutine(struct tally *t,
						      const struct tally_slot *slot, uint32_t track)
{
	const uint64_t key = active_key(slot, track), n = number_map_get(&t->active, key);

	t->coroutines = true;
	if (n != NUMBER_NONE && n > 1) {
		number_map_set(&t->active, key, n - 1);
		return false;
	}
	number_map_remove(&t->active, key);
	return true;
}

/* --- steps ---------------------------------------------------------------------------------- */

/* A call ends that was open where reading began: its own time is not known yet. They end innermost
 * first, and each ends once, so that the list's order tells their depths (tally_settle()).
 * lent_open falls with each: a later call at that depth is not lent. */
static __attribute__((noinline)) void note_lent(struct tally *t, uint32_t depth,
						struct tally_lent lent)
{
	t->lent_open = depth;
	*vec_add(&t->lent) = lent;
}

/* Inlined into tracks_feed's fast path. The step's address is handed on to nobody: the compiler
 * then has its fields in registers. Written to memory field by field, and read by more bytes at a
 * time, they cost as much as all the sums. */
static inline __attribute__((always_inline)) void tally_step(void *arg, const struct call_step *s)
{
	struct tally *t = arg;

	if (s->kind == CALL_ENTER) {
		struct tally_slot *slot = function_slot(t, s->fn);

		if (__builtin_expect(s->track != 0, 0))
			enter_coroutine(t, slot, s->track);
		else
			slot->active++;
	} else if (s->kind == CALL_LEAVE) {
		struct tally_slot *slot = function_slot(t, s->fn);
		const bool outermost = __builtin_expect(s->track != 0, 0)
					       ? leave_coroutine(t, slot, s->track)
					       : !--slot->active;

		if (__builtin_expect(t->kernel && outermost, 0))
			add_kernel(t, slot, s->thread, s->begin, s->tsc);
		if (__builtin_expect(t->counters && outermost, 0))
			add_counters(t, slot, s->thread, s->begin, s->tsc);
		if (__builtin_expect(s->depth < t->lent_open && !s->track, 0))
			note_lent(t, s->depth,
				  (struct tally_lent){ slot->index, s->tsc - s->begin, s->inside });
		end_call(t, slot, outermost, s->tsc - s->begin, s->tsc - s->begin - s->inside);
	} else if (s->kind == CALL_ONLY)
		function_of(t, function_slot(t, s->fn)->index)->untimed++;
	else if (s->kind == CALL_SPAN)
		add_span(t, s->begin, s->tsc - s->begin - s->slept, s->fn);
	else if (s->kind == CALL_EVENT)
		count_event(t, s->fn);
}

void tally_begin(struct tally *t, uint32_t thread)
{
	uint32_t image = t->info->threads.at[thread].image;

	/* An index out of range comes from a damaged file: such threads share a map. */
	t->image = image < t->info->images.n ? image : (uint32_t)t->info->images.n;
	while (t->maps.n <= t->image)
		*vec_add(&t->maps) = (struct tally_map){ 0 };
	t->map = &t->maps.at[t->image];
	t->spans.n = t->lent.n = 0;
	t->lent_open = 0;
	t->coroutines = false;
	number_map_free(&t->active);
	t->last = (struct event){ 0 };
	/* The result must not depend on which threads this worker had before. */
	sites_forget(sites_map(&t->sites, t->image));
	t->lane = tracks_init_one(&t->tracks, t->info, &t->sites, thread);
}

static inline __attribute__((always_inline)) void take_event(struct tally *t, const struct event *e)
{
	t->switches |= e->kind == EVENT_SWITCH;
	tracks_feed(&t->tracks, t->lane, e, tally_step, t);
}

void tally_events(struct tally *t, const struct event *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		take_event(t, &events[i]);
	if (n)
		t->last = events[n - 1];
}

/* Takes a record that is an entry or a return in the common case. False: it is none, and nothing
 * has happened. The word is not consumed then: tally_words() unpacks it again, in full. */
static inline __attribute__((always_inline)) bool take_short(struct tally *t, struct unpack *u)
{
	const uint64_t word = *u->at;
	const bool exit = record_kind(word) == RECORD_EXIT;
	const struct event e = { .tsc = record_tsc(word, u->tsc), .site = record_site(word),
				 .fn = record_id(word), .kind = exit ? EVENT_EXIT : EVENT_ENTRY };

	if (!record_is_short(word) || record_kind(word) == RECORD_TAIL || t->lane->told)
		return false;
	if (!calls_feed_common(&t->lane->now->calls, &e, tally_step, t))
		return false;
	u->tsc = t->last.tsc = e.tsc;
	t->last.cpu = u->cpu;
	u->at++;
	return true;
}

/* The last event is not always the last record: some are no events. */
void tally_words(struct tally *t, struct unpack *u)
{
	struct event e;

	t->last.thread = u->thread;
	while (u->at < u->end) {
		if (__builtin_expect(take_short(t, u), 1))
			continue;
		if (!unpack_next(u, &e))
			continue;
		take_event(t, &e);
		t->last.tsc = e.tsc;
		t->last.cpu = e.cpu;
	}
}

/* Turns spans into calls. Spans are recorded at their ends, inner ones first. Read backwards they
 * are the calls in the order outer, last inner, ..., so that a stack of those still open gives the
 * nesting. Self times are not known, because short calls are missing. The last round, without a
 * span, ends what is left. `active` tells recursion as it does for calls. */
static void tally_spans(struct tally *t)
{
	VEC(struct tally_span) open = { 0 };

	t->cut |= t->spans.n > 0;
	for (size_t i = t->spans.n;; ) {
		const struct tally_span *s = i ? &t->spans.at[i - 1] : NULL;

		while (open.n && (!s || open.at[open.n - 1].begin > s->begin)) {
			const struct tally_span *o = &open.at[--open.n];

			struct tally_slot *slot = function_slot(t, o->fn);

			end_call(t, slot, !--slot->active, o->ticks, 0);
		}
		if (!s)
			break;
		i--;
		function_slot(t, s->fn)->active++;
		*vec_add(&open) = *s;
	}
	vec_free(&open);
}

/* Calls that are still open end with the thread's last event. tracks_end() has to come before
 * tally_stop(), which frees the tracks and counts their losses. */
void tally_end(struct tally *t)
{
	tracks_end(&t->tracks, &t->last, tally_step, t);
	tally_stop(t);
}

/* Calls that are still open are not ended: a following part ends them (tally_lend()), or
 * tally_end() has. The queue is added up, since tally_merge() reads the sums next. */
void tally_stop(struct tally *t)
{
	struct calls_counts counts;

	tally_spans(t);
	add_queue(t);
	counts = tracks_counts(&t->tracks);
	t->counts.unwound += counts.unwound;
	t->counts.unmatched_exits += counts.unmatched_exits;
	t->counts.lost += counts.lost;
	tracks_free(&t->tracks);
	t->tracks = (struct tracks){ 0 };
}

/* --- a thread in parts ------------------------------------------------------------------ */

/* A copy: the calls go on in this tally while another thread compares what it ends with. From here
 * on an end at a depth below lent_open is that of a call that began before. */
void tally_lend(struct tally *t, struct tally_open *open)
{
	const struct calls *c = &t->lane->now->calls;

	for (size_t i = 0; i < c->n; i++)
		*vec_add(&open->calls) = c->at[i];
	t->lent_open = (uint32_t)c->n;
}

void tally_open_free(struct tally_open *open)
{
	vec_free(&open->calls);
}

/* Whether the thread is on its own stack, and all that matters of it are its open calls. Whatever
 * else a lane has (coroutines, handlers, sleeps, unwinders, hidden or dead calls) may change how
 * later events are taken; it is rare, and such a part is read again rather than described. */
static bool is_plain(const struct tally *t)
{
	const struct lane *l = t->lane;
	const struct calls *c = &l->now->calls;

	if (t->tracks.processes.n != 1 || l->process->tracks.n != 1 || l->process->leavers.n ||
	    l->leaving || l->unwinding || l->told || l->sleeps || t->spans.n)
		return false;
	if (c->hidden || c->dead.n || c->unwinder != SIZE_MAX)
		return false;
	for (size_t i = 0; i < c->n; i++)
		if (c->at[i].handlers || c->at[i].flags & ~(uint32_t)CALL_TAIL)
			return false;
	return true;
}

static bool mark_holds(const struct calls *c, const struct stack_mark *m)
{
	return c->n >= m->depth && (!m->depth || c->at[m->depth - 1].begin == m->begin);
}

/* Whether the marks that hold are those of the events, which stand between their entries. */
static bool has_marks(const struct lane *l, const struct event *start, size_t n)
{
	const struct process_tracks *p = l->process;
	size_t open = 0, left = 0;

	for (size_t i = 0; i < p->marks.n; i++)
		left += mark_holds(&l->now->calls, &p->marks.at[i]);
	for (size_t i = 0; i < n; i++) {
		uint64_t at;

		open += start[i].kind == EVENT_ENTRY || start[i].kind == EVENT_TAIL;
		if (start[i].kind != EVENT_MARK)
			continue;
		at = number_map_get(&p->marked, start[i].count);
		if (at >= p->marks.n || p->marks.at[at].depth != open || !left--)
			return false;
	}
	return !left;
}

/* Times of beginning are compared as well as functions: the entries that tell what was open are
 * copies of the records, with their stamps. CALL_NOTED is about an index of this stack alone
 * (trace/calls.h), and may differ. */
bool tally_ends_with(const struct tally *t, const struct tally_open *open,
		     const struct event *start, size_t n)
{
	const struct calls *c = &t->lane->now->calls;
	const uint64_t base = n && start[0].kind == EVENT_AT ? start[0].count : 0;

	if (!is_plain(t) || c->n != open->calls.n || t->lane->now->base != base ||
	    !has_marks(t->lane, start, n))
		return false;
	for (size_t i = 0; i < c->n; i++)
		if (c->at[i].fn != open->calls.at[i].fn ||
		    c->at[i].begin != open->calls.at[i].begin ||
		    (c->at[i].flags ^ open->calls.at[i].flags) & ~CALL_NOTED)
			return false;
	return true;
}

/* Not below 0: stamps of a damaged file may make what lies within a call longer than it. */
static uint64_t own_time(uint64_t ticks, uint64_t inside)
{
	return ticks - (inside < ticks ? inside : ticks);
}

/* Number i of those that ended was at depth n - 1 - i. The part took them to have begun with
 * nothing inside: what the part before saw inside them is taken off their own time now. Those still
 * open take it along, for the part after. */
void tally_settle(struct tally *t, const struct tally *before)
{
	const struct calls *known = &before->lane->now->calls;
	struct calls *c = &t->lane->now->calls;

	for (size_t i = 0; i < t->lent.n && i < known->n; i++) {
		const struct tally_lent *e = &t->lent.at[i];
		const uint64_t inside = known->at[known->n - 1 - i].inside;

		/* The call may be in the queue still: sums are modulo 2^64. */
		function_of(t, e->index)->self += own_time(e->ticks, e->inside + inside) -
						  own_time(e->ticks, e->inside);
	}
	for (size_t i = 0; i < t->lent_open && i < c->n; i++)
		c->at[i].inside += known->at[i].inside;
}

/* For equal functions that several workers have met. */
void tally_merge(struct tally_function *into, const struct tally_function *from)
{
	into->untimed += from->untimed;
	into->timed += from->timed;
	into->total += from->total;
	into->self += from->self;
	into->sum += from->sum;
	into->kernel += from->kernel;
	into->blocked += from->blocked;
	sum_up(&into->count, &from->count);
	into->min = from->min < into->min ? from->min : into->min;
	into->max = from->max > into->max ? from->max : into->max;
	histogram_merge(&into->durations, &from->durations);
}
