#include "golden_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "golden.h"

static const struct event_provider programs = { .name = "program", .can_enable = true };

static void add(struct tree *t, const char *system, const char *name)
{
	char *file = mem_printf("../../event/golden/k6.12-own.init.events.%s.%s.format.txt", system, name);
	char *text = golden(file);
	const struct event_entry *e;

	assert_int_equal(events_add(instance_events(t), &programs, system, text, strlen(text), &e, NULL), 0);
	free(text);
	free(file);
}

const struct event_entry *golden_event_of(struct tree *t, const char *system, const char *name)
{
	static const struct event_field fields[] = { { "int", "a", 8, 4, true } };
	struct event_format f = { system, name, 0, fields, 1, "\"a=%d\", REC->a" };
	const struct event_entry *e;

	assert_int_equal(events_add_format(instance_events(t), &programs, &f, &e, NULL), 0);
	return e;
}

void golden_events(struct tree *t)
{
	add(t, "sched", "sched_switch");
	golden_event_of(t, "sched", "sched_waking");
	golden_event_of(t, "sched", "sched_wakeup");
	add(t, "sched", "sched_process_fork");
	add(t, "sched", "sched_process_exec");
	add(t, "syscalls", "sys_enter_openat");
	add(t, "syscalls", "sys_exit_openat");
}
