/* SPDX-License-Identifier: MIT */
/* Called on the main thread, around the session. The kernel's settings are those of a command line
 * of its own, which has the options that begin with `k:`. */
#include "ui/kernel_beside.h"

#include <errno.h>

#include "ui/kernel_run.h"
#include "ui/kernel_commands.h"
#include "ui/kernel_settings.h"
#include "ui/run.h"
#include "ui/say.h"

/* The new process is there, and has not executed its program. */
static int follow_new(void *context, pid_t pid, struct err *err)
{
	struct kernel_beside *b = context;
	int e = kernel_source_follow(b->source, pid, err);

	return e ? e : kernel_source_start(b->source, err);
}

/* Processes that run already: followed before the kernel starts, so that none of their first
 * records is missing. */
static int follow_all(struct kernel_beside *b, const struct invocation *inv, struct err *err)
{
	int e = 0;

	for (size_t i = 0; i < inv->pids.n && !e; i++)
		e = kernel_source_follow(b->source, inv->pids.at[i], err);
	return e || !inv->pids.n ? e : kernel_source_start(b->source, err);
}

/* Switches tell where threads slept. */
static int write_settings(struct kernel_beside *b, struct invocation *kernels, struct err *err)
{
	struct kernel_instance *i = kernel_source_instance(b->source);
	int e = kernel_settings_write(kernels, i, err);

	return e ? e : kernel_instance_write(i, "set_event", "sched:sched_switch", true, err);
}

static int set_up(struct kernel_beside *b, struct invocation *inv, struct invocation *kernels,
		  struct err *err)
{
	int e = kernel_source_open(kernel_settings_shared(kernels), &b->source, err);

	if (!e)
		e = write_settings(b, kernels, err);
	if (!e && inv->elsewhere)
		e = kernel_source_watch_elsewhere(b->source, err);
	if (e)
		return e;
	b->producer = kernel_producer_new(b->source, err);
	if (b->producer && inv->verbose)
		kernel_run_say_way(b->source);
	return b->producer ? follow_all(b, inv, err) : -err->code;
}

static int refuse_elsewhere(void)
{
	struct err err;

	err_set(&err, EINVAL,
		"--elsewhere is for -k: it shows what others do for the program that is traced");
	return say_error(&err);
}

/* Does nothing without an option for the kernel. Leftovers of a killed brace go first, since they
 * would go on recording. */
int kernel_beside_begin(struct invocation *inv, struct kernel_beside *out)
{
	struct invocation kernels = { .verbose = inv->verbose, .kernel_alone = true };
	struct err err;
	int e;

	*out = (struct kernel_beside){ 0 };
	if (!inv->kernel && inv->elsewhere)
		return refuse_elsewhere();
	if (!inv->kernel)
		return 0;
	kernel_remove_leftovers();
	settings_init(&kernels.settings);
	kernels.writes = inv->kernel_writes;
	run_heed_interrupts(inv);
	e = set_up(out, inv, &kernels, &err);
	settings_free(&kernels.settings);
	if (e) {
		e = say_error(&err);
		kernel_producer_free(out->producer);
		kernel_source_close(out->source, NULL);
		return e;
	}
	out->beside = (struct session_beside){ kernel_producer_of(out->producer), follow_new, out };
	return 0;
}

const struct session_beside *kernel_beside_of(const struct kernel_beside *b)
{
	return b->source ? &b->beside : NULL;
}

/* status is the run's so far, and stays it unless closing fails. */
int kernel_beside_end(struct kernel_beside *b, const struct invocation *inv, int status)
{
	struct err err;

	if (!b->source)
		return status;
	if (!inv->quiet)
		kernel_run_say(b->source, 0);
	kernel_producer_free(b->producer);
	return kernel_source_close(b->source, &err) ? say_error(&err) : status;
}
