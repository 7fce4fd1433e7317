/* SPDX-License-Identifier: MIT */
/* The stack tracer's tables. The pump calls stacks_feed for every resolved chunk, profiling.c the
 * rest; all have pump_lock. The deepest stack of a thread is not copied while its calls are still
 * open (`standing`): depth grows call by call, and each step would copy the whole stack. A loss of
 * records loses frames, not the depth, since every record says where it was made. */
#include "instance/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/format.h"
#include "trace/tracks.h"
#include "image/maps.h"
#include "trace/unpack.h"

/* A call on the stack. Its frame's end is as debuggers have it: right above its return address. */
struct frame {
	uint64_t end;      /* 0: not known */
	uint32_t fn, site; /* site: where it was called */
	bool jumped;       /* called in place of the frame before it (a tail call) */
};

typedef VEC(struct frame) frame_list;

/* A thread: its calls now, and its deepest stack. */
struct thread_stack {
	bool follows;          /* tracks and lane are in use */
	struct tracks tracks;
	struct lane *lane;
	frame_list now;        /* by depth */
	/* stack pointer of the call that comes next, from its EVENT_AT; 0: not told */
	uint64_t at;
	uint32_t at_site;

	uint64_t bottom, top;  /* bounds of its own stack; top 0: not known yet */
	bool guessed;          /* the mapping could not be found: top is the highest address seen */
	uint64_t max;          /* bytes */
	uint64_t tsc;          /* time of the deepest stack */
	size_t n;              /* number of calls on the deepest stack */
	bool standing;         /* the calls are still open, in `now` */
	frame_list deepest;    /* otherwise they are here; empty: nothing was found */
};

/* By function id of one image: whether stack_trace_filter selects the function. */
enum checked { CHECKED_UNKNOWN, CHECKED_YES, CHECKED_NO };
struct checks { VEC(uint8_t) at; };

struct stacks {
	const struct trace_info *info;
	struct settings settings;
	uint64_t from, to, floor;
	struct sites sites;
	VEC(struct thread_stack *) threads; /* by thread; NULL: nothing came */
	VEC(struct checks) images;
	/* The chunk that is being fed. */
	struct thread_stack *now;
	uint32_t thread, image;
};

/* --- at which calls --------------------------------------------------------------------- */

/* Lists name functions by their symbols; a function without one is met by the name that is shown
 * for it. */
static bool look_up(const struct stacks *s, uint32_t fn)
{
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(s->info, s->image, fn, &m);
	char name[512];

	if (!f)
		return false;
	if (f->name)
		return function_list_has(&s->settings.stack_filter, m->strings.at + f->name,
					 m->name);
	trace_function_name(m, f, name, sizeof(name));
	return function_list_has(&s->settings.stack_filter, name, m->name);
}

/* Whether calls of the function are looked at. Every call is without a filter. */
static bool is_checked(struct stacks *s, uint32_t fn)
{
	struct checks *c;

	if (!s->settings.stack_filter.patterns.n)
		return true;
	/* Not kept: the function may become known. */
	if (!trace_info_function(s->info, s->image, fn, NULL))
		return false;
	while (s->images.n <= s->image)
		*vec_add(&s->images) = (struct checks){ 0 };
	c = &s->images.at[s->image];
	while (c->at.n <= fn)
		*vec_add(&c->at) = CHECKED_UNKNOWN;
	if (c->at.at[fn] == CHECKED_UNKNOWN)
		c->at.at[fn] = look_up(s, fn) ? CHECKED_YES : CHECKED_NO;
	return c->at.at[fn] == CHECKED_YES;
}

static void forget_checks(struct stacks *s)
{
	for (size_t i = 0; i < s->images.n; i++)
		vec_free(&s->images.at[i].at);
	s->images.n = 0;
}

/* --- where the stack is ------------------------------------------------------------------ */

/* Finds the mapping that has the address. False: the process is gone, or nothing is mapped there.
 * `end` is right above a return address, and may be the end of the mapping: so the ends are
 * compared the other way round than an address's. */
