/* SPDX-License-Identifier: MIT */
/* Finds out on which stack each event happened; tracks.h has the rules. Everything is deduced from
 * stack pointers that the programs recorded: a wrong guess misnests a report and does nothing else.
 * Searches are bounded (SEARCH_MAX), so that hostile records cost time linear in their number. Each
 * reader of events owns a struct tracks, on its own thread; nothing fails. */
#include "trace/tracks.h"

#include <string.h>

#include "shared/record.h"

#define SEARCH_MAX 4096 /* tracks that a search looks back over */
/* bytes below a call's stack pointer within which a call made in its frame is looked for */
#define NEAR 65536

void tracks_init(struct tracks *t, const struct trace_info *info, struct sites *sites)
{
	*t = (struct tracks){ .info = info, .sites = sites };
}

/* --- places ------------------------------------------------------------------------------- */

/* Adds a track to the process. home: the thread whose own stack it is, or NO_THREAD. Nobody runs on
 * it yet (put_on). Tracks are allocated one by one, so that pointers to them stay valid when the
 * list grows. */
static struct track *track_new(struct tracks *t, struct process_tracks *p, uint32_t home)
{
	struct track *k = mem_zalloc(sizeof(*k));

	calls_init(&k->calls, t->info, sites_map(t->sites, p->image), p->image);
	k->home = home;
	k->running = k->latest = NO_THREAD;
	k->fn = FN_NONE;
	*vec_add(&p->tracks) = k;
	return k;
}

/* The process of a thread, made if there is none. */
static struct process_tracks *process_of(struct tracks *t, const struct trace_thread *thread)
{
	struct process_tracks *p;

	/* The newest first: a pid may be used again. */
	for (size_t i = t->processes.n; i; i--)
		if (t->processes.at[i - 1]->pid == thread->pid &&
		    t->processes.at[i - 1]->image == thread->image)
			return t->processes.at[i - 1];
	p = mem_zalloc(sizeof(*p));
	p->pid = thread->pid;
	p->image = thread->image;
	p->thread = (uint32_t)(thread - t->info->threads.at);
	*vec_add(&t->processes) = p;
	return p;
}

/* Puts the thread on a track. */
static void put_on(struct lane *l, uint32_t index)
{
	l->index = index;
	l->now = l->process->tracks.at[index];
	l->now->running = l->now->latest = l->thread;
	l->now->lanes++;
	l->now->calls.sleeps = l->sleeps;
}

struct lane *tracks_lane(struct tracks *t, uint32_t thread)
{
	struct lane *l;

	while (t->lanes.n <= thread - t->first_thread)
		*vec_add(&t->lanes) = (struct lane){ 0 };
	l = &t->lanes.at[thread - t->first_thread];
	if (!l->process) {
		l->process = process_of(t, &t->info->threads.at[thread]);
		l->last_fn = FN_NONE;
		l->thread = thread;
		track_new(t, l->process, thread);
		put_on(l, (uint32_t)l->process->tracks.n - 1);
	}
	return l;
}

struct lane *tracks_init_one(struct tracks *t, const struct trace_info *info, struct sites *sites,
			     uint32_t thread)
{
	tracks_init(t, info, sites);
	t->first_thread = thread;
	return tracks_lane(t, thread);
}

static void track_free(struct track *k)
{
	if (k)
		calls_free(&k->calls);
	free(k);
}

static void process_free(struct process_tracks *p)
{
	for (size_t i = 0; i < p->tracks.n; i++)
		track_free(p->tracks.at[i]);
	vec_free(&p->tracks);
	vec_free(&p->marks);
	vec_free(&p->leavers);
	number_map_free(&p->left);
	number_map_free(&p->bases);
	number_map_free(&p->marked);
	free(p);
}

/* Lanes own the lists of sleeps; tracks only refer to them, hence the order does not matter. */
void tracks_free(struct tracks *t)
{
	for (size_t i = 0; i < t->processes.n; i++)
		process_free(t->processes.at[i]);
	for (size_t i = 0; i < t->lanes.n; i++) {
		if (t->lanes.at[i].sleeps)
			sleeps_free(t->lanes.at[i].sleeps);
		free(t->lanes.at[i].sleeps);
	}
	vec_free(&t->processes);
	vec_free(&t->lanes);
}

/* NULL also for NUMBER_NONE, which is no index, and for a track that has been discarded. */
static struct track *track_at(const struct process_tracks *p, uint64_t index)
{
	return index < p->tracks.n ? p->tracks.at[index] : NULL;
}

/* --- tracks come and go --------------------------------------------------------------------- */

