/* SPDX-License-Identifier: MIT */
/* The uncommon events of calls.h, whose opening comment states the rules. Reports, instances and
 * the profile feed it through tracks.c. Nothing fails: records that make no sense are counted
 * (calls_counts), and the stack goes on with its best guess. */
#include "trace/calls.h"

#include <string.h>

/* Open calls up to which each is looked at, which is as cheap. */
#define WALK_MAX 64

void calls_init(struct calls *c, const struct trace_info *info, struct site_map *map,
		uint32_t image)
{
	const bool kernel = trace_info_has_kernel(info) && image == TRACE_KERNEL_IMAGE;

	*c = (struct calls){ .info = info, .map = map, .image = image, .unwinder = SIZE_MAX };
	if (info->net && !kernel)
		c->cost = info->cost;
}

void calls_free(struct calls *c)
{
	free(c->at);
	vec_free(&c->dead);
	call_index_free(&c->index);
}

void calls_grow(struct calls *c)
{
	c->cap = c->cap ? 2 * c->cap : 16;
	c->at = mem_realloc(c->at, c->cap, sizeof(*c->at));
}

/* Ends the top call and emits its step. */
static void end_top(struct calls *c, const struct event *e, unsigned flags, calls_emit *emit,
		    void *arg)
{
	struct call_step s;

	s = calls_pop(c, e, flags);
	dead_runs_end(&c->dead, c->n);
	s.flags &= (uint16_t)~CALL_DEAD;
	if (flags & CALL_UNWOUND)
		c->counts.unwound++;
	emit(arg, &s);
}

/* Ends all calls above the lowest n frames. */
static void end_down_to(struct calls *c, size_t n, const struct event *e, unsigned flags,
			calls_emit *emit, void *arg)
{
	while (c->n > n)
		end_top(c, e, flags, emit, arg);
}

/* Index of the entry that frame i shares its exit with: i itself, or the beginning of its chain of
 * tail entries. */
static size_t group_of(const struct calls *c, size_t i)
{
	while (i && c->at[i].flags & CALL_TAIL)
		i--;
	return i;
}

/* Whether the open calls are so many that the index is asked first. A walk then ends at a call that
 * is there, and its caller ends all calls that it came by. */
static bool is_deep(struct calls *c)
{
	if (c->n <= WALK_MAX)
		return false;
	call_index_update(&c->index, c->at, c->n);
	return true;
}

/* The nearest call below `group`, the top one, that `caller` made, as the beginning of its chain of
 * tail entries; SIZE_MAX if there is none. It has not made the top one. */
static size_t call_made_by(struct calls *c, uint32_t caller, size_t group)
{
	if (is_deep(c) && !call_index_is_maker(&c->index, caller))
		return SIZE_MAX;
	while (group > 0) {
		group = group_of(c, group - 1);
		if (group && c->at[group - 1].fn == caller)
			return group;
	}
	return SIZE_MAX;
}

static void count_unmatched_exit(struct calls *c)
{
	c->counts.unmatched_exits++;
}

/* The ends of functions whose names are known. */
enum ending { ENDS_SOMEHOW, ENDS_BY_UNWINDING, ENDS_BY_RETURNING };

static enum ending ending_of(const struct calls *c, uint32_t fn)
{
	static const struct { const char *name; enum ending ending; } known[] = {
		{ "longjmp", ENDS_BY_UNWINDING }, { "_longjmp", ENDS_BY_UNWINDING },
		{ "siglongjmp", ENDS_BY_UNWINDING }, { "__longjmp_chk", ENDS_BY_UNWINDING },
		{ "__cxa_throw", ENDS_BY_UNWINDING }, { "__cxa_rethrow", ENDS_BY_UNWINDING },
		{ "_Unwind_RaiseException", ENDS_BY_UNWINDING }, { "_Unwind_Resume", ENDS_BY_UNWINDING },
		{ "_Unwind_ForcedUnwind", ENDS_BY_UNWINDING },
		/* where a catch begins, often its first call */
		{ "__cxa_begin_catch", ENDS_BY_RETURNING },
	};
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(c->info, c->image, fn, &m);
	char name[32];

	/* A name that does not fit is none of these. */
	if (!f || trace_function_name(m, f, name, sizeof(name)) >= (int)sizeof(name))
		return ENDS_SOMEHOW;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i].name))
			return known[i].ending;
	return ENDS_SOMEHOW;
}

/* Decides between two calls that may have returned to the caller: the top one, if it was made after
 * the jump, or the one at `below`, if the jump ended there. Both end now; the question is which was
 * not abandoned. */
