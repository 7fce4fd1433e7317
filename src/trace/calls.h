/* SPDX-License-Identifier: MIT */
/* Turns one thread's events into calls: which are open, how long each lasted, at what depth.
 *
 * An exit record names its call site, not the function that ends, so a stack of open calls says
 * which one it was. Where calls end without an exit (longjmp, exceptions) the stack holds too many,
 * and where records were lost it may hold anything. The site repairs it: it lies in the function
 * that made the call, so that function must be the one below.
 *
 *   - The caller is the one below: the call on top returned.
 *   - It is open further down: calls in between ended without a record. The call that
 *     returned is the one right above the caller, and everything over it was abandoned;
 *     or, when this site is known to call the function on top, or a longjmp or throw lies
 *     below it, that one returned and what lies between is what was abandoned earlier.
 *   - It is the function on top itself: its callee's entry is missing; nothing ends.
 *   - It is not open (a library that is not traced calls back): the top is trusted. Functions
 *     that are not hooked are not looked for: that would cost the depth of the stack.
 *
 * A tail entry nests in the entry before it, and both end at the one exit. A tail entry of the
 * function on top is a loop to its own first instruction: not a call.
 *
 * A signal's handler (EVENT_HANDLER) nests in the call it interrupted. Its time is not counted as
 * that call's, nor as that of the calls below: they seem to have begun later by as much, unless
 * trace_info.charge_handlers is set.
 *
 * Time that the thread slept while a call was open is not the call's, if it is known (EVENT_SLEPT):
 * the call seems to have begun later.
 *
 * If trace_info.net is set, what recording a call cost is left out in the same way: its own
 * duration ends up shorter by the part between its stamps, and those of the calls below by all of
 * it. A duration does not become negative.
 *
 * Not locked: each user feeds its own. */
#pragma once
#include "trace/call_index.h"
#include "trace/dead_runs.h"
#include "trace/sites.h"
#include "trace/event.h"
#include "trace/sleeps.h"

enum call_kind {
	CALL_ENTER, /* fn begins at tsc, depth is its own */
	CALL_LEAVE, /* fn, entered at begin, ends at tsc */
	CALL_ONLY,  /* fn was called; its end is not followed */
	CALL_SPAN,  /* fn, from begin to tsc, reported at its end */
	CALL_LOST,  /* count records of this thread are missing here */
	CALL_EVENT, /* an event of the program's: event; depth: the number of open calls */
};
#define CALL_KINDS_N (CALL_EVENT + 1)

enum call_flag {
	CALL_UNWOUND = 1,    /* LEAVE: the call did not return (longjmp, exception) */
	CALL_DOUBTFUL = 2,   /* records were lost while it was open */
	CALL_TAIL = 4,       /* entered by a jump */
	CALL_UNFINISHED = 8, /* LEAVE: still open at the end of the trace */
	CALL_DEAD = 16,      /* an unwinder has left it: it ends when those above it have ended */
	CALL_VALUE = 32,     /* LEAVE, SPAN: what it returned is known */
	/* ENTER, LEAVE: a signal's handler, which interrupted the call below it */
	CALL_HANDLER = EVENT_HANDLER,
	CALL_ARGUMENTS = EVENT_ARGUMENTS, /* ENTER, ONLY: `event` has them */
	CALL_FLOAT = 256,    /* LEAVE, SPAN: the value is the lower half of xmm0 */
	CALL_TEXT = 512,     /* LEAVE: the string that was returned is in `text` */
	/* LEAVE: in `text` are registers, or memory (EVENT_REGISTERS, EVENT_MEMORY) */
	CALL_REGISTERS = 1024, CALL_MEMORY = 2048,
	CALL_BLOCK = CALL_REGISTERS | CALL_MEMORY,
	CALL_OTHERS = 4096,  /* set by a record filter: another instance's call (record_filter.c) */
};

/* A flag of frames alone, since steps have 16 bits for flags: the index has the call
 * (call_index.h). */