static bool find_in(pid_t pid, uint64_t at, struct thread_stack *t)
{
	struct maps maps = { 0 };
	struct err ignored;

	if (maps_read(pid, &maps, &ignored))
		return false;
	for (size_t i = 0; i < maps.at.n; i++)
		if (maps.at.at[i].start < at && at <= maps.at.at[i].end) {
			t->bottom = i ? maps.at.at[i - 1].end : 0; /* may grow down to there */
			t->top = maps.at.at[i].end;
		}
	maps_free(&maps);
	return t->top != 0;
}

/* Finds the thread's stack at the first call that is seen of it. A thread that has ended may have
 * left its process behind, with the stack still mapped; hence the second attempt by pid. If both
 * fail the highest address seen stands for the end. */
static void find_stack(struct stacks *s, struct thread_stack *t, uint64_t at)
{
	const struct trace_thread *of = &s->info->threads.at[s->thread];

	if (t->guessed && at > t->top)
		t->top = at;
	if (t->top || find_in((pid_t)of->tid, at, t) || find_in((pid_t)of->pid, at, t))
		return;
	t->guessed = true;
	t->top = at;
}

/* --- steps --------------------------------------------------------------------------------- */

/* Copies the deepest stack out of `now` before calls of it return or are replaced. */
static void save_deepest(struct thread_stack *t)
{
	t->deepest.n = 0;
	vec_reserve(&t->deepest, t->n);
	for (size_t i = 0; i < t->n && i < t->now.n; i++)
		*vec_add(&t->deepest) = t->now.at[i];
	t->standing = false;
}

/* Compares the call's depth with the deepest so far. `end` is the address right above its return
 * address. A call on another stack (a coroutine's, a signal's) would seem as deep as the distance
 * of the two. */
static void look_at_stack(struct stacks *s, struct thread_stack *t, uint64_t end,
			  const struct call_step *step)
{
	uint64_t depth;

	find_stack(s, t, end);
	if (end > t->top || end <= t->bottom)
		return; /* another stack */
	/* The return address's own 8 bytes count. */
	depth = t->top - end + 8;
	if (depth <= t->max || depth <= s->floor || !is_checked(s, step->fn))
		return;
	t->max = depth;
	t->tsc = step->tsc;
	t->n = step->depth + 1;
	t->standing = true;
}

/* Puts the call at its depth and looks how deep the stack is. */
static void enter_call(struct stacks *s, struct thread_stack *t, const struct call_step *step)
{
	struct frame f = { .fn = step->fn, .end = t->at, .site = t->at_site };

	if (t->standing && step->depth < t->n)
		save_deepest(t);
	while (t->now.n < step->depth)
		/* Calls that began before the tracer did. */
		*vec_add(&t->now) = (struct frame){ 0 };
	t->now.n = step->depth;
	/* A tail call takes its caller's frame over: the caller's site and address stay. */
	if (step->flags & CALL_TAIL && step->depth) {
		f = t->now.at[step->depth - 1];
		f.fn = step->fn;
		f.jumped = true;
	}
	*vec_add(&t->now) = f;
	if (f.end)
		look_at_stack(s, t, f.end, step);
}

/* The step of one call, from the trackers. The copy is made before the return, when `now` still has
 * the frames. */
static void follow_step(void *arg, const struct call_step *step)
{
	struct stacks *s = arg;
	struct thread_stack *t = s->now;

	if (step->track)
		return; /* a call on a coroutine's stack */
	if (step->kind == CALL_ENTER)
		enter_call(s, t, step);
	if (step->kind == CALL_LEAVE && t->standing && step->depth < t->n)
		save_deepest(t);
}

/* --- records -------------------------------------------------------------------------------- */

/* Returns the thread's state, made at its first chunk; unfollow_thread() may have dropped the
 * trackers in between. */
static struct thread_stack *stacks_thread(struct stacks *s, uint32_t thread)
{
	struct thread_stack *t;

	while (s->threads.n <= thread)
		*vec_add(&s->threads) = NULL;
	if (!s->threads.at[thread])
		s->threads.at[thread] = mem_zalloc(sizeof(*t));
	t = s->threads.at[thread];
	if (!t->follows) {
		t->lane = tracks_init_one(&t->tracks, s->info, &s->sites, thread);
		t->follows = true;
	}
	return t;
}

/* Feeds one event. The place that an EVENT_AT tells belongs to the very next call. Any other event
 * in between means that the next call's place is not told. */