static bool top_returned(const struct calls *c, uint32_t site, size_t group, size_t below)
{
	uint32_t known = site_learned(c->map, site);

	if (known == c->at[group].fn || known == c->at[below].fn)
		return known != c->at[below].fn;
	if (ending_of(c, c->at[group].fn) != ENDS_SOMEHOW)
		return ending_of(c, c->at[group].fn) == ENDS_BY_RETURNING;
	for (size_t i = below; i < group; i++)
		if (ending_of(c, c->at[i].fn) == ENDS_BY_UNWINDING)
			return true;
	return false;
}

/* The caller is open, but further below than the call under the top one: calls were abandoned. See
 * the top of calls.h. */
static void exit_below(struct calls *c, const struct event *e, size_t group, size_t below,
		       calls_emit *emit, void *arg)
{
	size_t first = below + 1;

	if (top_returned(c, e->site, group, below)) {
		site_learn(c->map, e->site, c->at[group].fn);
		end_down_to(c, group, e, 0, emit, arg);
		end_down_to(c, below, e, CALL_UNWOUND, emit, arg);
		return;
	}
	/* Tail calls of the one that returned end with it, not as abandoned. */
	while (first < c->n && c->at[first].flags & CALL_TAIL)
		first++;
	end_down_to(c, first, e, CALL_UNWOUND, emit, arg);
	end_down_to(c, below, e, 0, emit, arg);
}

/* The kernel's returns name their function. One that is not open began before the trace, or belongs
 * to another user of function_graph (kernels from 6.11 mix them up). */
static void exit_kernel(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	size_t n = calls_find(c, e->fn);

	if (n == SIZE_MAX)
		count_unmatched_exit(c);
	else
		calls_return(c, n, e, emit, arg);
}

/* An exit names the site of the call that it ends, so it is held against the open calls: a mismatch
 * tells of exits that were lost or unwound. */
static void feed_exit(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	uint32_t caller = site_caller(c->info, c->map, c->image, e->site, e->tsc), known;
	size_t group, below;

	/* Too deep to be on the stack. */
	if (c->hidden) {
		c->hidden--;
		return;
	}
	if (e->flags & EVENT_KERNEL) {
		exit_kernel(c, e, emit, arg);
		return;
	}
	if (!c->n) {
		count_unmatched_exit(c);
		return;
	}
	group = group_of(c, c->n - 1);
	known = site_learned(c->map, e->site);
	if (caller & SITE_UNHOOKED) {
		end_down_to(c, group, e, 0, emit, arg);
		return;
	}
	if (group && c->at[group - 1].fn == caller) {
		/* Records were lost in between: if the site is known to call another function, this
		 * is not its exit. */
		if (c->at[group].flags & CALL_DOUBTFUL && known != FN_NONE &&
		    known != c->at[group].fn) {
			count_unmatched_exit(c);
			return;
		}
		site_learn(c->map, e->site, c->at[group].fn);
		end_down_to(c, group, e, 0, emit, arg);
		return;
	}
	if (c->at[c->n - 1].fn == caller) {
		count_unmatched_exit(c);
		return;
	}
	below = call_made_by(c, caller, group);
	/* The caller is not traced: trust the top. */
	if (below == SIZE_MAX)
		end_down_to(c, group, e, 0, emit, arg);
	else
		exit_below(c, e, group, below, emit, arg);
}

/* Calls deeper than CALLS_DEPTH_MAX are only counted, so that their exits can be left out. */
static void feed_entry(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	struct call_step s = calls_step(c, e, CALL_ENTER);

	if (c->hidden || c->n >= CALLS_DEPTH_MAX) {
		c->hidden++;
		return;
	}
	s.depth = (uint32_t)c->n;
	s.flags = e->flags & EVENT_HANDLER;
	calls_push(c, e, s.flags);
	calls_tell_arguments(&s, e);
	emit(arg, &s);
}

/* A function that was jumped to: it returns for the caller that jumped. */
static void feed_tail(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	struct call_step s = calls_step(c, e, CALL_ENTER);

	if (c->hidden || c->n >= CALLS_DEPTH_MAX || (c->n && c->at[c->n - 1].fn == e->fn))
		return; /* shares its exit with an entry that is there, or hidden already */
	s.depth = (uint32_t)c->n;
	s.flags = CALL_TAIL;
	calls_push(c, e, c->n ? CALL_TAIL : 0);
	calls_tell_arguments(&s, e);
	emit(arg, &s);
}

static void feed_only(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	struct call_step s = calls_step(c, e, CALL_ONLY);

	s.depth = (uint32_t)c->n;
	if (c->cost.total && c->n)
		c->at[c->n - 1].handlers += calls_cost(c, c->cost.total, true);
	calls_tell_arguments(&s, e);
	emit(arg, &s);
}

/* Whether a span still exceeds tracing_thresh without sleep. The program compared its whole
 * duration, sleep included. */
