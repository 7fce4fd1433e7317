/* SPDX-License-Identifier: MIT */
/* One thread does all: it reads the rings every few milliseconds, and looks at the program and the
 * clock in between. brace's own calls are left out of the trace, because reading would make
 * records. */
#include "ui/kernel_run.h"

#include <dirent.h>
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
#include "kernel/names.h"
#include "kernel/symbols.h"
#include "kernel/tracefs.h"
#include "ui/kernel_settings.h"
#include "ui/run.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/summary.h"

#define PASS_NS 50000000u

struct kernel_run {
	struct invocation *inv;
	struct kernel_instance *instance;
	struct trace_info *info;
	struct kernel_records records;
	struct kernel_rings *rings;
	struct clock clock;
	bool clock_begun;
	char *names;            /* saved_cmdlines, as read last */
	uint64_t until;         /* end of the pass before */
	uint64_t kept;          /* records given so far */
	pid_t child;            /* 0: no program */
	int go;                 /* the program waits for a byte from it */
	int wait_status;
	uint64_t end_ms;        /* CLOCK_MONOTONIC; 0: no --duration */
};

struct trace_info *kernel_run_info(struct kernel_run *k) { return k->info; }

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

/* --- settings --------------------------------------------------------------------------- */

static int follow_pid(struct kernel_run *k, const char *tid, struct err *err)
{
	int e = kernel_instance_write(k->instance, "set_ftrace_pid", tid, true, err);

	return e ? e : kernel_instance_write(k->instance, "set_event_pid", tid, true, err);
}

/* The kernel's lists have threads. */
static int follow_threads(struct kernel_run *k, pid_t pid, struct err *err)
{
	char *path = mem_printf("/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	struct dirent *d;
	int e = dir ? 0 : err_set(err, ESRCH, "there is no process %d", (int)pid);

	while (!e && (d = readdir(dir)))
		if (*d->d_name != '.')
			e = follow_pid(k, d->d_name, err);
	if (dir)
		closedir(dir);
	free(path);
	return e;
}

/* Which tasks are recorded: the program and what it starts, or processes, or all but brace. */
static int choose_tasks(struct kernel_run *k, struct err *err)
{
	char pid[16];
	int e = 0;

	if (!k->child && !k->inv->pids.n) {
		snprintf(pid, sizeof(pid), "%d", (int)getpid());
		e = kernel_instance_write(k->instance, "set_ftrace_notrace_pid", pid, false, err);
		return e ? e
			 : kernel_instance_write(k->instance, "set_event_notrace_pid", pid, false,
						 err);
	}
	e = kernel_instance_write(k->instance, "trace_options", "function-fork", false, err);
	if (!e)
		e = kernel_instance_write(k->instance, "trace_options", "event-fork", false, err);
	if (!e && k->child) {
		snprintf(pid, sizeof(pid), "%d", (int)k->child);
		e = follow_pid(k, pid, err);
	}
	for (size_t i = 0; i < k->inv->pids.n && !e; i++)
		e = follow_threads(k, k->inv->pids.at[i], err);
	return e;
}

/* --- what is to be known to read records ------------------------------------------------ */

static int add_format(struct kernel_run *k, const char *system, const char *event,
		      struct err *err)
{
	char *path = mem_printf("events/%s/%s/format", system, event);
	char *text = kernel_tracefs_read(kernel_instance_top(k->instance), path);
	int e = text ? kernel_records_format(&k->records, system, text, err) : 0;

	free(text);
	free(path);
	return e;
}

static int add_formats(struct kernel_run *k, struct err *err)
{
	static const char *const own[] = { "funcgraph_entry", "funcgraph_exit", "print",
					   "kernel_stack", "user_stack" };
	char *events = kernel_tracefs_read(kernel_instance_dir(k->instance), "set_event");
	char *rest = events, *line;
	int e = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(*own) && !e; i++)
		e = add_format(k, "ftrace", own[i], err);
	while (!e && events && (line = strsep(&rest, "\n"))) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		e = add_format(k, line, colon + 1, err);
	}
	free(events);
	return e;
}

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

/* Describes the trace: the machine, the kernel's functions, its events. */
static int describe_kernel(struct kernel_run *k, struct err *err)
{
	const struct settings *s = &k->inv->settings;
	char *symbols = kernel_tracefs_read("/proc", "kallsyms");
	int module;

	k->info = describe(command_line(k->inv), s->tracer->name, s->tracing_thresh_ns);
	k->info->run.invocation = describe_cmdline((int)getpid());
	module = kernel_symbols_add(k->info, symbols ? symbols : "", err);
	free(symbols);
	if (module < 0)
		return module;
	kernel_records_init(&k->records, k->info, (uint32_t)module);
	clock_measure_end(&k->clock, &k->info->clock);
	return add_formats(k, err);
}

/* --- beginning -------------------------------------------------------------------------- */

