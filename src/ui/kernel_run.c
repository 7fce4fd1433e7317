/* SPDX-License-Identifier: MIT */
/* One thread does all: it reads the rings every few milliseconds, and looks at the program and the
 * clock in between. brace's own calls are left out of the trace, because reading would make
 * records. */
#include "ui/kernel_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/clock.h"
#include "image/describe.h"
#include "ui/kernel_settings.h"
#include "ui/run.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/summary.h"

#define PASS_NS 50000000u

struct kernel_run {
	struct invocation *inv;
	struct kernel_source *source;
	struct trace_info *info;
	struct clock clock;
	pid_t child;            /* 0: no program */
	int go;                 /* the program waits for a byte from it */
	int wait_status;
	uint64_t end_ms;        /* CLOCK_MONOTONIC; 0: no --duration */
};

struct trace_info *kernel_run_info(struct kernel_run *k) { return k->info; }
struct kernel_used *kernel_run_used(struct kernel_run *k) { return kernel_source_used(k->source); }

/* --- interrupts ------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupts;

static void count_interrupt(int sig)
{
	interrupts++;
}

/* Ignored signals stay ignored. */
static void catch_interrupts(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_handler = count_interrupt }, now;

	interrupts = 0;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
}

/* --- the program ------------------------------------------------------------------------ */

/* The child: waits until the kernel knows its pid, then becomes the program. */
static void become_program(char *const *argv, int go, int told)
{
	char byte;
	int e;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	if (read(go, &byte, 1) != 1)
		_exit(EXIT_BRACE);
	execvp(argv[0], argv);
	e = errno;
	if (write(told, &e, sizeof(e)) < 0)
		_exit(EXIT_BRACE);
	_exit(e == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* Forks the program, which waits. *told: becomes readable with an errno if it cannot be executed,
 * and ends when it is. */
static int fork_program(struct kernel_run *k, int *told, struct err *err)
{
	int go[2], tell[2];

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(tell, O_CLOEXEC) < 0)
		return err_set(err, errno, "cannot make a pipe: %s", strerror(errno));
	k->child = fork();
	if (k->child < 0)
		return err_set(err, errno, "cannot start a process: %s", strerror(errno));
	if (!k->child) {
		close(go[1]);
		close(tell[0]);
		become_program(k->inv->operands, go[0], tell[1]);
	}
	close(go[0]);
	close(tell[1]);
	k->go = go[1];
	*told = tell[0];
	return 0;
}

/* Lets the program run. 0, or the exit status (said): it is no program. */
static int release_program(struct kernel_run *k, int told)
{
	int error = 0;
	ssize_t n = write(k->go, "", 1);

	close(k->go);
	k->go = -1;
	do
		n = read(told, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(told);
	if (n != sizeof(error))
		return 0;
	say("brace: cannot run %s: %s\n", k->inv->operands[0], strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* --- beginning -------------------------------------------------------------------------- */

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

/* Which tasks are recorded: the program and what it starts, or processes, or all but brace. */
static int choose_tasks(struct kernel_run *k, struct err *err)
{
	int e = 0;

	if (!k->child && !k->inv->pids.n)
		return kernel_source_follow_others(k->source, err);
	if (k->child)
		e = kernel_source_follow(k->source, k->child, err);
	for (size_t i = 0; i < k->inv->pids.n && !e; i++)
		e = kernel_source_follow(k->source, k->inv->pids.at[i], err);
	return e;
}

/* 0, or -errno and *err. The program, if there is one, waits. */
static int set_up(struct kernel_run *k, bool stored, int *told, struct err *err)
{
	int e = kernel_source_open(kernel_settings_shared(k->inv), &k->source, err);

	if (!e && k->inv->n_operands)
		e = fork_program(k, told, err);
	if (!e)
		e = choose_tasks(k, err);
	if (!e)
		e = kernel_settings_write(k->inv, kernel_source_instance(k->source), err);
	if (!e)
		describe_run(k);
	if (!e)
		e = kernel_source_begin(k->source, k->info, stored, 0, err);
	return e ? e : kernel_source_start(k->source, err);
}

/* Frees k, and ends a program that waits. 0, or -errno and *err: the instance is still there. */
static int tear_down(struct kernel_run *k, struct err *err)
{
	int e;

	if (k->go >= 0)
		close(k->go);
	if (k->child && k->go >= 0)
		waitpid(k->child, &k->wait_status, 0);
	e = kernel_source_close(k->source, err);
	trace_info_free(k->info);
	clock_end(&k->clock);
	free(k);
	return e;
}

int kernel_run_begin(struct invocation *inv, bool stored, struct kernel_run **out)
{
	struct kernel_run *k = mem_zalloc(sizeof(*k));
	int told = -1, status = 0;
	struct err err;

	k->inv = inv;
	k->go = -1;
	catch_interrupts();
	clock_begin(&k->clock);
	if ((!stored && screen_file_begin(inv, &err)) || set_up(k, stored, &told, &err))
		status = say_error(&err);
	else if (k->child)
		status = release_program(k, told);
	if (status) {
		screen_file_drop(inv);
		tear_down(k, NULL);
		return status;
	}
	if (inv->duration_ns)
		k->end_ms = monotonic_ms() + inv->duration_ns / 1000000;
	*out = k;
	return 0;
}

/* --- reading ---------------------------------------------------------------------------- */

/* Whether the program has ended. Its status is taken. */
static bool has_ended(struct kernel_run *k)
{
	return k->child && waitpid(k->child, &k->wait_status, WNOHANG) == k->child;
}

/* The first interrupt is the program's, which gets it from the terminal, too. */
static bool is_over(struct kernel_run *k)
{
	if (has_ended(k)) {
		k->child = 0;
		return true;
	}
	return interrupts > (k->child ? 1 : 0) || (k->end_ms && monotonic_ms() >= k->end_ms);
}

static void wait_briefly(void)
{
	const struct timespec t = { .tv_nsec = PASS_NS };

	nanosleep(&t, NULL);
}

int kernel_run_read(struct kernel_run *k, kernel_rings_sink *sink,
		    int (*after)(void *context, bool fresh, struct err *err), void *context,
		    struct err *err)
{
	bool fresh, over;
	int e;

	do {
		over = is_over(k);
		if (over)
			kernel_source_stop(k->source);
		e = kernel_source_pass(k->source, over ? UINT64_MAX : clock_tsc(), sink, context,
				       &fresh, err);
		if (!e)
			e = after(context, fresh, err);
		if (!over && !e)
			wait_briefly();
	} while (!over && !e);
	return e;
}

/* --- the end ---------------------------------------------------------------------------- */

void kernel_run_say(struct kernel_source *source, uint64_t bytes)
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
	say(all ? " (a larger buffer, -b, loses less)\n" : ", none lost\n");
	if (counts.unknown)
		say("brace: %s further records could not be read: of an event without a known format, or longer than 504 bytes\n",
		    summary_grouped(counts.unknown, n));
	vec_free(&counts.lost);
}

int kernel_run_end(struct kernel_run *k, uint64_t bytes, int status)
{
	bool program = k->inv->n_operands > 0, ended = program && !k->child;
	int wait_status = k->wait_status;
	struct err err;

	if (!k->inv->quiet)
		kernel_run_say(k->source, bytes);
	if (program && !ended)
		say("brace: stopping; the program goes on untraced\n");
	if (tear_down(k, &err))
		status = say_error(&err);
	return status || !ended ? status : run_exit(wait_status);
}