static bool is_long(const struct trace_info *info, uint64_t ticks)
{
	return trace_clock_delta_ns(&info->clock, ticks) >= info->thresh_ns;
}

/* A call that is told as a whole, at its end. Time slept may make it shorter than the threshold:
 * then it is left out. */
static void feed_span(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	struct call_step s = calls_step(c, e, CALL_SPAN);

	s.begin = e->begin < e->tsc ? e->begin : e->tsc;
	s.slept = c->sleeps ? sleeps_between(c->sleeps, s.begin, s.tsc) : 0;
	s.depth = (uint32_t)e->count;
	calls_tell_value(&s, e);
	if (!s.slept || is_long(c->info, s.tsc - s.begin - s.slept))
		emit(arg, &s);
}

/* Ends calls that an unwinder has left, as soon as nothing is above them. */
static void drop_dead(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	while (dead_runs_on_top(&c->dead, c->n))
		end_top(c, e, CALL_UNWOUND, emit, arg);
}

/* Marks the topmost call below `from` that an unwinder may still leave, with all that share its
 * exit. Returns the index of the first of them; 0: nothing is left below. */
static size_t mark_dead(struct calls *c, size_t from)
{
	size_t k = c->dead.n, high = dead_runs_pass(&c->dead, &k, from), low = high, floor;

	if (!high)
		return 0;
	floor = k ? c->dead.at[k - 1].high : 0;
	do
		c->at[--low].flags |= CALL_DEAD;
	while (low > floor && c->at[low].flags & CALL_TAIL);
	dead_runs_add(&c->dead, low, high);
	return low;
}

/* The unwinder leaves n calls, below its own. Those too deep to be on the stack come first. The
 * number is the program's to choose. */
static void feed_unwind(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	uint64_t n = e->count;
	uint64_t hidden = n < c->hidden ? n : c->hidden;
	size_t from = c->unwinder < c->n ? c->unwinder : c->n;

	c->hidden -= hidden;
	for (n -= hidden; n && from; n--)
		from = mark_dead(c, from);
	drop_dead(c, e, emit, arg);
}

void calls_landed(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	if (c->unwinder < c->n)
		end_down_to(c, c->unwinder, e, CALL_UNWOUND, emit, arg);
	c->unwinder = SIZE_MAX;
	drop_dead(c, e, emit, arg);
}

void calls_cut(struct calls *c, size_t n, const struct event *e, calls_emit *emit, void *arg)
{
	c->hidden = c->n > n ? 0 : c->hidden;
	end_down_to(c, n, e, CALL_UNWOUND, emit, arg);
}

void calls_return(struct calls *c, size_t n, const struct event *e, calls_emit *emit, void *arg)
{
	size_t first = n + 1;

	while (first < c->n && c->at[first].flags & CALL_TAIL)
		first++;
	calls_cut(c, first, e, emit, arg);
	end_down_to(c, n, e, 0, emit, arg);
}

size_t calls_find(struct calls *c, uint32_t fn)
{
	size_t i = c->n;

	if (is_deep(c) && !call_index_is_open(&c->index, fn))
		return SIZE_MAX;
	while (i && c->at[i - 1].fn != fn)
		i--;
	return i - 1;
}

size_t calls_top(const struct calls *c)
{
	return c->n ? group_of(c, c->n - 1) : 0;
}

/* A gap in the thread's records. */
static void feed_lost(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	struct call_step s = calls_step(c, e, CALL_LOST);

	s.count = e->count;
	s.depth = (uint32_t)c->n;
	c->counts.lost += e->count;
	/* Any of the open calls may have ended in the gap. Those that another gap made doubtful are
	 * the outermost. */
	for (size_t i = c->n; i && !(c->at[i - 1].flags & CALL_DOUBTFUL); i--)
		c->at[i - 1].flags |= CALL_DOUBTFUL;
	emit(arg, &s);
}

void calls_feed_slow(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	static void (*const feed[EVENT_KINDS_N])(struct calls *, const struct event *, calls_emit *,
						   void *) = {
		[EVENT_ENTRY] = feed_entry, [EVENT_TAIL] = feed_tail, [EVENT_EXIT] = feed_exit,
		[EVENT_CALL] = feed_only, [EVENT_SPAN] = feed_span, [EVENT_ENTRY_ONLY] = feed_only,
		[EVENT_UNWIND] = feed_unwind, [EVENT_LOST] = feed_lost,
	};

	if (c->dead.n && e->kind != EVENT_LOST)
		drop_dead(c, e, emit, arg);
	if (e->kind < EVENT_KINDS_N && feed[e->kind])
		feed[e->kind](c, e, emit, arg);
}

void calls_end(struct calls *c, const struct event *at, calls_emit *emit, void *arg)
{
	c->hidden = 0;
	end_down_to(c, 0, at, CALL_UNFINISHED, emit, arg);
}
