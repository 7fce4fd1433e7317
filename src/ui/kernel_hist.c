/* SPDX-License-Identifier: MIT */
/* The tasks that count are those of the instance's set_event_pid (kernel/tasks.h), which triggers
 * heed. cmd/hist.c calls it, on brace's only thread. What fails is said, and ends the command with
 * EXIT_BRACE. */
#include "ui/kernel_hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/stamp.h"
#include "hist/question.h"
#include "kernel/instance.h"
#include "kernel/probes.h"
#include "kernel/tasks.h"
#include "kernel/tracefs.h"
#include "ui/kernel_commands.h"
#include "ui/run.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/waiting_program.h"

/* In registers, by x86-64's and arm64's calling conventions (arm64 has eight): $arg1 to $arg6 of
 * the questions. */
#define ARGUMENTS 6u

struct kernel_histogram {
	struct invocation *inv;
	struct kernel_instance *instance;
	struct waiting_program program;
	VEC(char *) paths;      /* of the events, in the instance */
};

/* --- which event ------------------------------------------------------------------------ */

struct event_search { const char *name; size_t n; char *found; };

/* A line "SYSTEM:EVENT" is the one that is named so, by SYSTEM/EVENT, SYSTEM.EVENT or EVENT. A
 * kernel_tracefs_lines() callback: false ends the reading. */
static bool is_event(void *context, const char *line)
{
	struct event_search *s = context;
	const char *event = strchr(line, ':');
	const size_t n = strlen(line), before = event ? (size_t)(event - line) : 0;
	const bool whole = n == s->n && !strncmp(line, s->name, before) &&
			   strchr(":/.", s->name[before]) &&
			   !strncmp(event + 1, s->name + before + 1, n - before - 1);

	if (!event || (!whole && (strlen(event + 1) != s->n || strncmp(event + 1, s->name, s->n))))
		return true;
	s->found = mem_strdup(line);
	return false;
}

/* Whether the trigger has the word, alone. */
static bool uses_word(const char *trigger, const char *word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	const size_t n = strlen(word);

	for (const char *at = trigger; (at = strstr(at, word)); at++)
		if ((at == trigger || !strchr(letters, at[-1])) &&
		    (!at[n] || !strchr(letters, at[n])))
			return true;
	return false;
}

/* "p:vfs_read vfs_read $arg*": the arguments by their names, where the kernel knows them; by their
 * numbers, if the question has these; what the function returned. A probe at a return for questions
 * about $retval, which also may name arguments. */
static char *probe_text(const struct hist_question *q, bool names)
{
	static const char suffix[] = "%return";
	const size_t cut = strlen(suffix);
	const char *target = q->text + q->at;
	const bool suffixed = q->n > cut && !strncmp(target + q->n - cut, suffix, cut);
	const bool returns = suffixed || uses_word(q->trigger, "retval");
	const int n = (int)(suffixed ? q->n - cut : q->n);
	char *text = mem_printf("%c:%.*s %.*s%s%s", returns ? 'r' : 'p', n, target, n, target,
				names ? " $arg*" : "", returns ? " retval=$retval:s64" : "");

	for (unsigned i = 1; i <= ARGUMENTS && !names; i++) {
		char *name = mem_printf("arg%u", i), *more;

		if (uses_word(q->trigger, name)) {
			more = mem_printf("%s %s=$%s:u64", text, name, name);
			free(text);
			text = more;
		}
		free(name);
	}
	return text;
}

/* $arg1 to $arg6 become fields of these names, so that the question's own words stay. */
static bool uses_numbers(const char *trigger)
{
	bool is = false;

	for (unsigned i = 1; i <= ARGUMENTS; i++) {
		char *name = mem_printf("arg%u", i);

		is |= uses_word(trigger, name);
		free(name);
	}
	return is;
}

/* First by names, unless the question has numbers; a kernel without BTF has numbers alone. */
static int define_probe(struct kernel_instance *i, const struct hist_question *q, char **event,
			struct err *err)
{
	int e = -1;

	for (int names = !uses_numbers(q->trigger); names >= 0 && e; names--) {
		char *text = probe_text(q, names);

		e = kernel_probes_define(i, text, event, err);
		free(text);
	}
	return e;
}

/* *event: SYSTEM:EVENT, for free(). An event of the name comes before a function of it, as for
 * programs. */
static int find_event(struct kernel_instance *i, const struct hist_question *q, char **event,
		      struct err *err)
{
	struct event_search s = { q->text + q->at, q->n, NULL };

	kernel_tracefs_lines(kernel_instance_top(i), "available_events", is_event, &s);
	*event = s.found;
	return s.found ? 0 : define_probe(i, q, event, err);
}

/* --- the trigger ------------------------------------------------------------------------ */

/* Without a clock of its own a trigger with time stamps would change the instance's. The clock
 * stands before the filter: behind " if " it would be a part of it. */