/* The track cannot be found by its stack pointers any more. */
static void forget_track(struct process_tracks *p, uint32_t index)
{
	struct track *k = p->tracks.at[index];

	if (number_map_get(&p->left, k->sp) == index)
		number_map_remove(&p->left, k->sp);
	if (number_map_get(&p->bases, k->base) == index)
		number_map_remove(&p->bases, k->base);
	k->sp = k->base = 0;
}

static void add_counts(struct calls_counts *sum, const struct calls_counts *c)
{
	sum->unwound += c->unwound;
	sum->unmatched_exits += c->unmatched_exits;
	sum->lost += c->lost;
}

/* Frees the track and keeps its counts. The place in the list stays empty: indices of other tracks
 * are in the maps. */
static void discard_track(struct tracks *t, struct process_tracks *p, uint32_t index)
{
	struct track *k = p->tracks.at[index];

	add_counts(&t->ended, &k->calls.counts);
	track_free(k);
	p->tracks.at[index] = NULL;
}

/* Ends a coroutine. A thread that has not recorded yet where it is keeps the track's memory. */
static void retire_track(struct tracks *t, struct process_tracks *p, uint32_t index,
			 const struct event *e, calls_emit *emit, void *arg)
{
	struct track *k = p->tracks.at[index];

	forget_track(p, index);
	calls_end(&k->calls, e, emit, arg);
	k->over = true;
	if (!k->lanes)
		discard_track(t, p, index);
}

/* Takes the thread off its track, for another one. */
static void lane_leave(struct tracks *t, struct lane *l, const struct event *e, calls_emit *emit,
		       void *arg)
{
	struct track *k = l->now;

	k->lanes--;
	if (k->running == l->thread) { /* otherwise another thread already runs on it */
		k->running = NO_THREAD;
		if (k->flags & EVENT_SWITCH_ENDS && k->flags & EVENT_SWITCH_FOLLOWED)
			calls_cut(&k->calls, k->left, e, emit, arg);
		if (!k->over && !k->calls.n && k->home == NO_THREAD &&
		    k->flags & EVENT_SWITCH_ENDS) {
			retire_track(t, l->process, l->index, e, emit, arg);
			return;
		}
	}
	if (k->over && !k->lanes)
		discard_track(t, l->process, l->index);
}

/* Numbers a track as a coroutine. A thread's own stack becomes one when another thread runs on
 * it. */
static void number_track(struct process_tracks *p, struct track *k, uint32_t thread)
{
	if (!k->calls.track && k->home != thread) {
		k->calls.track = ++p->coroutines;
		k->home = NO_THREAD;
	}
}

/* Moves the thread to another track of its process. The track it leaves may end by that
 * (lane_leave). */
static void go_to(struct tracks *t, struct lane *l, uint32_t index, const struct event *e,
		  calls_emit *emit, void *arg)
{
	if (index == l->index)
		return;
	lane_leave(t, l, e, emit, arg);
	put_on(l, index);
	number_track(l->process, l->now, e->thread);
}

/* Begins a track for a stack that was not known: nothing is open on it. A track that began at the
 * same place, or was left exactly there, is over: its memory has been used again. */
static void begin_track(struct tracks *t, struct lane *l, uint64_t base, const struct event *e,
			calls_emit *emit, void *arg)
{
	struct process_tracks *p = l->process;
	const uint64_t old[2] = { number_map_get(&p->bases, base), number_map_get(&p->left, base) };
	struct track *k;

	for (unsigned i = 0; i < 2; i++) {
		k = track_at(p, old[i]);
		if (k && k != l->now && k->home == NO_THREAD)
			retire_track(t, p, (uint32_t)old[i], e, emit, arg);
	}
	k = track_new(t, p, NO_THREAD);
	k->base = base;
	k->calls.track = ++p->coroutines;
	number_map_set(&p->bases, base, p->tracks.n - 1);
	go_to(t, l, (uint32_t)p->tracks.n - 1, e, emit, arg);
}

/* --- where a thread has arrived -------------------------------------------------------------- */

/* Whether sp lies in the part of the stack above where the track was left. */
static bool track_holds(const struct track *k, uint64_t sp)
{
	return k->sp && k->sp < sp && (!k->base || sp <= k->base);
}

/* The mark at sp, if the calls that were open then still are. */
static const struct stack_mark *valid_mark(const struct process_tracks *p, uint64_t sp)
{
	uint64_t i = number_map_get(&p->marked, sp);
	const struct stack_mark *m = i < p->marks.n ? &p->marks.at[i] : NULL;
	const struct track *k = m ? track_at(p, m->track) : NULL;

	if (!k || k->calls.n < m->depth ||
	    (m->depth && k->calls.at[m->depth - 1].begin != m->begin))
		return NULL;
	return m;
}

