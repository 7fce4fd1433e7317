/* SPDX-License-Identifier: MIT */
/* Follows all calls of a trace, and keeps beside each open one whether it is chosen. Calls that are
 * chosen by what comes later have a bit of a first reading, by their number in their thread: both
 * readings see the same events and number them in the same way. source.c and cursor.c feed it. What
 * a damaged trace says of its calls is held against the stack, and left out where it does not
 * fit. */
#include "excerpt/extract.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without --from the excerpt has begun before the first event: no call is open then. */
void extract_begin(struct excerpt_reading *e, struct excerpt *x, uint32_t thread, bool looks,
		   struct call_bits *bits)
{
	*e = (struct excerpt_reading){ .x = x, .looks = looks, .begun = !x->from };
	if (bits) {
		e->bits = *bits;
		*bits = (struct call_bits){ 0 };
	}
	sites_init(&e->sites, x->info);
	if (thread == NO_THREAD)
		tracks_init(&e->tracks, x->info, &e->sites);
	else
		e->lane = tracks_init_one(&e->tracks, x->info, &e->sites, thread);
}

void extract_free(struct excerpt_reading *e)
{
	/* Cursors of several threads may end at one time. Relaxed: the sums are read after them. */
	atomic_fetch_add_explicit(&e->x->given, e->given, memory_order_relaxed);
	for (unsigned i = 0; i < LEFT_REASONS_N; i++)
		atomic_fetch_add_explicit(&e->x->left[i], e->left[i], memory_order_relaxed);
	for (size_t i = 0; i < e->stacks.n; i++)
		vec_free(&e->stacks.at[i]);
	vec_free(&e->stacks);
	vec_free(&e->calls);
	vec_free(&e->ends);
	vec_free(&e->out);
	stack_numbers_free(&e->numbers);
	tracks_free(&e->tracks);
	sites_free(&e->sites);
	call_bits_free(&e->bits);
}

int extract_too_many(struct err *err)
{
	return err_set(err, EFBIG,
		       "the trace has more calls than can be chosen by what comes later: choose a part of it with --from, --to or --thread");
}

/* --- giving out ------------------------------------------------------------------------------ */

/* The array begins anew once all of it was given out: it does not grow with the trace. A step lies
 * in it, and is overwritten by the next extract_take(). */
bool extract_give(struct excerpt_reading *e, struct event *out)
{
	struct excerpt_waiting *o;

	if (e->next == e->out.n) {
		e->next = e->out.n = 0;
		return false;
	}
	o = &e->out.at[e->next++];
	*out = o->event;
	if (out->kind == EVENT_STEP)
		out->step = &o->step;
	return true;
}

static void put_event(struct excerpt_reading *e, const struct event *event)
{
	*vec_add(&e->out) = (struct excerpt_waiting){ .event = *event };
	e->given++;
}

/* flags: EVENT_STEP_EARLIER or 0. */
static void put_step(struct excerpt_reading *e, const struct call_step *s, uint8_t flags)
{
	struct event event = {
		.tsc = s->tsc, .value = s->value, .thread = s->thread, .fn = s->fn,
		.site = s->site, .cpu = s->cpu, .kind = EVENT_STEP, .flags = flags,
	};

	*vec_add(&e->out) = (struct excerpt_waiting){ event, *s };
	e->given++;
}

/* --- choosing -------------------------------------------------------------------------------- */

static bool has_cpu(const struct excerpt *x, uint16_t cpu)
{
	return !x->cpus || (cpu < x->n_cpus && x->cpus[cpu / 8] >> cpu % 8 & 1);
}

/* Counts what lies in the range, once: how much lies before it is not read. */
static bool leave_out(struct excerpt_reading *e, enum excerpt_reason why)
{
	e->left[why] += e->begun && !e->looks;
	return false;
}