/* 0, or -errno and *err. The program, if there is one, waits. */
static int set_up(struct kernel_run *k, int *told, struct err *err)
{
	int e = kernel_instance_open(kernel_settings_shared(k->inv), &k->instance, err);

	if (!e && k->inv->n_operands)
		e = fork_program(k, told, err);
	if (!e)
		e = choose_tasks(k, err);
	if (!e)
		e = kernel_settings_write(k->inv, k->instance, err);
	if (!e)
		e = describe_kernel(k, err);
	if (!e)
		e = kernel_rings_open(kernel_instance_dir(k->instance), &k->records, &k->rings,
				      err);
	if (!e)
		e = kernel_instance_write(k->instance, "tracing_on", "1", false, err);
	return e;
}

/* Frees k, and ends a program that waits. 0, or -errno and *err: the instance is still there. */
static int tear_down(struct kernel_run *k, struct err *err)
{
	int e;

	if (k->go >= 0)
		close(k->go);
	if (k->child && k->go >= 0)
		waitpid(k->child, &k->wait_status, 0);
	kernel_rings_free(k->rings);
	e = kernel_instance_close(k->instance, err);
	kernel_records_free(&k->records);
	trace_info_free(k->info);
	if (k->clock_begun)
		clock_end(&k->clock);
	free(k->names);
	free(k);
	return e;
}

int kernel_run_begin(struct invocation *inv, bool prints, struct kernel_run **out)
{
	struct kernel_run *k = mem_zalloc(sizeof(*k));
	int told = -1, status = 0;
	struct err err;

	k->inv = inv;
	k->go = -1;
	catch_interrupts();
	clock_begin(&k->clock);
	k->clock_begun = true;
	if ((prints && screen_file_begin(inv, &err)) || set_up(k, &told, &err))
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

struct counting { struct kernel_run *run; kernel_rings_sink *sink; void *context; };

static int count_and_give(void *context, const struct event *e, struct err *err)
{
	struct counting *c = context;

	c->run->kept += e->kind != EVENT_LOST;
	return c->sink(c->context, e, err);
}

/* Names are read behind the records, so that all of their threads have one. */
static int one_pass(struct kernel_run *k, uint64_t until, kernel_rings_sink *sink, void *context,
		    bool *fresh, struct err *err)
{
	struct counting c = { k, sink, context };
	size_t pages;
	int e = kernel_rings_read(k->rings, &pages, err);

	*fresh = pages > 0;
	if (pages) {
		free(k->names);
		k->names = kernel_tracefs_read(kernel_instance_dir(k->instance), "saved_cmdlines");
		if (!k->names)
			k->names = kernel_tracefs_read(kernel_instance_top(k->instance),
						       "saved_cmdlines");
		k->records.names = k->names;
		kernel_names_apply(&k->records, k->names ? k->names : "", k->until);
	}
	if (!e)
		e = kernel_rings_give(k->rings, until, count_and_give, &c, err);
	k->until = until;
	return e;
}

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
			kernel_instance_stop(k->instance);
		e = one_pass(k, over ? UINT64_MAX : clock_tsc(), sink, context, &fresh, err);
		if (!e)
			e = after(context, fresh, err);
		if (!over && !e)
			wait_briefly();
	} while (!over && !e);
	return e;
}

/* --- the end ---------------------------------------------------------------------------- */

/* Records that a CPU lost: by the pages, or by the kernel, which knows more than pages tell. */
static uint64_t lost_on(struct kernel_run *k, uint16_t cpu)
{
	char *path = mem_printf("per_cpu/cpu%u/stats", cpu);
	char *text = kernel_tracefs_read(kernel_instance_dir(k->instance), path);
	static const char *const counts[] = { "\noverrun: ", "\ndropped events: " };
	uint64_t told = 0, seen = kernel_rings_lost(k->rings, cpu);

	for (size_t i = 0; text && i < 2; i++) {
		const char *at = strstr(text, counts[i]);

		told += at ? strtoull(at + strlen(counts[i]), NULL, 10) : 0;
	}
	free(text);
	free(path);
	return told > seen ? told : seen;
}

static void print_summary(struct kernel_run *k, uint64_t bytes)
{
	char n[32];
	uint64_t all = 0;

	say("brace: %s records of the kernel", summary_grouped(k->kept, n));
	if (bytes)
		say(", %s bytes", summary_grouped(bytes, n));
	for (uint16_t cpu = 0; cpu < kernel_rings_cpus(k->rings); cpu++) {
		uint64_t lost = lost_on(k, cpu);

		if (lost)
			say("%s%s on CPU %u", all ? ", " : "; lost: ", summary_grouped(lost, n), cpu);
		all += lost;
	}
	say(all ? " (a larger buffer, -b, loses less)\n" : ", none lost\n");
	if (k->records.unknown)
		say("brace: %s further records could not be read: of an event without a known format, or longer than 504 bytes\n",
		    summary_grouped(k->records.unknown, n));
}

int kernel_run_end(struct kernel_run *k, uint64_t bytes, int status)
{
	bool program = k->inv->n_operands > 0, ended = program && !k->child;
	int wait_status = k->wait_status;
	struct err err;

	if (!k->inv->quiet)
		print_summary(k, bytes);
	if (program && !ended)
		say("brace: stopping; the program goes on untraced\n");
	if (tear_down(k, &err))
		status = say_error(&err);
	return status || !ended ? status : run_exit(wait_status);
}
