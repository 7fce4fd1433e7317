/* SPDX-License-Identifier: MIT */
/* A call of a known number has its own events at its places; at the others a table of all numbers' stands. */
#include "image/call_points.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "event/syscalls.h"
#include "event/tasks.h"
#include "collect/perf_rings.h"
#include "image/task_points.h"
#include "shared/calls.h"
#include "shared/probe.h"
#include "shared/record.h"

_Static_assert(CALL_NUMBERS == SYSCALL_NUMBERS && CALL_ARGUMENTS == SYSCALL_ARGS && CALL_UNKNOWN == SYSCALL_UNKNOWN,
	       "the agent knows calls as we do");

/* Which events are armed, before calls and behind them. */
struct wanted {
	const struct event_set *set;
	struct call_event raw[2];
	struct call_event named[2][CALL_NUMBERS];
	bool any[2];
	uint32_t tasks;           /* kinds of task_points.h */
};

void call_points_catalogue(struct event_catalogue *c)
{
	struct err ignored;

	if (events_find(c, "raw_syscalls", "sys_enter"))
		return;
	syscalls_add(c, &ignored);
	tasks_add(c, &ignored);
	if (perf_rings_allowed(PERF_SWITCHES, &ignored) == 0)
		tasks_add_switch(c, &ignored);
	tasks_add_signal(c, perf_rings_allowed(PERF_SIGNALS, &ignored) == 0, &ignored);
}

bool call_points_want(const struct event_set *set, const struct event_entry *e)
{
	return (e->owner == EVENT_OWNER_SYSCALL || e->owner == EVENT_OWNER_TASK || e->owner == EVENT_OWNER_SCHED) &&
	       event_set_armed(set, e->index);
}

bool call_points_wanted(const struct event_set *set)
{
	uint32_t n = events_n(set->catalogue);

	for (uint32_t i = 0; i < n; i++)
		if (call_points_want(set, events_at(set->catalogue, i)))
			return true;
	return false;
}

bool call_points_possible(const uint8_t *bytes, size_t n)
{
	return bytes && memmem(bytes, n, "\x0f\x05", 2);
}

static const struct syscall_info *by_name(const char *name)
{
	size_t n;
	const struct syscall_info *all = syscalls_all(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	return NULL;
}

static void want(struct wanted *w, const struct event_entry *e)
{
	static const char *const prefixes[] = { "sys_enter", "sys_exit" };
	unsigned behind = strncmp(e->format->name, prefixes[1], strlen(prefixes[1])) == 0;
	const char *rest = e->format->name + strlen(prefixes[behind]);
	const struct syscall_info *s;
	bool stacked = event_set_stacked(w->set, e->index);

	w->any[behind] = true;
	s = *rest ? by_name(rest + 1) : NULL;
	if (!*rest)
		w->raw[behind] = (struct call_event){ .event = (uint16_t)e->index, .stacked = stacked };
	else if (s)
		w->named[behind][s->number] =
			(struct call_event){ .event = (uint16_t)e->index, .arguments = (uint8_t)(e->format->n - 1), .stacked = stacked };
}

static void read_wanted(const struct event_set *set, struct wanted *w)
{
	uint32_t n = events_n(set->catalogue);

	memset(w, 0xff, sizeof(*w)); /* CALL_NO_EVENT */
	w->any[0] = w->any[1] = false;
	w->set = set;
	w->tasks = task_points_kinds(set);
	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(set->catalogue, i);

		if (e->owner == EVENT_OWNER_SYSCALL && call_points_want(set, e))
			want(w, e);
	}
}

static bool wants(const struct wanted *w, const struct hook_syscall *c, bool behind)
{
	if (task_points_at(w->tasks, c->number, behind))
		return true;
	if (c->number == SYSCALL_UNKNOWN)
		return w->any[behind];
	if (w->raw[behind].event != CALL_NO_EVENT)
		return true;
	return c->number < CALL_NUMBERS && w->named[behind][c->number].event != CALL_NO_EVENT;
}

static bool is_kept(const struct hook_syscall *c)
{
	return c->number == SYSCALL_UNKNOWN || c->joined;
}

static const struct filter_program *filter_of(const struct wanted *w, const struct call_event *e)
{
	return e->event == CALL_NO_EVENT ? NULL : event_set_program(w->set, e->event);
}

static uint32_t aligned(uint32_t n)
{
	return (n + 7) & ~7u;
}

/* Behind what is there already. */
static void append_filter(const struct wanted *w, struct call_about **a, uint32_t *bytes, size_t at)
{
	struct call_event *e = (struct call_event *)((uint8_t *)*a + at);
	const struct filter_program *f = filter_of(w, e);

	e->filter = f ? *bytes : 0;
	if (!f)
		return;
	*a = mem_realloc(*a, *bytes + aligned(f->bytes), 1);
	memset((uint8_t *)*a + *bytes, 0, aligned(f->bytes));
	memcpy((uint8_t *)*a + *bytes, f, f->bytes);
	*bytes += aligned(f->bytes);
}