/* Whether a thread's record on a CPU may be in the excerpt. */
static bool may_have(struct excerpt_reading *e, uint32_t thread, uint16_t cpu)
{
	if (!e->x->threads.at[thread])
		return leave_out(e, LEFT_BY_THREAD);
	return has_cpu(e->x, cpu) || leave_out(e, LEFT_BY_CPU);
}

/* Whether the call that begins is in the excerpt, whenever that is. */
static bool is_chosen(struct excerpt_reading *e, const struct extract_frame *f)
{
	const struct excerpt *x = e->x;

	if (!may_have(e, f->thread, f->cpu))
		return false;
	if (!(excerpt_function(x, f->thread, f->fn) & FUNCTION_SHOWN))
		return leave_out(e, LEFT_BY_FUNCTION);
	if (x->graph && !f->in_graph)
		return leave_out(e, LEFT_BY_GRAPH);
	if (f->depth >= x->depth)
		return leave_out(e, LEFT_BY_DEPTH);
	if (!e->looks && x->later && !call_bits_get(&e->bits, f->thread, f->number))
		return leave_out(e, LEFT_BY_LATER);
	return true;
}

/* --- the stacks ------------------------------------------------------------------------------- */

/* The array of stacks moves when a new one is met: the pointer is valid until then. */
static extract_stack *stack_of(struct excerpt_reading *e, const struct call_step *s)
{
	uint32_t number = stack_number(&e->numbers, e->x->info, s);

	while (e->stacks.n <= number)
		*vec_add(&e->stacks) = (extract_stack){ 0 };
	return &e->stacks.at[number];
}

/* Counts every call that begins, chosen or not, in both readings: a bit of the first one is found
 * by this number in the second one. */
static uint64_t next_number(struct excerpt_reading *e, uint32_t thread)
{
	while (e->calls.n <= thread)
		*vec_add(&e->calls) = 0;
	return e->calls.at[thread]++;
}

/* Opens a frame for the step's call. The frames below say in what it lies. */
static struct extract_frame *open_frame(struct excerpt_reading *e, const struct call_step *s)
{
	extract_stack *stack = stack_of(e, s);
	const struct extract_frame *below;
	struct extract_frame f = {
		.begin = s->tsc, .fn = s->fn, .thread = s->thread, .site = s->site,
		.track = s->track, .cpu = s->cpu, .flags = s->flags,
		.number = next_number(e, s->thread),
	};

	if (stack->n > s->depth)
		stack->n = s->depth;
	below = stack->n ? &stack->at[stack->n - 1] : NULL;
	f.depth = below ? below->depth + below->chosen : 0;
	f.in_graph = (below && below->in_graph) ||
		     excerpt_function(e->x, f.thread, f.fn) & FUNCTION_ROOT;
	f.chosen = is_chosen(e, &f);
	*vec_add(stack) = f;
	return &stack->at[stack->n - 1];
}

/* The step of an opened call, at its depth in the excerpt. */
static struct call_step enter_of(const struct extract_frame *f)
{
	return (struct call_step){
		.tsc = f->begin, .begin = f->begin, .thread = f->thread, .fn = f->fn,
		.site = f->site, .depth = f->depth, .track = f->track, .cpu = f->cpu,
		.kind = CALL_ENTER, .flags = f->flags & (uint8_t)~CALL_ARGUMENTS,
	};
}

/* Charges the ticks of a call to the nearest chosen one below. A handler's time is not that of the
 * calls it interrupts (trace/calls.h). */
static void charge_call(struct excerpt_reading *e, extract_stack *stack,
			const struct extract_frame *f, uint64_t ticks)
{
	bool handler = f->flags & CALL_HANDLER;

	for (size_t i = stack->n; i && !(handler && !e->x->info->charge_handlers); i--) {
		if (stack->at[i - 1].chosen) {
			stack->at[i - 1].inside += ticks;
			return;
		}
		handler = stack->at[i - 1].flags & CALL_HANDLER;
	}
}

