/* SPDX-License-Identifier: MIT */
/* One thread does all: it reads the rings every few milliseconds, and looks at the program and the
 * clock in between. brace's own calls are left out of the trace, because reading would make
 * records. */
#include "ui/kernel_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/clock.h"
#include "image/describe.h"
#include "shared/messages.h"
#include "kernel/tasks.h"
#include "ui/kernel_commands.h"
#include "ui/kernel_perf.h"
#include "ui/kernel_settings.h"
#include "ui/messages.h"
#include "ui/run.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/summary.h"
#include "ui/waiting_program.h"

/* Between two readings: twenty times a second is live for people. */
#define PASS_NS 50000000u

/* One for a command, from kernel_run_begin() to kernel_run_end(). */
struct kernel_run {
	struct invocation *inv;
	struct kernel_source *source;
	struct trace_info *info;
	struct clock clock;
	bool stored;            /* the records go to a file */
	struct waiting_program program;
	uint64_t end_ms;        /* CLOCK_MONOTONIC; 0: no --duration */
};

struct trace_info *kernel_run_info(struct kernel_run *k) { return k->info; }
struct kernel_used *kernel_run_used(struct kernel_run *k) { return kernel_source_used(k->source); }
uint64_t kernel_run_lost(struct kernel_run *k) { return kernel_source_lost(k->source); }

/* --- beginning -------------------------------------------------------------------------- */

/* With blanks between, for free(): what the trace shows as its command. */
static char *command_line(const struct invocation *inv)
{
	char *line = mem_strdup("");

	for (int i = 0; i < inv->n_operands; i++) {
		char *longer = mem_printf("%s%s%s", line, i ? " " : "", inv->operands[i]);

		free(line);
		line = longer;
	}
	return line;
}

/* Describes the machine and the run; the kernel's functions and events come to it later. */
static void describe_run(struct kernel_run *k)
{
	const struct settings *s = &k->inv->settings;

	k->info = describe(command_line(k->inv), s->tracer->name, s->tracing_thresh_ns);
	k->info->run.invocation = describe_cmdline((int)getpid());
	clock_measure_end(&k->clock, &k->info->clock);
}

/* perf's events begin to record with this. */
static int follow_by_perf(struct kernel_run *k, struct kernel_tracepoints *t, struct err *err)
{
	int e = 0;

	/* Without a program and without -p all tasks are traced, but for brace itself. */
	if (!k->program.pid && !k->inv->pids.n)
		return kernel_tracepoints_follow_all(t, err);
	if (k->program.pid)
		e = kernel_tracepoints_follow(t, k->program.pid, err);
	for (size_t i = 0; i < k->inv->pids.n && !e; i++)
		e = kernel_tracepoints_follow(t, k->inv->pids.at[i], err);
	return e;
}

/* An instance's settings come behind its tasks; those of perf's events are there already. The
 * program has a number already, and waits: none of its records is missed, and no other task's is
 * taken. */
static int choose_tasks(struct kernel_run *k, struct err *err)
{
	struct kernel_tracepoints *t = kernel_source_tracepoints(k->source);
	struct kernel_instance *i = kernel_source_instance(k->source);
	int e;

	if (t)
		return follow_by_perf(k, t, err);
	e = kernel_tasks_choose(i, k->program.pid, k->inv->pids.at, k->inv->pids.n, err);
	return e ? e : kernel_settings_write(k->inv, i, err);
}

/* 0, or -errno and *err. The program, if there is one, waits. */
static int set_up(struct kernel_run *k, bool stored, struct err *err)
{
	int e = kernel_source_open(kernel_settings_shared(k->inv), &k->source, err);

	/* tracefs first; perf's events in its place are for users who are not root, and for events
	 * alone. In any other case the refusal of tracefs is what is told. */
	if (e)
		e = kernel_perf_open(k->inv, false, e, &k->source, err);
	/* Behind the source: a kernel that cannot be traced starts no process. */
	if (!e && k->inv->n_operands)
		e = waiting_program_start(&k->program, k->inv->operands, err);
	if (!e)
		e = choose_tasks(k, err);
	if (!e)
		describe_run(k);
	if (!e)
		e = kernel_source_begin(k->source, k->info, stored, 0, err);
	if (!e && k->inv->verbose)
		kernel_run_say_way(k->source);
	return e ? e : kernel_source_start(k->source, err);
}

/* Frees k, and ends a program that waits. 0, or -errno and *err: the instance is still there. The
 * program goes first: it must not run once its records have nowhere to go. Works on a run that is
 * half set up. */
static int tear_down(struct kernel_run *k, struct err *err)
{
	int e;

	waiting_program_drop(&k->program);
	e = kernel_source_close(k->source, err);
	trace_info_free(k->info);
	clock_end(&k->clock);
	free(k);
	return e;
}

/* stored: a file is to be written, so that only those functions are kept that it names. On
 * failure everything is as before: the instance is gone, and a program that waited is ended
 * without having run. */
