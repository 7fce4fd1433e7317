/* SPDX-License-Identifier: MIT */
/* Called on the main thread, around the session. The kernel's settings are those of a command line
 * of its own, which has the options that begin with `k:`. What the kernel refuses is the command's
 * error. */
#include "ui/kernel_beside.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kernel/producer.h"
#include "ui/kernel_perf.h"
#include "ui/kernel_run.h"
#include "ui/kernel_commands.h"
#include "ui/kernel_settings.h"
#include "ui/run.h"
#include "ui/say.h"

struct kernel_beside {
	struct kernel_source *source;
	struct kernel_producer *producer;
};

/* The new process is there, and has not executed its program. */
static int follow_new(void *context, pid_t pid, struct err *err)
{
	struct kernel_beside *b = context;
	/* Followed first, then started, so that none of the program's first records is missing. */
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
	int e = 0;

	if (!i)
		return 0; /* kernel_perf_open() has done it */
	e = kernel_settings_write(kernels, i, err);
	return e ? e : kernel_instance_write(i, "set_event", "sched:sched_switch", true, err);
}

static int set_up(struct kernel_beside *b, struct invocation *inv, struct invocation *kernels,
		  struct err *err)
{
	int e = kernel_source_open(kernel_settings_shared(kernels), &b->source, err);

	if (e)
		e = kernel_perf_open(kernels, true, e, &b->source, err);
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

/* Leftovers of a killed brace go first, since they would go on recording. */
static int begin_kernel(struct kernel_beside *b, struct invocation *inv)
{
	/* The functions of kernel_settings.c take an invocation: this one has only the kernel's
	 * writes, which inv goes on owning. */
	struct invocation kernels = { .verbose = inv->verbose, .kernel_alone = true };
	struct err err;
	int e;

	kernel_remove_leftovers();
	settings_init(&kernels.settings);
	kernels.writes = inv->kernel_writes;
	/* Before the instance is made: an interrupt that ended brace at once would leave it behind,
	 * recording. */
	run_heed_interrupts(inv);
	e = set_up(b, inv, &kernels, &err);
	settings_free(&kernels.settings);
	if (!e)
		return 0;
	e = say_error(&err);
	/* The producer reads the source, and goes before it. NULL is fine for both. */
	kernel_producer_free(b->producer);
	kernel_source_close(b->source, NULL);
	return e;
}

int kernel_beside_begin(struct invocation *inv, struct session_beside *out, void **own)
{
	struct kernel_beside *b;
	int status;

	if (!inv->kernel)
		return inv->elsewhere ? refuse_elsewhere() : 0;
	b = mem_zalloc(sizeof(*b));
	status = begin_kernel(b, inv);
	if (status) {
		free(b);
		return status;
	}
	*out = (struct session_beside){ kernel_producer_of(b->producer), follow_new, b, NULL };
	*own = b;
	return 0;
}

/* status is the run's so far, and stays it unless closing fails. */
int kernel_beside_end(void *own, const struct invocation *inv, int status)
{
	struct kernel_beside *b = own;
	struct err err;

	if (!inv->quiet)
		kernel_run_say(b->source, 0, "-b k:SIZE");
	kernel_producer_free(b->producer);
	if (kernel_source_close(b->source, &err))
		status = say_error(&err);
	free(b);
	return status;
}