/* Puts the thread where the setjmp marked at sp returns again. False: there is no valid mark. */
static bool arrived_at(struct tracks *t, struct lane *l, uint64_t sp, const struct event *e,
		       calls_emit *emit, void *arg)
{
	const struct stack_mark *m = valid_mark(l->process, sp);

	if (!m)
		return false;
	go_to(t, l, m->track, e, emit, arg);
	calls_cut(&l->now->calls, m->depth, e, emit, arg);
	return true;
}

/* The newest SEARCH_MAX tracks are looked at, which bounds a search. */
static size_t first_searched(const struct process_tracks *p)
{
	return p->tracks.n > SEARCH_MAX ? p->tracks.n - SEARCH_MAX : 0;
}

/* The innermost stack, of those that were left, which is known to reach up to sp; NUMBER_NONE:
 * none. */
static uint64_t track_holding(const struct process_tracks *p, uint64_t sp)
{
	uint64_t best = NUMBER_NONE;

	for (size_t i = first_searched(p); i < p->tracks.n; i++) {
		const struct track *k = p->tracks.at[i];

		if (k && k->running == NO_THREAD && k->base && track_holds(k, sp) &&
		    (best == NUMBER_NONE || k->base < p->tracks.at[best]->base))
			best = i;
	}
	return best;
}

/* Whether the thread is still on its track, and sp is further up. */
static bool lane_stays(const struct lane *l, uint64_t sp)
{
	return l->now->running == l->thread && track_holds(l->now, sp);
}

/* Whether the exit belongs to the call by which a track was left; then that track goes on. */
static bool lane_resumed(struct tracks *t, struct lane *l, const struct event *e, calls_emit *emit,
			 void *arg)
{
	uint64_t index = number_map_get(&l->process->left, l->at);
	struct track *k = track_at(l->process, index);

	if (!k || !(k->flags & EVENT_SWITCH_FOLLOWED) || k->left >= k->calls.n)
		return false;
	go_to(t, l, (uint32_t)index, e, emit, arg);
	calls_return(&k->calls, k->left, e, emit, arg);
	return true;
}

/* An exit that no track waits for: the thread returned into the middle of a stack. */
static void arrived_by_exit(struct tracks *t, struct lane *l, const struct event *e,
			    calls_emit *emit, void *arg)
{
	uint64_t index = track_holding(l->process, l->at);
	bool here = lane_stays(l, l->at);

	/* Stacks may lie within a frame of another stack: it is the innermost one. */
	if (here && (index == NUMBER_NONE ||
		     (l->now->base && l->now->base <= l->process->tracks.at[index]->base)))
		return;
	if (index != NUMBER_NONE) {
		go_to(t, l, (uint32_t)index, e, emit, arg);
		return;
	}
	t->strays++;
	begin_track(t, l, l->at, e, emit, arg);
}

/* Whether some track was left from within fn. A process has few such functions (swapcontext and its
 * like), so that a list does. */
static bool is_leaver(const struct process_tracks *p, uint32_t fn)
{
	for (size_t i = 0; i < p->leavers.n; i++)
		if (p->leavers.at[i] == fn)
			return true;
	return false;
}

/* The track that was left from within fn, in whose frame a call was made at sp: it was resumed
 * there. The nearest above sp, within NEAR. */
static uint64_t resumed_inside(const struct process_tracks *p, uint32_t fn, uint64_t sp)
{
	uint64_t best = NUMBER_NONE;

	if (!is_leaver(p, fn))
		return NUMBER_NONE;
	for (size_t i = first_searched(p); i < p->tracks.n; i++) {
		const struct track *k = p->tracks.at[i];

		if (k && k->running == NO_THREAD && k->fn == fn && k->sp > sp &&
		    k->sp - sp < NEAR &&
		    (best == NUMBER_NONE || k->sp < p->tracks.at[best]->sp))
			best = i;
	}
	return best;
}