#define CALL_NOTED (1u << 16)

/* A returned value: rax, or CALL_FLOAT; and CALL_TEXT or one of CALL_BLOCK. */
struct call_value {
	uint64_t number;
	/* As long as an event's payload. bytes: of the string, and 1; 0: it could not be read. */
	const char *text;
	/* CALL_VALUE, CALL_FLOAT, CALL_TEXT, CALL_BLOCK; 0: nothing is known */
	uint32_t bytes, flags;
};

struct call_step {
	uint64_t tsc;
	uint64_t begin;     /* LEAVE: later by what the thread slept; SPAN: not adjusted */
	union {
		uint64_t slept;  /* SPAN: of tsc - begin, how much the thread slept */
		uint64_t inside; /* LEAVE: of tsc - begin, how much was in calls it made */
		uint64_t count;  /* LOST */
		/* EVENT, CALL_ARGUMENTS: while the step is emitted */
		const struct event *event;
	};
	uint64_t value;     /* CALL_VALUE */
	const char *text;   /* CALL_TEXT, CALL_BLOCK: as struct call_value */
	uint32_t text_bytes;
	uint32_t thread, fn, site, depth;
	uint32_t track; /* 0: the thread's own stack; else a coroutine, numbered in its process */
	uint16_t cpu;
	uint8_t kind;   /* enum call_kind */
	uint16_t flags; /* enum call_flag */
};

/* The value that the call returned; its text is the step's, and lives no longer. */
static inline struct call_value call_step_value(const struct call_step *s)
{
	return (struct call_value){ s->value, s->text, s->text_bytes,
				    s->flags & (CALL_VALUE | CALL_FLOAT | CALL_TEXT | CALL_BLOCK) };
}

/* When the call began, moved later by what its thread slept. */
static inline uint64_t call_step_begin(const struct call_step *s)
{
	return s->kind == CALL_SPAN ? s->begin + s->slept : s->begin;
}

/* Called for each step; the step is valid during the call. */
typedef void calls_emit(void *arg, const struct call_step *step);

struct call_frame {
	uint64_t begin, inside;
	/* ticks of handlers that interrupted it, or calls it made, and have ended; and what
	 * recording its calls cost, if that is left out */
	uint64_t handlers;
	/* CALL_DOUBTFUL, CALL_TAIL, CALL_DEAD, CALL_HANDLER; CALL_NOTED */
	uint32_t fn, flags;
};

struct calls_counts {
	uint64_t unwound;         /* calls that ended without an exit */
	uint64_t unmatched_exits; /* exits whose entry is missing */
	uint64_t lost;            /* records */
};

struct calls {
	struct call_frame *at; /* open calls, outermost first */
	size_t n, cap;
	uint64_t hidden;       /* open calls beyond CALLS_DEPTH_MAX */
	struct dead_runs dead; /* those with CALL_DEAD */
	struct call_index index; /* of deep stacks, those with CALL_NOTED */
	/* calls from this one on are the unwinder's own; SIZE_MAX: none runs */
	size_t unwinder;
	uint32_t track;
	const struct sleeps *sleeps; /* of the thread that runs on it; NULL: none */
	const struct trace_info *info;
	struct site_map *map;
	uint32_t image;
	/* The cost of recording a call (struct trace_cost), if that is left out; and the rest of
	 * the last call's, below a tick. */
	struct trace_cost cost;
	uint32_t cost_rest;
	struct calls_counts counts;
};

/* No program has so many open calls; a damaged file might. */
#define CALLS_DEPTH_MAX (1u << 22)

/* Prepares *c for a thread of `image`. map: of the same image, shared with its other threads if the
 * order in which their events come is always the same; must outlive c. */
void calls_init(struct calls *c, const struct trace_info *info, struct site_map *map,
		uint32_t image);
void calls_free(struct calls *c);

