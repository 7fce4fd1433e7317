/* SPDX-License-Identifier: MIT */
/* Formats of the events of threads and processes. The kernel has task:task_newtask,
 * task:task_rename, those of sched:, and lock:contention_*; exec and exit are also offered under
 * task:, with the same fields. Nothing but the catalogue changes; an event that cannot be added is
 * left out. The catalogue's maker calls it before other threads know the catalogue;
 * collect/switches.c and image/task_points.c look formats up. */
#include "event/tasks.h"

#include <errno.h>
#include <string.h>

/* TASK_COMM_LEN. FIELDS gives the two members of struct event_format that are a list and its
 * length. */
#define COMM "char[16]"
#define FIELDS(name) name, sizeof(name) / sizeof(*name)

/* Type, name, offset, size, signed. Offsets begin at 8, behind the common fields, and are those of
 * Linux 6.12, whose gaps come from alignment. agent/tasks.c and collect/switches.c write such
 * records. */
static const struct event_field newtask[] = {
	{ "pid_t", "pid", 8, 4, true },
	{ COMM, "comm", 12, 16, false },
	{ "unsigned long", "clone_flags", 32, 8, false },
	{ "short", "oom_score_adj", 40, 2, true },
}, renamed[] = {
	{ "pid_t", "pid", 8, 4, true },
	{ COMM, "oldcomm", 12, 16, false },
	{ COMM, "newcomm", 28, 16, false },
	{ "short", "oom_score_adj", 44, 2, true },
}, ended[] = {
	{ COMM, "comm", 8, 16, false },
	{ "pid_t", "pid", 24, 4, true },
	{ "int", "prio", 28, 4, true },
}, executed[] = {
	{ "__data_loc char[]", "filename", 8, 4, false },
	{ "pid_t", "pid", 12, 4, true },
	{ "pid_t", "old_pid", 16, 4, true },
}, switched[] = {
	{ COMM, "prev_comm", 8, 16, false },
	{ "pid_t", "prev_pid", 24, 4, true },
	{ "int", "prev_prio", 28, 4, true },
	{ "long", "prev_state", 32, 8, true },
	{ COMM, "next_comm", 40, 16, false },
	{ "pid_t", "next_pid", 56, 4, true },
	{ "int", "next_prio", 60, 4, true },
}, forked[] = {
	{ COMM, "parent_comm", 8, 16, false },
	{ "pid_t", "parent_pid", 24, 4, true },
	{ COMM, "child_comm", 28, 16, false },
	{ "pid_t", "child_pid", 44, 4, true },
}, contention[] = {
	{ "void *", "lock_addr", 8, 8, false },
	{ "unsigned int", "flags", 16, 4, false },
}, contended[] = {
	{ "void *", "lock_addr", 8, 8, false },
	{ "int", "ret", 16, 4, true },
};

/* Two pairs of events differ in system and name only. */
#define ENDED FIELDS(ended), "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio"
#define EXECUTED FIELDS(executed), "\"filename=%s pid=%d old_pid=%d\", __get_str(filename), REC->pid, REC->old_pid"

/* Indexed by enum task_event. The `print fmt` lines are the kernel's, because tools parse them. */
static const struct event_format formats[TASK_SIGNAL] = {
	[TASK_NEWTASK] = { "task", "task_newtask", 0, FIELDS(newtask),
			   "\"pid=%d comm=%s clone_flags=%lx oom_score_adj=%hd\", REC->pid, REC->comm, "
			   "REC->clone_flags, REC->oom_score_adj" },
	[TASK_RENAME] = { "task", "task_rename", 0, FIELDS(renamed),
			  "\"pid=%d oldcomm=%s newcomm=%s oom_score_adj=%hd\", REC->pid, REC->oldcomm, REC->newcomm, "
			  "REC->oom_score_adj" },
	[TASK_EXEC] = { "task", "task_exec", 0, EXECUTED },
	[TASK_EXIT] = { "task", "task_exit", 0, ENDED },
	[TASK_SCHED_EXEC] = { "sched", "sched_process_exec", 0, EXECUTED },
	[TASK_SCHED_EXIT] = { "sched", "sched_process_exit", 0, ENDED },
	[TASK_SCHED_FORK] = { "sched", "sched_process_fork", 0, FIELDS(forked),
			      "\"comm=%s pid=%d child_comm=%s child_pid=%d\", REC->parent_comm, REC->parent_pid, "
			      "REC->child_comm, REC->child_pid" },
	[TASK_CONTENTION_BEGIN] = { "lock", "contention_begin", 0, FIELDS(contention),
				    "\"%p (flags=%s)\", REC->lock_addr, __print_flags(REC->flags, \"|\", { (1U << 0), \"SPIN\" }, "
				    "{ (1U << 1), \"READ\" }, { (1U << 2), \"WRITE\" }, { (1U << 3), \"RT\" }, "
				    "{ (1U << 4), \"PERCPU\" }, { (1U << 5), \"MUTEX\" } )" },
	[TASK_CONTENTION_END] = { "lock", "contention_end", 0, FIELDS(contended),
				  "\"%p (ret=%d)\", REC->lock_addr, REC->ret" },
};