int kernel_run_begin(struct invocation *inv, bool stored, struct kernel_run **out)
{
	struct kernel_run *k = mem_zalloc(sizeof(*k));
	int status = 0;
	struct err err;

	k->inv = inv;
	k->stored = stored;
	/* Instances of a brace that was killed record for ever otherwise, and hold their buffers'
	 * memory. */
	kernel_remove_leftovers();
	/* Before the instance is made: a Ctrl-C that ended brace at once would leave it in the
	 * kernel, recording. */
	waiting_program_catch_interrupts();
	clock_begin(&k->clock);
	k->clock.printed = !stored;
	if ((!stored && screen_file_begin(inv, &err)) || set_up(k, stored, &err))
		status = say_error(&err);
	else if (k->program.pid)
		status = waiting_program_release(&k->program, inv->operands[0]);
	if (status) {
		screen_file_drop(inv);
		tear_down(k, NULL);
		return status;
	}
	if (inv->duration_ns)
		/* --duration begins when the program does. */
		k->end_ms = monotonic_ms() + inv->duration_ns / 1000000;
	*out = k;
	return 0;
}

/* --- reading ---------------------------------------------------------------------------- */

/* The first of three ends: the program's, an interrupt, --duration. */
static bool is_over(struct kernel_run *k)
{
	return waiting_program_is_over(&k->program) ||
	       (k->end_ms && monotonic_ms() >= k->end_ms);
}

static void wait_briefly(void)
{
	const struct timespec t = { .tv_nsec = PASS_NS };

	nanosleep(&t, NULL);
}

void kernel_run_place(const struct kernel_run *k, struct event *e)
{
	clock_place(&k->clock, e);
}

/* The last pass comes after recording has stopped, and takes all that is left: nothing is lost by
 * the end itself. */
int kernel_run_read(struct kernel_run *k, kernel_rings_sink *sink,
		    int (*after)(void *context, bool fresh, struct err *err), void *context,
		    struct err *err)
{
	bool fresh, over;
	int e;

	do {
		/* The clock's pairs come before the records that need them: an event is placed
		 * between two pairs, and the sink is given it at once. */
		clock_take_pairs(&k->clock, k->info);
		kernel_source_set_clock(k->source, &k->clock);
		over = is_over(k);
		if (over)
			kernel_source_stop(k->source);
		/* Up to now only: records of different CPUs are merged by time, and later ones of a
		 * CPU that was read first would come before earlier ones of the others. The last
		 * pass has no such limit. */
		e = kernel_source_pass(k->source, over ? UINT64_MAX : clock_tsc(), sink, context,
				       &fresh, err);
		if (!e)
			e = after(context, fresh, err);
		if (!over && !e)
			wait_briefly();
	} while (!over && !e);
	return e;
}

/* The rate is finer over the whole time, and processors whose clocks differ are further apart. */
void kernel_run_describe_end(struct kernel_run *k)
{
	clock_refine(&k->clock, &k->info->clock);
	clock_take_pairs(&k->clock, k->info);
	/* Once, although this is called by both the writer of the file and kernel_run_end(). */
	if (!k->clock.steady && !k->info->messages.n)
		*vec_add(&k->info->messages) = clock_message(&k->clock, k->info, k->stored);
}

/* --- the end ---------------------------------------------------------------------------- */

void kernel_run_say_way(const struct kernel_source *source)
{
	say("brace: the kernel's buffers are read by %s\n", kernel_source_way(source));
}

/* The closing line. Losses are told by CPU, because they are mostly one CPU's. */
void kernel_run_say(struct kernel_source *source, uint64_t bytes, const char *option)
{
	struct kernel_counts counts = { 0 };
	char n[32];
	uint64_t all = 0;

	kernel_source_count(source, &counts);
	say("brace: %s records of the kernel", summary_grouped(counts.kept, n));
	if (bytes)
		say(", %s bytes", summary_grouped(bytes, n));
	for (size_t cpu = 0; cpu < counts.lost.n; cpu++) {
		const uint64_t lost = counts.lost.at[cpu];

		if (lost)
			say("%s%s on CPU %zu", all ? ", " : "; lost: ", summary_grouped(lost, n),
			    cpu);
		all += lost;
	}
	if (all)
		say(" (a larger buffer, %s, loses less)\n", option);
	else
		say(", none lost\n");
	if (counts.unknown)
		say("brace: %s further records could not be read: of an event without a known format, or longer than 504 bytes\n",
		    summary_grouped(counts.unknown, n));
	vec_free(&counts.lost);
}

static void say_messages(const struct trace_info *info)
{
	struct out out;

	out_init(&out, say_bytes, NULL);
	messages_print(&out, "brace: ", info->messages.at, info->messages.n);
	out_flush(&out);
	out_free(&out);
}

/* bytes: of the file, 0: none. A program that still runs goes on; its end is not waited for.
 * `ended` before tear_down() frees k: the status of a program that ended is brace's own, by
 * run_exit(), which may not return. */
int kernel_run_end(struct kernel_run *k, uint64_t bytes, int status)
{
	bool program = k->inv->n_operands > 0, ended = program && !k->program.pid;
	int wait_status = k->program.wait_status;
	struct err err;

	kernel_run_describe_end(k);
	if (!k->inv->quiet) {
		kernel_run_say(k->source, bytes, "-b");
		say_messages(k->info);
	}
	if (program && !ended)
		say("brace: stopping; the program goes on untraced\n");
	if (tear_down(k, &err))
		status = say_error(&err);
	return status || !ended ? status : run_exit(wait_status);
}
