/* SPDX-License-Identifier: MIT */
/* Called by plans, on their threads, and by brace list; call_points_add() with probes.c's lock
 * held. A call with a known number has that number's events at its places; any other call has a
 * table of all numbers' events. Nothing fails: a place that cannot be hooked is left out. */
#include "image/call_points.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/code.h"
#include "event/syscall_copies.h"
#include "image/task_points.h"
#include "shared/calls.h"
#include "shared/probe.h"
#include "shared/record.h"

_Static_assert(CALL_NUMBERS == SYSCALL_NUMBERS && CALL_ARGUMENTS == SYSCALL_ARGS &&
		       CALL_UNKNOWN == SYSCALL_UNKNOWN,
	       "the agent knows calls as we do");

/* The armed events, before calls [0] and behind them [1]. */
struct wanted_call {
	const struct event_set *set;
	struct call_event raw[2];
	struct call_event named[2][CALL_NUMBERS];
	bool any[2];
	bool copying;             /* some record has copies of memory */
	uint32_t tasks;           /* kinds of task_points.h */
};

/* True if a place in the code is wanted for the event: the kernel tells of some by itself. */
static bool wants_place(const struct event_set *set, const struct event_entry *e)
{
	return e->provider->add_common && !e->provider->without_agent &&
	       event_set_armed(set, e->index);
}

bool call_points_wanted(const struct event_set *set)
{
	uint32_t n = events_n(set->catalogue);

	for (uint32_t i = 0; i < n; i++)
		if (wants_place(set, events_at(set->catalogue, i)))
			return true;
	return false;
}

bool call_points_possible(const uint8_t *bytes, size_t n)
{
	return bytes && code_may_call_system(bytes, n);
}

/* Whether the record has copies that the short way cannot make: it writes up to two of nothing. */
static bool is_copying(const struct call_event *e)
{
	return e->event != CALL_NO_EVENT && e->copies[0].argument &&
	       (e->most || e->copies[2].argument);
}

/* Notes an armed event at its place and number. */
static void wanted_event(struct wanted_call *w, const struct event_entry *e)
{
	static const char *const prefixes[] = { "sys_enter", "sys_exit" };
	unsigned behind = strncmp(e->format->name, prefixes[1], strlen(prefixes[1])) == 0;
	const char *rest = e->format->name + strlen(prefixes[behind]);
	const struct syscall_info *s;
	bool stacked = event_set_stacked(w->set, e->index);
	uint8_t scopes = event_set_scopes(w->set, e->index);

	w->any[behind] = true;
	s = *rest ? syscall_by_name(rest + 1) : NULL;
	if (!*rest)
		w->raw[behind] =
			(struct call_event){ .event = (uint16_t)e->index,
					     .stacked = stacked,
					     .scopes = scopes };
	else if (s) {
		struct call_event *named = &w->named[behind][s->number];

		*named = (struct call_event){ .event = (uint16_t)e->index,
					      .arguments = (uint8_t)syscall_arguments(s),
					      .stacked = stacked,
					      .scopes = scopes,
					      .most = (uint8_t)w->set->syscall_bytes };
		syscall_copies(s, behind, named->copies);
		w->copying |= is_copying(named);
	}
}

/* Collects the set's armed events, by place and number. */
static void read_wanted(const struct event_set *set, struct wanted_call *w)
{
	uint32_t n = events_n(set->catalogue);

	memset(w, 0xff, sizeof(*w)); /* CALL_NO_EVENT */
	w->any[0] = w->any[1] = w->copying = false;
	w->set = set;
	w->tasks = task_points_kinds(set);
	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(set->catalogue, i);

		if (e->provider == &syscalls_provider && event_set_armed(set, i))
			wanted_event(w, e);
	}
}

/* Whether the call may bring the process a seccomp filter. The agent has to look at it before, as
 * the filter may forbid the call that makes copies. */
static bool may_filter(const struct hook_syscall *c)
{
	return c->number == SYSCALL_UNKNOWN || c->number == SYS_seccomp || c->number == SYS_prctl;
}

/* Whether the set wants records of the call, before or behind it. */
static bool wants_syscall(const struct wanted_call *w, const struct hook_syscall *c, bool behind)
{
	if (w->copying && !behind && may_filter(c))
		return true;
	if (task_points_at(w->tasks, c->number, behind))
		return true;
	if (c->number == SYSCALL_UNKNOWN)
		return w->any[behind];
	if (w->raw[behind].event != CALL_NO_EVENT)
		return true;
	return c->number < CALL_NUMBERS && w->named[behind][c->number].event != CALL_NO_EVENT;
}

/* The agent keeps number and arguments from the place before it until the place behind. */
static bool is_kept(const struct hook_syscall *c)
{
	return c->number == SYSCALL_UNKNOWN || c->joined;
}

/* NULL: no event stands there, or each of its records is wanted. */
static const struct filter_program *filter_of(const struct wanted_call *w,
					      const struct call_event *e)
{
	return e->event == CALL_NO_EVENT ? NULL : event_set_program(w->set, e->event);
}

static uint32_t align8(uint32_t n)
{
	return (n + 7) & ~7u;
}

/* Appends the event's filter behind the present bytes, and notes its offset. */
static void append_filter(const struct wanted_call *w, struct call_info **a, uint32_t *bytes,
			  size_t at)
{
	/* An offset, since mem_realloc() may move the block. */
	struct call_event *e = (struct call_event *)((uint8_t *)*a + at);
	const struct filter_program *f = filter_of(w, e);

	e->filter = f ? *bytes : 0;
	if (!f)
		return;
	*a = mem_realloc(*a, *bytes + align8(f->bytes), 1);
	memset((uint8_t *)*a + *bytes, 0, align8(f->bytes));
	memcpy((uint8_t *)*a + *bytes, f, f->bytes);
	*bytes += align8(f->bytes);
}