/* The beginning of the part of a call that lies in the excerpt. The step's is later than the call's
 * by what is not its time: sleeps, and since `from` (forget_handlers()) handlers and the cost of
 * recording. */
static uint64_t clipped_begin(struct excerpt_reading *e, const struct extract_frame *f,
			      const struct call_step *s)
{
	const uint64_t from = e->x->from;
	const struct sleeps *sleeps;
	uint64_t left_out, before;

	if (!e->x->clip || f->begin >= from)
		return s->begin;
	sleeps = (e->lane ? e->lane : tracks_lane(&e->tracks, s->thread))->sleeps;
	before = sleeps ? sleeps_between(sleeps, f->begin, from) : 0;
	left_out = s->begin > f->begin ? s->begin - f->begin : 0;
	left_out -= before < left_out ? before : left_out;
	return s->tsc > from && left_out < s->tsc - from ? from + left_out : s->tsc;
}

/* The open calls' time is counted from here on, and so is what is not theirs. */
static void forget_handlers(struct tracks *t)
{
	for (size_t i = 0; i < t->processes.n; i++) {
		const struct process_tracks *p = t->processes.at[i];

		for (size_t k = 0; k < p->tracks.n; k++)
			for (size_t c = 0; p->tracks.at[k] && c < p->tracks.at[k]->calls.n; c++)
				p->tracks.at[k]->calls.at[c].handlers = 0;
	}
}

/* --- a first reading -------------------------------------------------------------------------- */

/* The open calls have led to one whose callers are asked for. Those below the first that is known
 * to are known to as well. */
static void mark_leading(extract_stack *stack)
{
	for (size_t i = stack->n; i && !stack->at[i - 1].leads; i--)
		stack->at[i - 1].leads = true;
}