/* Takes one event and emits the steps it makes, in order. */
static inline void calls_feed(struct calls *c, const struct event *e, calls_emit *emit, void *arg);
/* Ends the trace at at->tsc: emits a LEAVE (UNFINISHED) for every open call, innermost first. */
void calls_end(struct calls *c, const struct event *at, calls_emit *emit, void *arg);

/* Ends all calls but the lowest n: control has left them for good. */
void calls_cut(struct calls *c, size_t n, const struct event *e, calls_emit *emit, void *arg);
/* Ends call n (and what it went on to by tail calls) as returned at e, and those above it as
 * abandoned. */
void calls_return(struct calls *c, size_t n, const struct event *e, calls_emit *emit, void *arg);
/* Index of the topmost open call of function fn; SIZE_MAX if there is none. */
size_t calls_find(struct calls *c, uint32_t fn);
/* Index of the first of the calls that share the exit of the top one. */
size_t calls_top(const struct calls *c);
/* An unwinder has found the frame in which it goes on: ends its own calls and those it left. */
void calls_landed(struct calls *c, const struct event *e, calls_emit *emit, void *arg);

/* --- the two common cases, inline; the rest is in calls.c ------------------------------ */

/* calls_feed() for all other cases; any event. */
void calls_feed_slow(struct calls *c, const struct event *e, calls_emit *emit, void *arg);
/* Makes room for one more call at least. */
void calls_grow(struct calls *c);

/* Opens a call on top of the others; flags: of enum call_flag. */
static inline void calls_push(struct calls *c, const struct event *e, uint32_t flags)
{
	if (__builtin_expect(c->n == c->cap, 0))
		calls_grow(c);
	c->at[c->n++] = (struct call_frame){ e->tsc, 0, 0, e->fn, flags };
}

/* Returns a step with all that the event alone says. */
static inline struct call_step calls_step(const struct calls *c, const struct event *e,
					  enum call_kind kind)
{
	return (struct call_step){
		.tsc = e->tsc, .begin = e->tsc, .thread = e->thread, .fn = e->fn,
		.site = e->site, .track = c->track, .cpu = e->cpu, .kind = (uint8_t)kind,
	};
}

/* Adds the event's arguments; they are the event's own, and valid as long as it is. */
static inline void calls_tell_arguments(struct call_step *s, const struct event *e)
{
	if (__builtin_expect(e->flags & EVENT_ARGUMENTS, 0)) {
		s->flags |= CALL_ARGUMENTS;
		s->event = e;
	}
}

/* Adds the returned value, if the event has one. */
static inline void calls_tell_value(struct call_step *s, const struct event *e)
{
	s->value = e->value;
	s->flags |= e->flags & EVENT_VALUE ? CALL_VALUE : 0;
	if (__builtin_expect(e->flags & (EVENT_FLOAT | EVENT_TEXT), 0)) {
		s->flags |= e->flags & EVENT_FLOAT     ? CALL_FLOAT
			    : e->flags & EVENT_REGISTERS ? CALL_REGISTERS
			    : e->flags & EVENT_MEMORY    ? CALL_MEMORY
							 : CALL_TEXT;
		s->text = e->flags & EVENT_TEXT ? (const char *)e->payload : NULL;
		s->text_bytes = e->flags & EVENT_TEXT ? (uint32_t)e->count : 0;
	}
}

/* Adds the ticks of the frame that was on top, handlers and all, to its caller's. A handler's go to
 * `handlers`, unless the reader wants them counted as the caller's. */
static inline void calls_charge(struct calls *c, const struct call_frame *f, uint64_t ticks)
{
	struct call_frame *below = c->n ? &c->at[c->n - 1] : NULL;

	if (!below)
		return;
	if (__builtin_expect(f->flags & CALL_HANDLER && !c->info->charge_handlers, 0)) {
		below->handlers += ticks;
		return;
	}
	below->handlers += f->handlers;
	below->inside += ticks > f->handlers ? ticks - f->handlers : 0;
}

