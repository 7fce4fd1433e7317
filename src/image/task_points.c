/* SPDX-License-Identifier: MIT */
/* A table of which system calls make, end or rename tasks, or let them wait for each other. Part of
 * one plan, on its thread; the set is the caller's. Nothing fails. */
#include "image/task_points.h"

#include <string.h>
#include <sys/syscall.h>

#include "arch/old_calls.h"
#include "event/tasks.h"
#include "shared/calls.h"

/* Sets of kinds: a new task, its end, a program that begins; a wait. Kinds are numbers of enum
 * task_event, fewer than 32. */
#define BIT(kind) (1u << (kind))
#define NEW (BIT(TASK_NEWTASK) | BIT(TASK_SCHED_FORK))
#define END (BIT(TASK_EXIT) | BIT(TASK_SCHED_EXIT))
#define WAIT_BEGIN BIT(TASK_CONTENTION_BEGIN)
#define WAIT_END BIT(TASK_CONTENTION_END)
#define BEGIN (BIT(TASK_RENAME) | BIT(TASK_EXEC) | BIT(TASK_SCHED_EXEC))

/* The calls that tell events, and whether before or behind the call. A new task is told behind the
 * call that made it, where its id is known; an end or an exec before, because the call does not
 * come back. prctl may rename, and rt_sigaction brings handlers to be probed. */
static const struct { uint32_t number; bool behind; uint32_t kinds; } places[] = {
#define FORK(name) { SYS_##name, true, NEW },
	OLD_CALLS_FORKS(FORK)
#undef FORK
	{ SYS_clone, true, NEW },
	{ SYS_clone3, true, NEW },
	{ SYS_exit, false, END },
	{ SYS_exit_group, false, END },
	{ SYS_execve, false, BEGIN },
	{ SYS_execveat, false, BEGIN },
	{ SYS_futex, false, WAIT_BEGIN },
	{ SYS_futex, true, WAIT_END },
	{ SYS_prctl, false, BIT(TASK_RENAME) }, { SYS_rt_sigaction, false, BIT(TASK_SIGNAL) },
};

/* The event, and its kind in *kind; NULL if it is no task event, or none that is armed. *kind
 * counts only with an event. */
static const struct event_entry *armed_task(const struct event_set *set, uint32_t index,
					    enum task_event *kind)
{
	const struct event_entry *e = events_at(set->catalogue, index);

	*kind = e ? tasks_kind(e) : TASK_EVENTS;
	return *kind != TASK_EVENTS && event_set_armed(set, index) ? e : NULL;
}

uint32_t task_points_kinds(const struct event_set *set)
{
	uint32_t n = set->catalogue ? events_n(set->catalogue) : 0, kinds = 0;
	enum task_event kind;

	for (uint32_t i = 0; i < n; i++)
		if (armed_task(set, i, &kind))
			kinds |= BIT(kind);
	return kinds;
}

uint32_t task_points_event(const struct event_set *set, enum task_event kind)
{
	uint32_t n = set->catalogue ? events_n(set->catalogue) : 0;
	enum task_event k;

	for (uint32_t i = 0; i < n; i++)
		if (armed_task(set, i, &k) && k == kind)
			return i;
	return TASK_NO_EVENT;
}

bool task_points_at(uint32_t kinds, uint32_t number, bool behind)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i].behind == behind &&
		    (number == CALL_UNKNOWN || number == places[i].number) &&
		    places[i].kinds & kinds)
			return true;
	return false;
}

bool task_points_at_begin(uint32_t kinds)
{
	return kinds & BEGIN;
}

/* Filters begin at multiples of 8, as their words need. */
static uint32_t align8(uint32_t n)
{
	return (n + 7) & ~7u;
}

uint32_t task_points_bytes(const struct event_set *set)
{
	uint32_t n = set->catalogue ? events_n(set->catalogue) : 0,
		 bytes = align8(sizeof(struct task_block));
	enum task_event kind;

	for (uint32_t i = 0; i < n; i++) {
		const struct filter_program *f =
			armed_task(set, i, &kind) ? event_set_program(set, i) : NULL;

		bytes += f ? align8(f->bytes) : 0;
	}
	return bytes;
}

/* Filters stand behind the block, in the order of the events; each entry has its filter's offset
 * from the block. */
void task_points_write(const struct event_set *set, struct task_block *to, bool executable)
{
	uint32_t n = set->catalogue ? events_n(set->catalogue) : 0, at = align8(sizeof(*to));
	enum task_event kind;

	for (unsigned k = 0; k < TASK_EVENTS; k++)
		to->at[k].event = TASK_NO_EVENT;
	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = armed_task(set, i, &kind);
		const struct filter_program *f = e ? event_set_program(set, i) : NULL;

		if (e) {
			to->at[kind].event = (uint16_t)i;
			to->at[kind].stacked = event_set_stacked(set, i);
			to->at[kind].scopes = event_set_scopes(set, i);
		}
		if (!f)
			continue;
		to->at[kind].filter = at;
		memcpy((uint8_t *)to + at, f, f->bytes);
		/* The filter's machine code cannot run there: it is interpreted. */
		if (!executable)
			((struct filter_program *)((uint8_t *)to + at))->code = 0;
		at += align8(f->bytes);
	}
}
