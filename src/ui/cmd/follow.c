/* SPDX-License-Identifier: MIT */
/* brace follow: an object through all functions that take it. main() calls it, on brace's only
 * thread, which also reads the kernel's events and looks at the program in between. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "follow/presets.h"
#include "follow/print.h"
#include "ui/commands.h"
#include "ui/follow_output.h"
#include "ui/follow_program.h"
#include "ui/run.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/summary.h"
#include "ui/waiting_program.h"

#define WAIT_MS 50
#define LIMIT_USUAL 200u

struct following {
	struct invocation *inv;
	struct follow_preset preset;
	struct follow_expression expression;
	struct follow_shown shown;
	uint32_t pids[FOLLOW_PIDS];
	struct follow_kernel *kernel;
	struct waiting_program program;
	struct follow_output output;
	uint64_t attach_ms, end_ms;
	char *type;
};

/* --- the command line ------------------------------------------------------------------- */

/* The kernel's program compares each thread with a list of fixed size: more would cost every
 * call. */
static int read_pids(struct following *f, struct err *err)
{
	size_t n = f->inv->pids.n;

	if (n > FOLLOW_PIDS)
		return err_set(err, EINVAL, "-p: follow takes at most %u processes", FOLLOW_PIDS);
	for (size_t i = 0; i < n; i++)
		f->pids[i] = (uint32_t)f->inv->pids.at[i];
	return 0;
}

/* Opens the kernel's side as the command line says. 0, or -errno and *err. */
static int open_kernel(struct following *f, struct err *err)
{
	struct invocation *inv = f->inv;
	struct follow_wish wish = {
		.expression = &f->expression,
		.shown = &f->shown,
		.pids = f->pids,
		.n_pids = inv->pids.n,
		.filter = &inv->settings.filter,
		.notrace = &inv->settings.notrace,
		.modules = &inv->settings.modules,
		.limit = inv->limit ? inv->limit : LIMIT_USUAL,
		.ends_usual = !inv->of_follow.ends.n,
		.ends = f->preset.ends,
		.way = inv->of_follow.attach,
	};
	int e = follow_output_by(inv, &wish.by_identity, err);

	if (!e)
		e = follow_output_lists(inv, err);
	if (!e)
		e = read_pids(f, err);
	if (e)
		return e;
	*vec_add(&inv->of_follow.ends) = NULL;
	if (inv->of_follow.ends.n > 1)
		wish.ends = inv->of_follow.ends.at;
	return follow_kernel_open(&wish, &f->kernel, err);
}

/* The buffers of the kernel's side have one size. */
static int check_buffers(const struct invocation *inv, struct err *err)
{
	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct option *o = inv->writes.at[i].option;

		if (o && (!strcmp(o->name, "buffer-size") || !strcmp(o->name, "mode")))
			return err_set(err, EINVAL, "--%s is for objects of programs, not of the kernel (-k)",
				       o->name);
	}
	return 0;
}

/* Faults that show without the kernel's types are refused first. */
static int read_command_line(struct following *f, struct err *err)
{
	struct invocation *inv = f->inv;
	int e = check_buffers(inv, err);

	if (!e)
		e = invocation_settings(inv, err);

	if (!e)
		e = follow_preset_read(inv->questions[0], &f->preset, err);
	if (!e)
		e = follow_expression_parse(f->preset.text, &f->expression, err);
	if (!e && f->expression.by_value)
		e = err_set(err, EINVAL, "%s: objects of the kernel have types: struct sk_buff, for example", inv->questions[0]);
	if (!e && inv->of_follow.show)
		e = follow_shown_parse(inv->of_follow.show, &f->shown, err);
	if (!e)
		follow_preset_ends(&f->preset, f->expression.type);
	return e;
}

/* --- printing --------------------------------------------------------------------------- */

/* By the number that events carry. */
static const struct follow_function *function_of(void *context, uint32_t n)
{
	struct following *f = context;

	return follow_kernel_function(f->kernel, n);
}

/* After the kernel's side is open: the plan tells which columns there are. */
static void open_output(struct following *f)
{
	struct follow_output_of of = {
		.plan = follow_kernel_plan(f->kernel), .shown = &f->shown,
		.max_depth = f->inv->settings.max_graph_depth, .function = function_of,
		.context = f,
	};

	f->type = mem_printf("struct %s", f->expression.type);
	of.type = f->type;
	follow_output_open(&f->output, f->inv, &of);
}

/* --- what was missed --------------------------------------------------------------------- */

/* Always said, also if all are watched: an object that is not seen may have been in one of the
 * others. */