/* Whole ticks of a cost. A call that did not return, and one whose exit is another's, has one
 * record of two. */
static inline uint64_t calls_cost(struct calls *c, uint32_t cost, bool half)
{
	const uint64_t ticks = (uint64_t)(half ? cost / 2 : cost) + c->cost_rest;

	c->cost_rest = ticks % TRACE_COST_UNIT;
	return ticks / TRACE_COST_UNIT;
}

/* calls_charge() of a call whose recording is to cost nothing. */
static inline void calls_leave_cost_out(struct calls *c, struct call_frame *f, uint64_t ticks,
					unsigned flags)
{
	const bool half = flags & (CALL_UNWOUND | CALL_UNFINISHED) || f->flags & CALL_TAIL;

	f->handlers += calls_cost(c, c->cost.inside, half);
	calls_charge(c, f, ticks);
	if (c->n)
		c->at[c->n - 1].handlers += calls_cost(c, c->cost.total - c->cost.inside, half);
}

/* Takes the top frame off: it ended at e. Clamps every difference at 0, because a thread that moves
 * between CPUs may see stamps go back. */
static inline __attribute__((always_inline)) struct call_step
calls_pop(struct calls *c, const struct event *e, unsigned flags)
{
	struct call_frame *f = &c->at[--c->n];
	struct call_step s = calls_step(c, e, CALL_LEAVE);
	uint64_t ticks = e->tsc > f->begin ? e->tsc - f->begin : 0;

	if (__builtin_expect(c->sleeps != NULL, 0))
		ticks -= sleeps_between(c->sleeps, f->begin, f->begin + ticks);
	if (__builtin_expect(c->cost.total, 0))
		calls_leave_cost_out(c, f, ticks, flags);
	else
		calls_charge(c, f, ticks);
	ticks -= f->handlers < ticks ? f->handlers : ticks;
	s.begin = e->tsc - ticks;
	s.inside = f->inside < ticks ? f->inside : ticks;
	s.fn = f->fn;
	s.depth = (uint32_t)c->n;
	s.flags = (uint16_t)(flags | f->flags);
	if (!(flags & (CALL_UNWOUND | CALL_UNFINISHED)))
		calls_tell_value(&s, e);
	return s;
}

/* The two common cases alone. False: it is another one, and nothing has happened. An event without
 * arguments and text is handed on to nobody, so that it may be in registers. */
static inline __attribute__((always_inline)) bool
calls_feed_common(struct calls *c, const struct event *e, calls_emit *emit, void *arg)
{
	if (e->kind == EVENT_ENTRY && c->n < CALLS_DEPTH_MAX && !c->dead.n) {
		struct call_step s = calls_step(c, e, CALL_ENTER);

		s.depth = (uint32_t)c->n;
		s.flags = e->flags & EVENT_HANDLER;
		calls_push(c, e, s.flags);
		calls_tell_arguments(&s, e);
		emit(arg, &s);
		return true;
	}
	/* The usual exit: nothing doubtful is on top, and its caller is below. */
	if (e->kind == EVENT_EXIT && c->n >= 2 && !c->hidden && !c->at[c->n - 1].flags &&
	    c->at[c->n - 2].fn == site_caller(c->info, c->map, c->image, e->site, e->tsc)) {
		struct call_step s;

		site_learn(c->map, e->site, c->at[c->n - 1].fn);
		s = calls_pop(c, e, 0);
		emit(arg, &s);
		return true;
	}
	return false;
}

/* Takes the stack's next event, and gives the steps that it makes to emit(arg, step): none or
 * several, each valid during the call. In line, because a reader calls it for each record. */
static inline __attribute__((always_inline)) void calls_feed(struct calls *c, const struct event *e,
							     calls_emit *emit, void *arg)
{
	if (!calls_feed_common(c, e, emit, arg))
		calls_feed_slow(c, e, emit, arg);
}
