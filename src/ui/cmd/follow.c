/* SPDX-License-Identifier: MIT */
/* brace follow: an object through all functions that take it. main() calls it, on brace's only
 * thread, which also reads the kernel's events and looks at the program in between. A failure is
 * said, and is EXIT_BRACE. */
#include <errno.h>
#include <string.h>

#include "base/monotonic.h"
#include "ui/commands.h"
#include "ui/follow_output.h"
#include "ui/follow_program.h"
#include "ui/follow_side.h"
#include "ui/run.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/waiting_program.h"

#define WAIT_MS 50

struct following {
	struct invocation *inv;
	struct follow_side side;
	struct waiting_program program;
	struct follow_output output;
	uint64_t end_ms;
};

/* --- the command line ------------------------------------------------------------------- */

/* Whether objects are met in some processes only: those of -p; a descriptor and a buffer are also a
 * program's. */
static bool asks_for_some(const struct following *f)
{
	return f->inv->pids.n || f->side.preset.descriptor >= 0 || f->side.preset.buffer_bytes;
}

/* Opens the kernel's side as the command line says. 0, or -errno and *err. */
static int open_kernel(struct following *f, struct err *err)
{
	struct invocation *inv = f->inv;
	bool named = inv->of_follow.ends.n;

	if (inv->pids.n > FOLLOW_PIDS)
		return err_set(err, EINVAL, "-p: follow takes at most %u processes", FOLLOW_PIDS);
	*vec_add(&inv->of_follow.ends) = NULL;
	return follow_side_open(&f->side, inv, &inv->settings,
				named ? inv->of_follow.ends.at : NULL, asks_for_some(f), err);
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

	if (!e && inv->of_follow.into)
		e = err_set(err, EINVAL, "--into leads from a program's object into the kernel: leave -k out");
	if (!e)
		e = invocation_settings(inv, err);
	if (!e)
		e = follow_side_read(&f->side, inv->questions[0], inv->of_follow.show, err);
	if (!e && f->side.preset.descriptor >= 0 && !inv->pids.n && !inv->n_operands)
		e = err_set(err, EINVAL, "%s: whose descriptor? Name a process by -p, or a program behind --",
			    inv->questions[0]);
	if (!e && f->side.preset.buffer_bytes && !inv->pids.n && !inv->n_operands)
		e = err_set(err, EINVAL, "%s: whose memory? Name a process by -p, or a program behind --",
			    inv->questions[0]);
	return e;
}

/* --- printing --------------------------------------------------------------------------- */

/* By the number that events carry. */
static const struct follow_function *function_of(void *context, uint32_t n)
{
	struct following *f = context;

	return follow_kernel_function(f->side.kernel, n);
}

/* After the kernel's side is open: the plan tells which columns there are. */
static void open_output(struct following *f)
{
	struct follow_print print = {
		.plan = follow_kernel_plan(f->side.kernel), .shown = &f->side.shown,
		.max_depth = f->inv->settings.max_graph_depth, .function = function_of,
		.context = f, .type = f->side.type,
	};

	follow_output_open(&f->output, f->inv, &print);
}

/* --- what was missed --------------------------------------------------------------------- */

/* Also with -q: who reads the lines has to know what is missing. */
static void print_summary(struct following *f, const struct follow_losses *losses)
{
	follow_output_print_totals(&f->output);
	if (f->output.json)
		follow_side_print_json(&f->side, losses, &f->output.screen.text);
}

static void say_summary(const struct following *f, const struct follow_losses *losses)
{
	if (f->inv->quiet)
		return;
	follow_output_say_totals(&f->output);
	follow_side_say_functions(&f->side);
	follow_side_say_losses(losses);
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
		e = follow_kernel_read(f->side.kernel, over ? 0 : WAIT_MS, follow_output_event,
				       &f->output, &err);
		out_flush(&f->output.screen.text);
	} while (!over && !e);
	follow_kernel_losses(f->side.kernel, &losses);
	follow_side_detach(&f->side);
	if (!e)
		e = follow_kernel_read(f->side.kernel, 0, follow_output_event, &f->output, &err);
	follow_output_end(&f->output);
	print_summary(f, &losses);
	say_summary(f, &losses);
	return e ? say_error(&err) : 0;
}

/* The processes whose calls may be the first ones of an object. */
static int ask_for_all(struct following *f, struct err *err)
{
	struct follow_kernel *k = f->side.kernel;
	bool done = !asks_for_some(f) || !f->program.pid ||
		    follow_kernel_ask_for(k, (uint32_t)f->program.pid, true);

	for (size_t i = 0; i < f->inv->pids.n; i++)
		done &= follow_kernel_ask_for(k, (uint32_t)f->inv->pids.at[i], false);
	return done ? 0 : err_set(err, ENOMEM, "the kernel has no room for the processes' numbers");
}

/* Makes all ready: the file of -o, the program, which waits, and the functions. 0, or -errno and
 * *err. */
static int set_up(struct following *f, struct err *err)
{
	uint64_t began;
	int e = screen_file_begin(f->inv, err);

	if (!e && f->inv->n_operands)
		e = waiting_program_start(&f->program, f->inv->operands, err);
	began = monotonic_ms();
	if (!e)
		e = follow_kernel_attach(f->side.kernel, err);
	f->side.attach_ms = monotonic_ms() - began;
	return e ? e : ask_for_all(f, err);
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
	follow_side_free(&f.side);
	/* The program's, if it ran to its end. */
	return status || !inv->n_operands || f.program.pid ? status
							   : run_exit(f.program.wait_status);
}