/* An entry, or a switch, on a stack that must be found by stack pointer and caller. */
static void arrived_by_call(struct tracks *t, struct lane *l, const struct event *e,
			    calls_emit *emit, void *arg)
{
	struct process_tracks *p = l->process;
	uint64_t index = number_map_get(&p->left, l->at);
	struct track *k = track_at(p, index);
	uint32_t caller = site_caller(t->info, l->now->calls.map, p->image, l->at_site, e->tsc);
	size_t open;

	if (k && k->flags & EVENT_SWITCH_FOLLOWED && e->kind == EVENT_TAIL) {
		/* a piece of the switch behind it; the exit is still to come */
		go_to(t, l, (uint32_t)index, e, emit, arg);
		return;
	}
	if (k && !(k->flags & EVENT_SWITCH_FOLLOWED) &&
	    (l->at != k->base || e->kind == EVENT_SWITCH)) {
		go_to(t, l, (uint32_t)index, e, emit, arg); /* behind the call by which it left */
		return;
	}
	open = l->at_site && lane_stays(l, l->at) ? calls_find(&l->now->calls, caller) : SIZE_MAX;
	if (open != SIZE_MAX) {
		calls_cut(&l->now->calls, open + 1, e, emit, arg);
		return;
	}
	if (l->target && lane_stays(l, l->target) && l->at <= l->target &&
	    l->target - l->at < NEAR) {
		/* a longjmp up the stack, to where no mark was made */
		if (l->outermost)
			calls_cut(&l->now->calls, 0, e, emit, arg);
		return;
	}
	index = l->at_site ? resumed_inside(p, caller, l->at) : NUMBER_NONE;
	if (index != NUMBER_NONE)
		go_to(t, l, (uint32_t)index, e, emit, arg);
	else
		begin_track(t, l, l->at, e, emit, arg);
}

/* The thread is on its track: that one can only be resumed after it was left again. */
static void lane_arrived(struct lane *l)
{
	if (number_map_get(&l->process->left, l->now->sp) == l->index)
		number_map_remove(&l->process->left, l->now->sp);
	l->now->sp = 0;
	l->leaving = l->unwinding = false;
	l->target = 0;
}

/* Finds the stack of event e, the first since the thread may have left its own. True: e has been
 * dealt with. */
static bool lane_arrive(struct tracks *t, struct lane *l, const struct event *e, calls_emit *emit,
			void *arg)
{
	bool exit = e->kind == EVENT_EXIT, done = false;

	l->told = false;
	if (l->leaving && l->now->running == l->thread && l->at == l->now->sp &&
	    (e->kind == EVENT_TAIL ||
	     (e->kind == EVENT_SWITCH && e->flags & EVENT_SWITCH_FOLLOWED)))
		/* a jump from the call that leaves: the thread is still in that call */
		return false;
	if (!l->leaving) {
		/* The first event on a stack shows where it begins. */
		if (!l->now->base && !l->now->calls.n)
			l->now->base = l->at;
		return false;
	}
	if (l->unwinding)
		calls_landed(&l->now->calls, e, emit, arg);
	else if (exit && lane_resumed(t, l, e, emit, arg))
		done = true;
	else if (l->target && arrived_at(t, l, l->target, e, emit, arg))
		;
	else if (exit)
		arrived_by_exit(t, l, e, emit, arg);
	else if (l->target || !arrived_at(t, l, l->at, e, emit, arg))
		arrived_by_call(t, l, e, emit, arg);
	lane_arrived(l);
	return done;
}

/* --- events ---------------------------------------------------------------------------------- */

/* Remembered for resumed_inside(), which searches tracks only for callers that ever left one. */
static void note_leaver(struct process_tracks *p, uint32_t fn)
{
	if (fn != FN_NONE && !is_leaver(p, fn))
		*vec_add(&p->leavers) = fn;
}

/* Notes that the thread may leave its stack by the call that is open. */
static void take_switch(struct lane *l, const struct event *e)
{
	struct process_tracks *p = l->process;
	struct track *k = l->now;
	bool followed = e->flags & EVENT_SWITCH_FOLLOWED && k->calls.n;

	if (e->flags & EVENT_SWITCH_UNWINDS) {
		k->calls.unwinder = k->calls.n;
		l->unwinding = l->leaving = true;
		return;
	}
	if (l->unwinding)
		return; /* the unwinder's own way to put registers back */
	if (number_map_get(&p->left, k->sp) == l->index)
		number_map_remove(&p->left, k->sp);
	k->sp = e->count;
	k->flags = (uint8_t)(followed ? e->flags : e->flags & ~EVENT_SWITCH_FOLLOWED);
	k->left = followed ? calls_top(&k->calls) : k->calls.n;
	k->fn = followed ? k->calls.at[k->calls.n - 1].fn : l->last_fn;
	l->last_fn = FN_NONE;
	note_leaver(p, k->fn);
	if (!(k->flags & EVENT_SWITCH_ENDS))
		number_map_set(&p->left, k->sp, l->index);
	if (e->begin)
		l->target = e->begin;
	l->leaving = true;
}