static void append_tasks(const struct wanted *w, struct call_about **a, uint32_t *bytes)
{
	uint32_t more = task_points_bytes(w->set);

	*a = mem_realloc(*a, *bytes + more, 1);
	memset((uint8_t *)*a + *bytes, 0, more);
	task_points_write(w->set, (struct task_block *)((uint8_t *)*a + *bytes), true);
	(*a)->tasks = *bytes;
	*bytes += more;
}

static struct call_about *about(const struct wanted *w, const struct hook_syscall *c, bool behind, uint32_t *bytes)
{
	bool known = c->number < CALL_NUMBERS;
	uint16_t n = c->number == SYSCALL_UNKNOWN ? CALL_NUMBERS : known;
	struct call_about *a = mem_zalloc(*bytes = (uint32_t)(sizeof(*a) + n * sizeof(a->named[0])));

	*a = (struct call_about){ .number = c->number, .behind = behind, .kept = is_kept(c), .ahead = c->ahead, .raw = w->raw[behind], .n = n };
	if (known)
		a->named[0] = w->named[behind][c->number];
	else if (n)
		memcpy(a->named, w->named[behind], sizeof(w->named[behind]));
	append_filter(w, &a, bytes, offsetof(struct call_about, raw));
	for (uint16_t i = 0; i < n; i++)
		append_filter(w, &a, bytes, offsetof(struct call_about, named) + i * sizeof(a->named[0]));
	/* What is made by a call of unknown number may be told elsewhere than behind it (agent/libc_calls.S). */
	if (task_points_at(w->tasks, c->number, behind) ||
	    (c->number == SYSCALL_UNKNOWN && task_points_at(w->tasks, c->number, true)))
		append_tasks(w, &a, bytes);
	return a;
}

static bool is_stacked(const struct call_event *e)
{
	return e->event != CALL_NO_EVENT && e->stacked;
}

/* A child's coming is not a return. */
static bool is_plain(const struct hook_syscall *c, const struct call_about *a)
{
	return a->n == 1 && !a->kept && !a->tasks && !a->ahead && !(a->behind && c->twice) && !a->raw.filter && !a->named[0].filter &&
	       !is_stacked(&a->raw) && !is_stacked(&a->named[0]);
}

/* A record's header without its time, 0 for none; its size is added. */
static uint64_t header(const struct call_event *e, unsigned values, uint64_t *bytes)
{
	if (e->event == CALL_NO_EVENT)
		return 0;
	*bytes += 8 * (uint64_t)(2 + values);
	return record_word(0, record_event_id(1 + values, RECORD_EVENT_TRACE + e->event), RECORD_EVENT);
}

static void make_quick(const struct hook_syscall *c, struct call_about *a)
{
	struct call_quick q = { .number = a->number, .behind = a->behind };

	if (!is_plain(c, a))
		return;
	q.arguments = (uint8_t)(a->named[0].arguments < CALL_ARGUMENTS ? a->named[0].arguments : CALL_ARGUMENTS);
	q.raw = header(&a->raw, a->behind ? 1 : CALL_ARGUMENTS, &q.bytes);
	q.named = header(&a->named[0], a->behind ? 1 : q.arguments, &q.bytes);
	a->quick = q;
}

/* Any of the events it may be, for who asks what stands there. */
static uint32_t event_of(const struct call_about *a)
{
	return a->raw.event != CALL_NO_EVENT ? a->raw.event : a->n ? a->named[0].event : CALL_NO_EVENT;
}

static void add(const struct wanted *w, const struct hook_syscall *c, bool behind, probe_points *out)
{
	struct probe_point p = { .plan = behind ? *c->behind : *c->before, .kind = PROBE_CALL };
	struct call_about *a;

	if (p.plan.kind == HOOK_NONE)
		return;
	a = about(w, c, behind, &p.program_bytes);
	make_quick(c, a);
	p.event = event_of(a);
	p.program = a;
	*vec_add(out) = p;
}

void call_points_add(const hook_syscall_list *calls, const struct event_set *set, probe_points *out)
{
	struct wanted w;

	read_wanted(set, &w);
	for (size_t i = 0; i < calls->n; i++) {
		const struct hook_syscall *c = &calls->at[i];
		bool behind = wants(&w, c, true);

		if (wants(&w, c, false) || (behind && is_kept(c)))
			add(&w, c, false, out);
		if (behind)
			add(&w, c, true, out);
	}
}