/* A call has ended: whether it is chosen by what came meanwhile. */
static void note_end(struct excerpt_reading *e, const struct extract_frame *f,
		     const struct call_step *s)
{
	const struct excerpt *x = e->x;
	const bool is_long =
		trace_clock_delta_ns(&x->info->clock, s->tsc - s->begin) >= x->spec->min_ns;

	if (f->chosen && is_long && (f->leads || !x->spec->callers_of.patterns.n) &&
	    f->begin <= x->to && !call_bits_set(&e->bits, f->thread, f->number))
		e->full = true;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Calls before the range get frames as well: those that are open when it begins come first in it. A
 * first reading needs no more than the frame. */
static void take_enter(struct excerpt_reading *e, const struct call_step *s)
{
	const struct extract_frame *f = open_frame(e, s);
	struct call_step out;

	if (e->looks && excerpt_function(e->x, s->thread, s->fn) & FUNCTION_CALLED)
		mark_leading(stack_of(e, s));
	if (e->looks || !f->chosen || !e->begun)
		return;
	out = *s;
	out.depth = f->depth;
	put_step(e, &out, 0);
}

static void note_event(struct excerpt_reading *e, const struct event *event)
{
	while (e->ends.n <= event->thread)
		*vec_add(&e->ends) = 0;
	e->ends.at[event->thread] = event->tsc;
}

/* Where a thread's open calls end: at the end of the range if the thread goes on behind it,
 * otherwise at its last record, because no more of its time is known. One thread alone has that in
 * e->last. */
static uint64_t end_of(const struct excerpt_reading *e, uint32_t thread)
{
	uint64_t last = thread < e->ends.n ? e->ends.at[thread] : 0, behind;

	if (e->lane)
		return e->last.tsc;
	if (e->over && store_last(e->x->reader, thread, &behind) && behind > e->x->to)
		return e->x->to;
	return last > e->x->from ? last : e->x->from;
}

/* The step of a call's end. Tracks end all calls that are open at one time. */
static struct call_step leave_of(const struct excerpt_reading *e, const struct call_step *s)
{
	struct call_step out = *s;

	if (e->ending) {
		out.tsc = end_of(e, s->thread);
		out.begin = out.begin < out.tsc ? out.begin : out.tsc;
	}
	return out;
}

/* The thread of a call that never ends is not told by the end of the trace. */
static void take_leave(struct excerpt_reading *e, const struct call_step *s)
{
	extract_stack *stack = stack_of(e, s);
	struct extract_frame f;
	struct call_step out = leave_of(e, s);

	if (stack->n <= s->depth)
		return; /* it began on a stack that was taken for another */
	stack->n = s->depth;
	f = stack->at[s->depth];
	if (e->looks) {
		note_end(e, &f, &out);
		return;
	}
	if (!f.chosen || !e->begun)
		return;
	out.begin = clipped_begin(e, &f, &out);
	out.inside = f.inside < out.tsc - out.begin ? f.inside : out.tsc - out.begin;
	out.depth = f.depth;
	charge_call(e, stack, &f, out.tsc - out.begin);
	put_step(e, &out, 0);
}

static void take_only(struct excerpt_reading *e, const struct call_step *s)
{
	extract_stack *stack = stack_of(e, s);
	const struct extract_frame *f;
	struct call_step out = *s;
	struct call_step at = *s;

	/* For the time of this step it is a call like others. */
	at.depth = stack->n < s->depth ? (uint32_t)stack->n : s->depth;
	f = open_frame(e, &at);
	out.depth = f->depth;
	if (e->looks && excerpt_function(e->x, s->thread, s->fn) & FUNCTION_CALLED)
		mark_leading(stack);
	/* Nobody knows how long it lasted: a least duration leaves it out. */
	if (e->looks && f->leads && !e->x->spec->min_ns && f->chosen)
		e->full |= !call_bits_set(&e->bits, f->thread, f->number);
	if (!e->looks && f->chosen && e->begun)
		put_step(e, &out, 0);
	stack->n--;
}

/* A loss makes a step, too (CALL_LOST): take_alone() has given out its event. */
static void take_step(void *arg, const struct call_step *s)
{
	if (s->kind == CALL_ENTER)
		take_enter(arg, s);
	else if (s->kind == CALL_LEAVE)
		take_leave(arg, s);
	else if (s->kind == CALL_ONLY)
		take_only(arg, s);
}

/* --- time ------------------------------------------------------------------------------------- */

/* Outer calls before inner ones that began at the same time. */
static int by_begin(const void *a, const void *b)
{
	const struct excerpt_waiting *x = a, *y = b;

	if (x->event.tsc != y->event.tsc)
		return x->event.tsc < y->event.tsc ? -1 : 1;
	return x->step.depth < y->step.depth ? -1 : x->step.depth > y->step.depth;
}

/* The excerpt begins: calls that are open come first. */
static void begin_excerpt(struct excerpt_reading *e)
{
	e->begun = true;
	if (e->x->clip)
		forget_handlers(&e->tracks);
	for (size_t i = 0; i < e->stacks.n; i++) {
		extract_stack *stack = &e->stacks.at[i];

		for (size_t k = 0; k < stack->n; k++) {
			const struct call_step s = enter_of(&stack->at[k]);

			/* Its calls' time before that is not in its own time either. */
			if (e->x->clip)
				stack->at[k].inside = 0;
			if (!stack->at[k].chosen)
				is_chosen(e, &stack->at[k]); /* counts the reason */
			else if (!e->looks)
				put_step(e, &s, EVENT_STEP_EARLIER);
		}
	}
	if (e->out.n)
		qsort(e->out.at, e->out.n, sizeof(*e->out.at), by_begin);
}

/* --- events ----------------------------------------------------------------------------------- */

/* Events that are no part of a call that has a beginning and an end. */
static bool stands_alone(const struct excerpt *x, const struct event *e)
{
	return e->kind == EVENT_TRACE || e->kind == EVENT_CALL || e->kind == EVENT_SPAN ||
	       e->kind == EVENT_OPEN || e->kind == EVENT_LOST || e->kind == EVENT_SLEPT ||
	       (e->kind == EVENT_ENTRY_ONLY && !x->nests);
}

/* Whether a record of a whole call, or of an entry alone, is in the excerpt. */
static bool is_call_chosen(struct excerpt_reading *e, const struct event *event)
{
	const struct excerpt *x = e->x;

	if (!(excerpt_function(x, event->thread, event->fn) & FUNCTION_SHOWN))
		return leave_out(e, LEFT_BY_FUNCTION);
	if (!x->spec->min_ns)
		return true;
	return (event->kind == EVENT_SPAN &&
		trace_clock_delta_ns(&x->info->clock, event->tsc - event->begin) >=
			x->spec->min_ns) ||
	       leave_out(e, LEFT_BY_LATER);
}

/* Records that stand alone have no bits, so that a first reading passes over them. */
static void take_alone(struct excerpt_reading *e, const struct event *event)
{
	const bool call = event->kind == EVENT_CALL || event->kind == EVENT_SPAN ||
			  event->kind == EVENT_OPEN || event->kind == EVENT_ENTRY_ONLY;

	if (e->looks || !e->begun || !may_have(e, event->thread, event->cpu))
		return;
	if (!call || is_call_chosen(e, event))
		put_event(e, event);
}

/* Takes an event that is in the range, or before it. */
static void take_now(struct excerpt_reading *e, const struct event *event)
{
	e->now = e->last = *event;
	if (!e->lane)
		note_event(e, event);
	if (stands_alone(e->x, event))
		take_alone(e, event);
	if (event->kind == EVENT_SLEPT || event->kind == EVENT_LOST ||
	    !stands_alone(e->x, event))
		tracks_feed(&e->tracks,
			    e->lane ? e->lane : tracks_lane(&e->tracks, event->thread), &e->now,
			    take_step, e);
}

/* Ends the wait of a place that belongs to no event which could be in the excerpt. */
static void end_wait(struct excerpt_reading *e)
{
	if (e->waits && e->place.tsc <= e->x->to)
		take_now(e, &e->place);
	e->waits = false;
}

/* Where the stack pointer was is told before the call that it belongs to, but may be stamped later.
 * So such a stamp neither begins the excerpt nor ends it: the call's own does. */
static bool waits_for_call(struct excerpt_reading *e, const struct event *event)
{
	const struct excerpt *x = e->x;

	if (event->kind != EVENT_AT ||
	    (event->tsc <= x->to && (e->begun || event->tsc < x->from)))
		return false;
	end_wait(e);
	e->place = *event;
	e->waits = true;
	return true;
}

/* The reading of later calls goes on behind the excerpt, until it is known how long those last that
 * begin in it; otherwise the end of time ends everything. */
bool extract_take(struct excerpt_reading *e, const struct event *event)
{
	if (e->over || event->thread >= e->x->info->threads.n)
		return !e->over;
	if (waits_for_call(e, event))
		return true;
	if (event->tsc > e->x->to && !e->looks) {
		e->last.tsc = e->x->to;
		e->over = true;
		return false;
	}
	if (!e->begun && event->tsc >= e->x->from)
		begin_excerpt(e);
	if (e->waits)
		take_now(e, &e->place);
	e->waits = false;
	take_now(e, event);
	return !e->full;
}

/* Calls that were open lasted to here. The range lies in the trace: where no record of these
 * threads is in it, the calls that are open behind their last one are open there, and no part of
 * their time is known to be. */
void extract_end(struct excerpt_reading *e)
{
	end_wait(e);
	if (!e->begun) {
		begin_excerpt(e);
		e->last.tsc = e->last.tsc > e->x->from ? e->last.tsc : e->x->from;
	}
	e->ending = true;
	tracks_end(&e->tracks, &e->last, take_step, e);
}