static void feed_event(struct stacks *s, const struct event *e)
{
	struct thread_stack *t = s->now;

	tracks_feed(&t->tracks, t->lane, e, follow_step, s);
	t->at = e->kind == EVENT_AT ? e->count : 0;
	t->at_site = e->kind == EVENT_AT ? e->site : 0;
}

void stacks_feed(struct stacks *s, const struct chunk *c)
{
	struct unpack u = { .at = c->words,
			    .end = c->words + c->n,
			    .tsc = c->near_tsc,
			    .cpu = c->cpu,
			    .thread = c->thread };
	struct event e = { .kind = EVENT_LOST,
			   .count = c->lost,
			   .tsc = c->near_tsc,
			   .thread = c->thread,
			   .cpu = c->cpu };

	if (c->thread >= s->info->threads.n)
		return;
	s->thread = c->thread;
	s->image = s->info->threads.at[c->thread].image;
	s->now = stacks_thread(s, c->thread);
	if (c->lost)
		feed_event(s, &e);
	while (unpack_next(&u, &e))
		/* EVENT_CALL is the function tracer's copy of an entry; sleeps do not move the
		 * stack. */
		if (e.tsc >= s->from && e.tsc <= s->to && e.kind != EVENT_CALL &&
		    e.kind != EVENT_SLEPT)
			feed_event(s, &e);
}

/* --- beginning and end ------------------------------------------------------------------------ */

struct stacks *stacks_new(const struct trace_info *info)
{
	struct stacks *s = mem_zalloc(sizeof(*s));

	s->info = info;
	sites_init(&s->sites, info);
	settings_init(&s->settings);
	return s;
}

/* Drops the thread's open calls; the deepest stack is kept. */
static void unfollow_thread(struct thread_stack *t)
{
	if (!t || !t->follows)
		return;
	if (t->standing)
		save_deepest(t);
	tracks_free(&t->tracks);
	t->follows = false;
	t->now.n = 0;
	t->at = 0;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->threads.n; i++) {
		struct thread_stack *t = s->threads.at[i];

		unfollow_thread(t);
		if (t) {
			vec_free(&t->now);
			vec_free(&t->deepest);
		}
		free(t);
	}
	forget_checks(s);
	vec_free(&s->images);
	vec_free(&s->threads);
	sites_free(&s->sites);
	settings_free(&s->settings);
	free(s);
}

void stacks_configure(struct stacks *s, const struct settings *settings)
{
	settings_free(&s->settings);
	settings_copy(&s->settings, settings);
	forget_checks(s);
	sites_renew(&s->sites);
}

void stacks_begin(struct stacks *s, const struct settings *settings, uint64_t tsc)
{
	s->from = tsc;
	s->to = UINT64_MAX;
	stacks_configure(s, settings);
}

/* The pump has taken all records by then (profiling.c): calls that are open stay unfinished. */
void stacks_end(struct stacks *s, uint64_t tsc)
{
	s->to = tsc;
	for (size_t i = 0; i < s->threads.n; i++)
		unfollow_thread(s->threads.at[i]);
}

/* floor: bytes, as they are written to stack_max_size: only deeper stacks are found from now on. */
void stacks_reset(struct stacks *s, uint64_t floor)
{
	s->floor = floor;
	for (size_t i = 0; i < s->threads.n; i++) {
		struct thread_stack *t = s->threads.at[i];

		if (t) {
			t->standing = false;
			t->deepest.n = t->n = 0;
			t->max = 0;
		}
	}
}

/* --- the tables ------------------------------------------------------------------------------- */

uint64_t stacks_max(const struct stacks *s)
{
	uint64_t max = s->floor;

	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.at[i] && s->threads.at[i]->max > max)
			max = s->threads.at[i]->max;
	return max;
}

/* Selects the calls on the thread's own stack. Of a function and its tail calls, the last is shown:
 * they had one frame. */
static void standing_calls(const struct thread_stack *t, frame_list *out)
{
	const frame_list *all = &t->deepest;

	for (size_t i = 0; i < all->n; i++) {
		const struct frame *f = &all->at[i];

		if (!f->end || f->end > t->top || f->end <= t->bottom)
			continue;
		if (f->jumped && out->n && out->at[out->n - 1].end == f->end)
			out->n--;
		*vec_add(out) = *f;
	}
}