/* Notes a setjmp: the open calls at this stack pointer. */
static void take_mark(struct lane *l, const struct event *e)
{
	struct process_tracks *p = l->process;
	const struct calls *c = &l->now->calls;
	uint64_t i = number_map_get(&p->marked, e->count);

	if (i >= p->marks.n) {
		i = p->marks.n;
		(void)vec_add(&p->marks);
		number_map_set(&p->marked, e->count, i);
	}
	p->marks.at[i] = (struct stack_mark){ l->index, c->n, c->n ? c->at[c->n - 1].begin : 0 };
}

/* Adds a sleep to the thread's list. Its track refers to the list also after the thread leaves it,
 * so that calls of the track stay right. */
static void take_sleep(struct lane *l, const struct event *e)
{
	if (!l->sleeps)
		l->sleeps = mem_zalloc(sizeof(*l->sleeps));
	sleeps_add(l->sleeps, e->begin,
		   e->begin + e->count < e->begin ? e->begin : e->begin + e->count);
	l->now->calls.sleeps = l->sleeps;
}

/* Hands a step on. Calls of the thread's own stack are open on its track meanwhile, so that events
 * stand at their depth. */
static void take_ready_step(struct lane *l, const struct event *e, calls_emit *emit, void *arg)
{
	const struct call_step *s = e->step;
	struct calls *c = &l->now->calls;

	if (s->kind == CALL_ENTER && !s->track && s->depth == c->n)
		calls_push(c, e, s->flags);
	else if (s->kind == CALL_LEAVE && !s->track && s->depth + 1 == c->n)
		c->n--;
	c->counts.unwound += s->kind == CALL_LEAVE && s->flags & CALL_UNWOUND;
	emit(arg, s);
}

/* A chain in order of how common the events are; the first five do not concern the stack. */
void tracks_feed_slow(struct tracks *t, struct lane *l, const struct event *e, calls_emit *emit,
		      void *arg)
{
	if (e->kind == EVENT_SLEPT) {
		take_sleep(l, e);
		return;
	}
	if (e->kind == EVENT_STEP) {
		take_ready_step(l, e, emit, arg);
		return;
	}
	if (e->kind == EVENT_OPEN) {
		struct call_step s = calls_step(&l->now->calls, e, CALL_ENTER);

		s.depth = (uint32_t)e->count;
		emit(arg, &s);
		return;
	}
	if (e->kind == EVENT_TRACE && e->fn == EVENT_LOCK_ROW)
		return; /* sums, which nothing happened at */
	if (e->kind == EVENT_TRACE) {
		struct call_step s = calls_step(&l->now->calls, e, CALL_EVENT);

		s.depth = (uint32_t)l->now->calls.n;
		s.event = e;
		emit(arg, &s);
		return;
	}
	if (e->kind == EVENT_AT) {
		l->told = true;
		l->at = e->count;
		l->at_site = e->site;
		l->outermost = e->flags & EVENT_AT_OUTERMOST;
		return;
	}
	if (l->told && e->kind != EVENT_LOST && lane_arrive(t, l, e, emit, arg))
		return;
	if (e->kind == EVENT_SWITCH)
		take_switch(l, e);
	if (e->kind == EVENT_MARK)
		take_mark(l, e);
	if (e->kind == EVENT_SWITCH || e->kind == EVENT_MARK)
		return;
	if (e->kind == EVENT_ENTRY_ONLY)
		l->last_fn = e->fn;
	calls_feed(&l->now->calls, e, emit, arg);
}

uint32_t track_thread(const struct track *k)
{
	return k->home != NO_THREAD ? k->home : k->latest;
}

/* The end of the trace for one track. */
static void end_track(struct track *k, const struct event *at, calls_emit *emit, void *arg)
{
	struct event own = *at;

	own.thread = track_thread(k);
	calls_end(&k->calls, &own, emit, arg);
}

/* Ends the calls of tracks that nobody runs on, too: a coroutine may be left for good. */
void tracks_end(struct tracks *t, const struct event *at, calls_emit *emit, void *arg)
{
	for (size_t i = 0; i < t->processes.n; i++) {
		const struct process_tracks *p = t->processes.at[i];

		for (size_t k = 0; k < p->tracks.n; k++)
			if (p->tracks.at[k])
				end_track(p->tracks.at[k], at, emit, arg);
	}
}

struct calls_counts tracks_counts(const struct tracks *t)
{
	struct calls_counts sum = t->ended;

	for (size_t i = 0; i < t->processes.n; i++) {
		const struct process_tracks *p = t->processes.at[i];

		for (size_t k = 0; k < p->tracks.n; k++)
			if (p->tracks.at[k])
				add_counts(&sum, &p->tracks.at[k]->calls.counts);
	}
	return sum;
}