static char *with_clock(const char *trigger)
{
	const char *filter = strstr(trigger, " if ");
	const int n = (int)(filter ? (size_t)(filter - trigger) : strlen(trigger));
	const bool stamped = strstr(trigger, "common_timestamp") && !strstr(trigger, ":clock=");

	return mem_printf("%.*s%s%s", n, trigger, stamped ? ":clock=" STAMP_CLOCK : "",
			  filter ? filter : "");
}

/* The kernel's sentence, but not its column: it is one of the trigger that brace has made of the
 * question. */
static int tell_refusal(const struct kernel_histogram *h, const char *question, int e,
			struct err *err)
{
	size_t column;
	char *why = kernel_tracefs_error(kernel_instance_dir(h->instance), &column);

	err_at(err, -e, question, 0, "the kernel refuses this histogram: %s",
	       why ? why : strerror(-e));
	free(why);
	return e;
}

/* The histogram's path is kept in the order of the questions, in which they are printed. */
static int ask_kernel(struct kernel_histogram *h, const char *question, struct err *err)
{
	struct hist_question q;
	char *event = NULL, *path, *trigger;
	int e = hist_question_parse(question, &q, err);

	if (!e)
		e = find_event(h->instance, &q, &event, err);
	if (!e) {
		/* find_event() gives SYSTEM:EVENT; the tree has folders. */
		*strchr(event, ':') = '/';
		path = mem_printf("events/%s/trigger", event);
		trigger = with_clock(q.trigger);
		e = kernel_tracefs_write(kernel_instance_dir(h->instance), path, trigger, true);
		*vec_add(&h->paths) = mem_printf("events/%s/hist", event);
		if (e)
			e = tell_refusal(h, question, e, err);
		free(trigger);
		free(path);
	}
	free(event);
	hist_question_free(&q);
	return e;
}

/* --- the run ---------------------------------------------------------------------------- */

/* The kernel prints its histograms itself: what it has no words for is refused here, before it is
 * asked. */
static int check_line(const struct invocation *inv, struct err *err)
{
	if (inv->durations)
		return err_set(err, EINVAL,
			       "-d is for functions of programs: how long the kernel's last tells brace report of brace record -K");
	if (inv->top || inv->json)
		return err_set(err, EINVAL,
			       "a histogram of the kernel is printed by the kernel, at the end: not with --top and --json");
	if (!inv->n_questions)
		return err_set(err, EINVAL,
			       "count what? 'vfs_read count.log2', 'sched_switch next_comm'");
	return 0;
}

/* The program waits until all triggers count. */
static int set_up(struct kernel_histogram *h, struct err *err)
{
	int e = kernel_instance_open(false, &h->instance, err);

	if (!e && h->inv->n_operands)
		e = waiting_program_start(&h->program, h->inv->operands, err);
	if (!e)
		e = kernel_tasks_choose(h->instance, h->program.pid, h->inv->pids.at,
					h->inv->pids.n, err);
	for (int i = 0; i < h->inv->n_questions && !e; i++)
		e = ask_kernel(h, h->inv->questions[i], err);
	return e;
}

/* The files' text as it is: sorting, units and dots are the kernel's. A histogram that cannot be
 * read is left out: the others are worth printing. */
static int print_all(struct kernel_histogram *h)
{
	struct screen o;

	screen_open_begun(&o, h->inv, SCREEN_PLAIN, NULL);
	for (size_t i = 0; i < h->paths.n; i++) {
		char *text = kernel_tracefs_read(kernel_instance_dir(h->instance), h->paths.at[i]);

		out_str(&o.text, text ? text : "");
		free(text);
	}
	return screen_close(&o, 0);
}

/* The exit status, said. */
static int run_histogram(struct kernel_histogram *h)
{
	struct invocation *inv = h->inv;
	struct err err;
	int status;

	if (screen_file_begin(inv, &err) || set_up(h, &err))
		status = say_error(&err);
	else
		status = h->program.pid ? waiting_program_release(&h->program, inv->operands[0])
					: 0;
	if (status) {
		screen_file_drop(inv);
		return status;
	}
	waiting_program_wait(&h->program, inv->duration_ns);
	status = print_all(h);
	if (h->program.pid)
		say("brace: stopping; the program goes on\n");
	return status || h->program.pid || !inv->n_operands ? status
							    : run_exit(h->program.wait_status);
}

/* The instance goes last, and its triggers and probes with it. */
int kernel_hist(struct invocation *inv)
{
	struct kernel_histogram h = { .inv = inv };
	struct err err;
	int status;

	if (check_line(inv, &err))
		return say_error(&err);
	/* Instances of a killed brace would go on counting. */
	kernel_remove_leftovers();
	waiting_program_catch_interrupts();
	status = run_histogram(&h);
	/* Before the instance is closed: a program that still waits must not begin untraced. */
	waiting_program_drop(&h.program);
	if (kernel_instance_close(h.instance, &err))
		status = say_error(&err);
	for (size_t i = 0; i < h.paths.n; i++)
		free(h.paths.at[i]);
	vec_free(&h.paths);
	return status;
}