static void say_functions(const struct following *f)
{
	const struct follow_census *c = follow_kernel_census(f->kernel);
	const char *before = "; not watched: ";
	char watched[32], takes[32];

	say("brace: %s of %s functions that take a %s watched by %s, attached in %.2f s",
	    summary_grouped(c->watched, watched), summary_grouped(c->takes, takes), f->type,
	    follow_kernel_way_name(follow_kernel_way(f->kernel)), (double)f->attach_ms / 1000);
	follow_output_say_count(c->untraceable, "not traceable", &before);
	follow_output_say_count(c->beyond, "that take it on the stack", &before);
	follow_output_say_count(c->ambiguous, "whose name is not unique", &before);
	follow_output_say_count(c->unchosen, "not chosen", &before);
	follow_output_say_count(c->refused, "refused by the kernel", &before);
	say("\n");
}

/* All three counters, always. */
static void say_losses(const struct follow_losses *l)
{
	const char *before = "; also ";
	char full[32], missed[32], recursed[32];

	say("brace: lost: %s events (buffer full), %s calls (missed by the kernel), %s calls (another BPF program ran)",
	    summary_grouped(l->full, full),
	    l->known_missed ? summary_grouped(l->missed, missed) : "unknown",
	    summary_grouped(l->recursed, recursed));
	follow_output_say_count(l->deep, "returns of calls that lay too deep", &before);
	follow_output_say_count(l->crowded, "objects (too many at once)", &before);
	say("\n");
}

static void say_summary(const struct following *f, const struct follow_losses *losses)
{
	if (f->inv->quiet)
		return;
	follow_output_say_totals(&f->output);
	say_functions(f);
	say_losses(losses);
}

/* --- following -------------------------------------------------------------------------- */

/* A reader that has gone ends the following, too: nobody looks any more. */
static bool is_over(struct following *f)
{
	return waiting_program_is_over(&f->program) || screen_is_done(&f->output.screen) ||
	       (f->end_ms && monotonic_ms() >= f->end_ms);
}

/* The exit status, said if brace's own. */
static int read_events(struct following *f)
{
	struct follow_losses losses;
	struct err err;
	bool over;
	int e;

	do {
		over = is_over(f);
		e = follow_kernel_read(f->kernel, over ? 0 : WAIT_MS, follow_output_event,
				       &f->output, &err);
		out_flush(&f->output.screen.text);
	} while (!over && !e);
	follow_kernel_losses(f->kernel, &losses);
	follow_kernel_detach(f->kernel);
	if (!e)
		e = follow_kernel_read(f->kernel, 0, follow_output_event, &f->output, &err);
	follow_output_end(&f->output);
	say_summary(f, &losses);
	return e ? say_error(&err) : 0;
}

/* Makes all ready: the file of -o, the program, which waits, and the functions. 0, or -errno and
 * *err. */
static int set_up(struct following *f, struct err *err)
{
	uint64_t began = monotonic_ms();
	int e = screen_file_begin(f->inv, err);

	if (!e && f->inv->n_operands)
		e = waiting_program_start(&f->program, f->inv->operands, err);
	if (!e)
		e = follow_kernel_attach(f->kernel, err);
	f->attach_ms = monotonic_ms() - began;
	return e;
}

/* Lets the program run, and follows to its end. The exit status. */
static int run_following(struct following *f)
{
	struct invocation *inv = f->inv;
	struct err err;
	int status = 0;

	waiting_program_catch_interrupts();
	if (set_up(f, &err))
		status = say_error(&err);
	else if (inv->n_operands)
		status = waiting_program_release(&f->program, inv->operands[0]);
	if (status) {
		waiting_program_drop(&f->program);
		screen_file_drop(inv);
		return status;
	}
	open_output(f);
	if (inv->duration_ns)
		f->end_ms = monotonic_ms() + inv->duration_ns / 1000000;
	status = read_events(f);
	if (f->program.pid)
		say("brace: stopping; the program goes on\n");
	return status;
}

static void free_all(struct following *f)
{
	follow_kernel_close(f->kernel);
	follow_shown_free(&f->shown);
	follow_preset_free(&f->preset);
	free(f->type);
}

int cmd_follow(struct invocation *inv)
{
	struct following f = { .inv = inv };
	struct err err;
	int status;

	if (!inv->kernel)
		return follow_program_run(inv);
	if (read_command_line(&f, &err) || open_kernel(&f, &err))
		status = say_error(&err);
	else
		status = follow_output_close(&f.output, run_following(&f));
	free_all(&f);
	/* The program's, if it ran to its end. */
	return status || !inv->n_operands || f.program.pid ? status
							   : run_exit(f.program.wait_status);
}