static void print_function(const struct trace_module *m, const struct trace_function *f,
			   uint64_t offset, bool program, struct out *out)
{
	char name[512];

	trace_function_name(m, f, name, sizeof(name));
	out_printf(out, "%s+0x%lx/0x%x", name, offset, f->size);
	if (!program)
		out_printf(out, " [%s]", m->name);
}

/* Prints the place of a call. The byte before a return address belongs to the call, the return
 * address may not. */
static void print_site(const struct trace_info *info, uint32_t image, uint32_t site, uint64_t tsc,
		       struct out *out)
{
	uint64_t address = trace_info_site(info, image, site);
	const struct trace_module *m = NULL;
	const struct trace_function *f =
		address ? trace_info_function_at(info, image, address - 1, tsc, &m) : NULL;

	if (f)
		print_function(m, f, address - m->base - f->vaddr, trace_info_is_program(info, m),
			       out);
	else if (address && (m = trace_info_module_at(info, image, address - 1, tsc)))
		out_printf(out, "%s+%#lx", m->name, address - m->base);
	else if (address)
		out_printf(out, "%#lx", address);
	else
		out_str(out, "[unknown]");
}

static void print_row(size_t i, uint64_t depth, uint64_t size, struct out *out)
{
	out_printf(out, "%3zu) %8lu   %5lu   ", i, depth, size);
}

/* Prints a thread's stack, innermost first. The innermost call is as deep as its return address: it
 * had no frame yet when it was looked at. */
static void print_table(const struct stacks *s, uint32_t thread, const struct thread_stack *t,
			struct out *out)
{
	const uint32_t image = s->info->threads.at[thread].image;
	frame_list f = { 0 };
	const struct trace_module *m;
	const struct trace_function *last;

	standing_calls(t, &f);
	out_printf(
		out,
		"        Depth    Size   Location    (%zu entries)\n        -----    ----   --------\n",
		f.n + (f.n > 0));
	for (size_t row = 0; f.n && row <= f.n; row++) {
		/* by this row's function */
		const struct frame *called = row ? &f.at[f.n - row] : NULL;
		uint64_t end = row < f.n ? f.at[f.n - row - 1].end : t->top;

		print_row(row, t->top - (called ? called->end : end - 8),
			  end - (called ? called->end : end - 8), out);
		if (called)
			print_site(s->info, image, called->site, t->tsc, out);
		else if ((last = trace_info_function(s->info, image, f.at[f.n - 1].fn, &m)))
			print_function(m, last, 0, trace_info_is_program(s->info, m), out);
		out_char(out, '\n');
	}
	vec_free(&f);
}

struct stacks_found { uint32_t thread; uint64_t max; };

static int deepest_first(const void *a, const void *b)
{
	const struct stacks_found *x = a, *y = b;

	if (x->max != y->max)
		return x->max > y->max ? -1 : 1;
	return x->thread < y->thread ? -1 : 1;
}

bool stacks_show(struct stacks *s, struct out *out)
{
	VEC(struct stacks_found) found = { 0 };
	bool any;

	for (uint32_t i = 0; i < s->threads.n; i++) {
		struct thread_stack *t = s->threads.at[i];
		bool still = t && t->standing;

		/* save_deepest() for printing only: the calls still stand afterwards. */
		if (still)
			save_deepest(t);
		if (t && t->deepest.n)
			*vec_add(&found) = (struct stacks_found){ i, t->max };
		if (still)
			t->standing = true;
	}
	if (found.n)
		qsort(found.at, found.n, sizeof(*found.at), deepest_first);
	for (size_t i = 0; i < found.n; i++) {
		const struct trace_thread *of = &s->info->threads.at[found.at[i].thread];

		if (found.n > 1)
			out_printf(out, "%s# %.*s-%u\n", i ? "\n" : "", TRACE_COMM - 1,
				   trace_thread_name(of), of->tid);
		print_table(s, found.at[i].thread, s->threads.at[found.at[i].thread], out);
	}
	any = found.n > 0;
	vec_free(&found);
	return any;
}