/* The kernel's TASK_REPORT: all states that are distinguished; the bit above it marks a preempted
 * thread. */
#define STATES "(0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040)"
#define REPORTED "(((" STATES " + 1) << 1) - 1)"

/* The kernel writes states by letters, in the order of its task_state_array. Unlike the
 * events above, the kernel tells of switches, not the program. */
static const struct event_format switch_format = {
	"sched", "sched_switch", 0, FIELDS(switched),
	"\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d\", REC->prev_comm, "
	"REC->prev_pid, REC->prev_prio, (REC->prev_state & " REPORTED
	") ? __print_flags(REC->prev_state & " REPORTED ", "
	"\"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, { 0x00000010, \"X\" }, "
	"{ 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & ((" STATES
	" + 1) << 1) "
	"? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio"
};

/* Fields of a wake-up, about the woken thread. The waker is the thread of the record. */
static const struct event_field woken[] = {
	{ COMM, "comm", 8, 16, false },
	{ "pid_t", "pid", 24, 4, true },
	{ "int", "prio", 28, 4, true },
	{ "int", "target_cpu", 32, 4, true },
};
#define WOKEN FIELDS(woken), "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu"
static const struct event_format waking_format = { "sched", "sched_waking", 0, WOKEN },
				 wakeup_format = { "sched", "sched_wakeup", 0, WOKEN };

static const struct event_field delivered[] = {
	{ "int", "sig", 8, 4, true },
	{ "int", "errno", 12, 4, true },
	{ "int", "code", 16, 4, true },
	{ "unsigned long", "sa_handler", 24, 8, false },
	{ "unsigned long", "sa_flags", 32, 8, false },
};
static const struct event_format signal_format = {
	"signal", "signal_deliver", 0, FIELDS(delivered),
	"\"sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx\", REC->sig, REC->errno, REC->code, REC->sa_handler, REC->sa_flags"
};

static const struct event_field faulted[] = {
	{ "unsigned long", "address", 8, 8, false },
	{ "unsigned long", "ip", 16, 8, false },
	{ "unsigned long", "error_code", 24, 8, false },
};
static const struct event_format fault_format = {
	"exceptions", "page_fault_user", 0, FIELDS(faulted),
	"\"address=%ps ip=%ps error_code=0x%lx\", (void *)REC->address, (void *)REC->ip, REC->error_code"
};

/* Formats of the events that the kernel tells, and of those that are made of what it tells. */
static const struct event_format *const told[] = { &switch_format, &signal_format, &fault_format,
						   &waking_format, &wakeup_format };

int tasks_add_told(struct event_catalogue *c, const struct event_provider *of, const char *name,
		   struct err *err)
{
	const struct event_entry *entry;

	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		if (!strcmp(told[i]->name, name))
			return events_add_format(c, of, told[i], &entry, err);
	return err_set(err, ENOENT, "no format of %s is known", name);
}

/* Stops at the first event that is there already with other fields, or for which there is no
 * room. */
static void add_tasks(struct event_catalogue *c)
{
	const struct event_entry *entry;
	struct err ignored;
	int r = 0;

	for (unsigned k = 0; k < TASK_SIGNAL && r == 0; k++)
		r = events_add_format(c, &tasks_provider, &formats[k], &entry, &ignored);
}

/* Where the kernel's event is there already, it stays: the list of providers has it before. */
static void add_signal(struct event_catalogue *c)
{
	struct err ignored;

	tasks_add_told(c, &signals_provider, signal_format.name, &ignored);
}

const struct event_provider tasks_provider = {
	.name = "task", .can_enable = true, .add_common = add_tasks
};
const struct event_provider signals_provider = {
	.name = "signal", .can_enable = true, .add_common = add_signal
};

/* TASK_EVENTS: not one of these. Names are compared without the system, as none is in both with one
 * name. */
enum task_event tasks_kind(const struct event_entry *e)
{
	unsigned k = 0;

	if (e->provider == &signals_provider)
		return TASK_SIGNAL;
	if (e->provider != &tasks_provider)
		return TASK_EVENTS;
	while (k < TASK_SIGNAL && strcmp(e->format->name, formats[k].name) != 0)
		k++;
	return k < TASK_SIGNAL ? k : TASK_EVENTS;
}