/* Appends the task events and their filters behind the present bytes. */
static void append_tasks(const struct wanted_call *w, struct call_info **a, uint32_t *bytes)
{
	uint32_t more = task_points_bytes(w->set);

	*a = mem_realloc(*a, *bytes + more, 1);
	memset((uint8_t *)*a + *bytes, 0, more);
	task_points_write(w->set, (struct task_block *)((uint8_t *)*a + *bytes), true);
	(*a)->tasks = *bytes;
	*bytes += more;
}

/* Builds the place's description for the agent, of *bytes. The caller frees it. */
static struct call_info *fill_info(const struct wanted_call *w, const struct hook_syscall *c,
				     bool behind, uint32_t *bytes)
{
	bool known = c->number < CALL_NUMBERS;
	uint16_t n = c->number == SYSCALL_UNKNOWN ? CALL_NUMBERS : known;
	struct call_info *a =
		mem_zalloc(*bytes = (uint32_t)(sizeof(*a) + n * sizeof(a->named[0])));

	*a = (struct call_info){ .number = c->number,
				  .behind = behind,
				  .kept = is_kept(c),
				  .ahead = c->ahead,
				  .raw = w->raw[behind],
				  .n = n };
	if (known)
		a->named[0] = w->named[behind][c->number];
	else if (n)
		memcpy(a->named, w->named[behind], sizeof(w->named[behind]));
	append_filter(w, &a, bytes, offsetof(struct call_info, raw));
	for (uint16_t i = 0; i < n; i++)
		append_filter(w, &a, bytes,
			      offsetof(struct call_info, named) + i * sizeof(a->named[0]));
	/* A call of unknown number may make a thread or process, which may be told elsewhere than
	 * behind it (arch/x86_64/agent/libc_calls.S). */
	if (task_points_at(w->tasks, c->number, behind) ||
	    (c->number == SYSCALL_UNKNOWN && task_points_at(w->tasks, c->number, true)))
		append_tasks(w, &a, bytes);
	return a;
}

/* Whether a copy of the stack goes with the record, or a scope decides about it: only the long way
 * does that. */
static bool is_stacked(const struct call_event *e)
{
	return e->event != CALL_NO_EVENT && (e->stacked || e->scopes);
}

/* Whether the short way of the agent suffices. A child's start behind a call is not a return. */
static bool is_plain(const struct hook_syscall *c, const struct call_info *a)
{
	return a->n == 1 && !a->kept && !a->tasks && !a->ahead && !(a->behind && c->twice) &&
	       (a->behind || !may_filter(c)) && !a->raw.filter && !a->named[0].filter &&
	       !is_stacked(&a->raw) && !is_stacked(&a->named[0]) && !is_copying(&a->named[0]);
}

/* A record's header without its time, 0 for none. Adds the record's size to *bytes. */
static uint64_t fill_header(const struct call_event *e, unsigned values, uint64_t *bytes)
{
	if (e->event == CALL_NO_EVENT)
		return 0;
	*bytes += 8 * (uint64_t)(2 + values);
	return record_word(0, record_event_id(1 + values, RECORD_EVENT_TRACE + e->event),
			   RECORD_EVENT);
}

/* Fills in the agent's short way, if it suffices. */
static void make_quick(const struct hook_syscall *c, struct call_info *a)
{
	struct call_quick q = { .number = a->number, .behind = a->behind };

	if (!is_plain(c, a))
		return;
	q.arguments = a->behind ? 1
		      : a->named[0].arguments < CALL_ARGUMENTS ? a->named[0].arguments
							       : CALL_ARGUMENTS;
	q.empty = a->named[0].event != CALL_NO_EVENT && a->named[0].copies[0].argument;
	q.raw = fill_header(&a->raw, a->behind ? 1 : CALL_ARGUMENTS, &q.bytes);
	q.named = fill_header(&a->named[0], q.arguments + q.empty, &q.bytes);
	a->quick = q;
}

/* One of the place's events, for readers that ask what stands there. */
static uint32_t event_of(const struct call_info *a)
{
	return a->raw.event != CALL_NO_EVENT ? a->raw.event
	       : a->n			     ? a->named[0].event
					     : CALL_NO_EVENT;
}

/* Adds a place, unless it cannot be hooked. */
static void add_point(const struct wanted_call *w, const struct hook_syscall *c, bool behind,
		      probe_points *out)
{
	struct probe_point p = { .plan = behind ? *c->behind : *c->before, .kind = PROBE_CALL };
	struct call_info *a;

	if (p.plan.kind == HOOK_NONE)
		return;
	a = fill_info(w, c, behind, &p.program_bytes);
	make_quick(c, a);
	p.event = event_of(a);
	p.program = a;
	*vec_add(out) = p;
}

void call_points_add(const hook_syscall_list *calls, const struct event_set *set, probe_points *out)
{
	struct wanted_call w;

	read_wanted(set, &w);
	for (size_t i = 0; i < calls->n; i++) {
		const struct hook_syscall *c = &calls->at[i];
		bool behind = wants_syscall(&w, c, true);

		/* A kept call needs its place before even if only its return is wanted. */
		if (wants_syscall(&w, c, false) || (behind && is_kept(c)))
			add_point(&w, c, false, out);
		if (behind)
			add_point(&w, c, true, out);
	}
}
