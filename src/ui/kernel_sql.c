/* SPDX-License-Identifier: MIT */
/* Synthetic events are the kernel's for all instances, and go with ours (kernel/probes.h). The
 * tasks that count are those of the instance's set_event_pid, which triggers heed. statement.c
 * calls it, on brace's only thread. What fails is the command's error. */
#include "ui/kernel_sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/instance.h"
#include "kernel/tasks.h"
#include "kernel/tracefs.h"
#include "kernel/triggers.h"
#include "ui/kernel_commands.h"
#include "ui/run.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/waiting_program.h"

struct kernel_statement {
	struct invocation *inv;
	const char *question;
	struct kernel_instance *instance;
	struct waiting_program program;
};

/* Files that the kernel has once for all are none of an instance. */
static const char *directory_of(const struct kernel_statement *k, const char *file)
{
	return strncmp(file, "events/", 7) ? kernel_instance_top(k->instance)
					   : kernel_instance_dir(k->instance);
}

/* The kernel's sentence stands in its error_log, whose last entry is of this write. */
static int write_one(const struct kernel_statement *k, const struct sql_write *w, struct err *err)
{
	const char *dir = directory_of(k, w->file);
	size_t column;
	char *why;
	int e;

	if (k->inv->verbose)
		say("brace: echo '%s' %s %s/%s\n", w->text, w->append ? ">>" : ">", dir, w->file);
	/* Appended: what is written otherwise removes everybody's synthetic events. */
	e = kernel_tracefs_write(dir, w->file, w->text, true);
	if (!e)
		return 0;
	why = kernel_tracefs_error(dir, &column);
	err_at(err, -e, k->question, 0, "the kernel refuses this statement: %s",
	       why ? why : strerror(-e));
	free(why);
	return e;
}

/* Records of the synthetic event are the answer; a histogram needs no recording. */
static int begin_recording(const struct kernel_statement *k, const struct sql_writes *w,
			   struct err *err)
{
	const char *dir = kernel_instance_dir(k->instance);
	char *enable;
	int e;

	if (!w->joins)
		return 0;
	enable = mem_printf("events/synthetic/%s/enable", strchr(w->result, ':') + 1);
	/* Its times are shown, and are those of the histograms. */
	e = kernel_tracefs_write(dir, "trace_clock", "global", false);
	e = e ? e : kernel_tracefs_write(dir, enable, "1", false);
	e = e ? e : kernel_tracefs_write(dir, "tracing_on", "1", false);
	free(enable);
	return e ? err_set(err, -e, "the kernel does not record the statement's event: %s",
			   strerror(-e)) : 0;
}

/* The program waits until every write is done: no event of it is missed. */
static int set_up(struct kernel_statement *k, const struct sql_writes *w, struct err *err)
{
	int e = kernel_instance_open(false, &k->instance, err);

	if (!e && k->inv->n_operands)
		e = waiting_program_start(&k->program, k->inv->operands, err);
	if (!e)
		e = kernel_tasks_choose(k->instance, k->program.pid, k->inv->pids.at,
					k->inv->pids.n, err);
	for (size_t i = 0; i < w->at.n && !e; i++)
		e = write_one(k, &w->at.at[i], err);
	return e ? e : begin_recording(k, w, err);
}

/* A join makes events, which are in the trace; everything else is a histogram. */
static int print_answer(struct kernel_statement *k, const struct sql_writes *w)
{
	const char *colon = strchr(w->result, ':');
	char *file = w->joins ? mem_strdup("trace")
			      : mem_printf("events/%.*s/%s/hist", (int)(colon - w->result),
					   w->result, colon + 1);
	char *text = kernel_tracefs_read(kernel_instance_dir(k->instance), file);
	struct screen o;

	free(file);
	screen_open_begun(&o, k->inv, SCREEN_PLAIN, NULL);
	out_str(&o.text, text ? text : "");
	free(text);
	return screen_close(&o, 0);
}

/* The last first: it reads the variables of those before it. */
static void remove_triggers(const struct kernel_statement *k, const struct sql_writes *w)
{
	for (size_t i = k->instance ? w->at.n : 0; i > 0; i--)
		if (!strncmp(w->at.at[i - 1].file, "events/", 7))
			kernel_triggers_remove(kernel_instance_dir(k->instance),
					       w->at.at[i - 1].file, w->at.at[i - 1].text);
}

/* The exit status, said. */
static int run(struct kernel_statement *k, const struct sql_writes *w)
{
	struct invocation *inv = k->inv;
	struct err err;
	int status;

	if (screen_file_begin(inv, &err) || set_up(k, w, &err))
		status = say_error(&err);
	else
		status = k->program.pid ? waiting_program_release(&k->program, inv->operands[0])
					: 0;
	if (status) {
		screen_file_drop(inv);
		return status;
	}
	waiting_program_wait(&k->program, inv->duration_ns);
	if (w->joins)
		kernel_instance_stop(k->instance);
	status = print_answer(k, w);
	if (k->program.pid)
		say("brace: stopping; the program goes on\n");
	return status || k->program.pid || !inv->n_operands ? status
							    : run_exit(k->program.wait_status);
}

/* Triggers are removed before the instance: those that read each other's variables would hold
 * it. */
int kernel_sql(struct invocation *inv, const char *question, const struct sql_writes *w)
{
	struct kernel_statement k = { .inv = inv, .question = question };
	struct err err;
	int status;

	kernel_remove_leftovers();
	waiting_program_catch_interrupts();
	status = run(&k, w);
	waiting_program_drop(&k.program);
	remove_triggers(&k, w);
	if (kernel_instance_close(k.instance, &err))
		status = say_error(&err);
	return status;
}
