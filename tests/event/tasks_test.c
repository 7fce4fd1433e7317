/* Events of threads and processes: the kernel's own files byte for byte where there are some, and
 * records at the places that the formats say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/tasks.h"
#include "golden.h"

static const struct event_provider kernel = { .name = "kernel", .can_enable = true, .without_agent = true };
static struct event_catalogue *c;

static int setup(void **state)
{
	struct err err = { 0 };

	c = events_new();
	tasks_provider.add_common(c);
	if (tasks_add_told(c, &kernel, "sched_switch", &err) < 0 || tasks_add_told(c, &kernel, "signal_deliver", &err) < 0 ||
	    tasks_add_told(c, &kernel, "page_fault_user", &err) < 0)
		fail_msg("%s", err.text);
	if (tasks_add_told(c, &kernel, "sched_waking", &err) < 0 || tasks_add_told(c, &kernel, "sched_wakeup", &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(tasks_add_told(c, &kernel, "sched_wakeup_new", &err), -ENOENT);
	return 0;
}

static int teardown(void **state)
{
	events_free(c);
	return 0;
}

/* The name of a format's number. */
static const char *behind_id(const char *text)
{
	const char *id = strstr(text, "\nID: ");

	assert_non_null(id);
	return strchr(id + 1, '\n');
}

static void as_the_kernel_has_them(void **state)
{
	static const char *const kernels[] = { "k6.12-own", "k6.12-debian" }, *const names[] = {
		"sched_process_exec", "sched_process_fork", "sched_switch",
	};

	for (size_t i = 0; i < 6; i++) {
		const char *name = names[i / 2];
		char *file = mem_printf("init.events.sched.%s.format", name), *want = golden_read(kernels[i % 2], file);
		const struct event_entry *e = events_find(c, "sched", name);

		assert_non_null(e);
		golden_same(file, behind_id(e->text), behind_id(want));
		free(want);
		free(file);
	}
}

/* The lines of Debian's 6.12, asked in a virtual machine. */
static void contention_as_the_kernel_has_it(void **state)
{
	static const char begin[] = "\"%p (flags=%s)\", REC->lock_addr, __print_flags(REC->flags, \"|\", { (1U << 0), \"SPIN\" }, "
		"{ (1U << 1), \"READ\" }, { (1U << 2), \"WRITE\" }, { (1U << 3), \"RT\" }, { (1U << 4), \"PERCPU\" }, "
		"{ (1U << 5), \"MUTEX\" } )";

	assert_string_equal(events_find(c, "lock", "contention_begin")->format->print, begin);
	assert_string_equal(events_find(c, "lock", "contention_end")->format->print, "\"%p (ret=%d)\", REC->lock_addr, REC->ret");
	assert_non_null(strstr(events_find(c, "lock", "contention_end")->text,
			       "\tfield:void * lock_addr;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:int ret;\toffset:16;\tsize:4;\tsigned:1;\n"));
}

/* The lines of Debian's 6.12, asked in a virtual machine; both events have them. */
static void wakes_as_the_kernel_has_them(void **state)
{
	static const char fields[] = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
		"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\nprint fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", "
		"REC->comm, REC->pid, REC->prio, REC->target_cpu\n";

	assert_non_null(strstr(events_find(c, "sched", "sched_waking")->text, fields));
	assert_non_null(strstr(events_find(c, "sched", "sched_wakeup")->text, fields));
	assert_int_equal(offsetof(struct task_woken, pid), 24 - 8);
	assert_int_equal(offsetof(struct task_woken, target_cpu), 32 - 8);
}

/* The same but for names. */
static void under_two_names(void **state)
{
	static const char *const pairs[][2] = { { "sched_process_exec", "task_exec" }, { "sched_process_exit", "task_exit" } };

	for (size_t i = 0; i < 2; i++) {
		const struct event_entry *sched = events_find(c, "sched", pairs[i][0]), *task = events_find(c, "task", pairs[i][1]);

		assert_string_equal(behind_id(sched->text), behind_id(task->text));
		assert_true(tasks_kind(sched) != tasks_kind(task));
	}
	assert_int_equal(tasks_kind(events_find(c, "ftrace", "print")), TASK_EVENTS);
}

#define PLACE(type, member) { #member, 8 + offsetof(struct type, member), sizeof(((struct type *)0)->member) }
struct place { const char *field; size_t offset, size; };

static void check_places(const char *system, const char *name, const struct place *places, size_t n)
{
	const struct event_format *f = events_find(c, system, name)->format;

	assert_int_equal(f->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(f->fields[i].name, places[i].field);
		assert_int_equal(f->fields[i].offset, places[i].offset);
		assert_int_equal(f->fields[i].size, places[i].size);
	}
}

static void where_the_agent_writes(void **state)
{
	static const struct place new[] = { PLACE(task_newtask, pid), PLACE(task_newtask, comm), PLACE(task_newtask, clone_flags),
					    PLACE(task_newtask, oom_score_adj) },
		renamed[] = { PLACE(task_rename, pid), PLACE(task_rename, oldcomm), PLACE(task_rename, newcomm),
			      PLACE(task_rename, oom_score_adj) },
		ended[] = { PLACE(task_exit, comm), PLACE(task_exit, pid), PLACE(task_exit, prio) },
		executed[] = { PLACE(task_exec, filename), PLACE(task_exec, pid), PLACE(task_exec, old_pid) },
		delivered[] = { { "sig", 8, 4 }, { "errno", 12, 4 }, { "code", 16, 4 }, { "sa_handler", 24, 8 }, { "sa_flags", 32, 8 } },
		switched[] = { PLACE(task_switch, prev_comm), PLACE(task_switch, prev_pid), PLACE(task_switch, prev_prio),
			       PLACE(task_switch, prev_state), PLACE(task_switch, next_comm), PLACE(task_switch, next_pid),
			       PLACE(task_switch, next_prio) },
		faulted[] = { PLACE(task_fault, address), PLACE(task_fault, ip), PLACE(task_fault, error_code) },
		forked[] = { PLACE(task_fork, parent_comm), PLACE(task_fork, parent_pid), PLACE(task_fork, child_comm),
			     PLACE(task_fork, child_pid) },
		waits[] = { { "lock_addr", 8, 8 }, { "flags", 16, 4 } }, waited[] = { { "lock_addr", 8, 8 }, { "ret", 16, 4 } };

	check_places("signal", "signal_deliver", delivered, 5);
	check_places("sched", "sched_switch", switched, 7);
	check_places("exceptions", "page_fault_user", faulted, 3);
	check_places("task", "task_newtask", new, 4);
	check_places("task", "task_rename", renamed, 4);
	check_places("task", "task_exit", ended, 3);
	check_places("task", "task_exec", executed, 3);
	check_places("sched", "sched_process_fork", forked, 4);
	check_places("lock", "contention_begin", waits, 2);
	check_places("lock", "contention_end", waited, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_kernel_has_them),
		cmocka_unit_test(contention_as_the_kernel_has_it),
		cmocka_unit_test(wakes_as_the_kernel_has_them),
		cmocka_unit_test(under_two_names),
		cmocka_unit_test(where_the_agent_writes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
