/* SPDX-License-Identifier: MIT */
/* brace top: what a program calls, as a screen that is refreshed. The main thread reads the stream
 * and counts (view/rates.h); the monitor's thread ends the turns, draws and takes keys, both with
 * the monitor's lock. Where there is no terminal, or for --batch and --json, the turns are printed
 * one after another.
 *
 * While the screen is on, what brace and a program that it has started print to that terminal goes
 * into a file without a name, and to the terminal when the screen is gone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/clock.h"
#include "ui/commands.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/stream_run.h"
#include "ui/terminal.h"
#include "ui/word_list.h"
#include "view/top.h"

#define TURN_NS UINT64_C(1000000000)  /* a turn without --delay */
#define LEAST_NS UINT64_C(100000000)  /* the monitor looks so often */

/* Standard output and error while the screen is on. */
struct held_output { int file, output, error, input; off_t shown; };

struct top_run {
	struct invocation *inv;
	struct walk walk;
	struct rates rates;
	struct top top;
	struct run_monitor *monitor;
	struct screen screen;       /* batch */
	bool batch;
	struct terminal *terminal;  /* NULL: batch, or the screen is gone */
	struct held_output held;    /* file -1: there is none */
	struct grid grid;
	struct top_facts facts;
	uint64_t started_ns, turned_ns, tracer_ns, counted, records, seen_tsc;
	uint64_t turns, wanted;     /* wanted 0: to the end */
};

/* --- what others print ------------------------------------------------------------------------ */

/* False: there is no room for a file; the screen does without. */
static bool held_output_begin(struct held_output *s)
{
	FILE *file = tmpfile();
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	*s = (struct held_output){ .file = -1 };
	if (file && nothing >= 0) {
		s->file = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
		s->output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		s->error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		s->input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
		fcntl(s->file, F_SETFL, O_APPEND);
		dup2(s->file, STDOUT_FILENO);
		if (isatty(s->error))
			dup2(s->file, STDERR_FILENO);
		dup2(nothing, STDIN_FILENO);
	}
	if (file)
		fclose(file);
	if (nothing >= 0)
		close(nothing);
	return s->file >= 0;
}

/* Copies what has come since the last time. */
static void held_output_show(struct held_output *s)
{
	char bytes[16384];
	ssize_t n;

	while (s->file >= 0 && (n = pread(s->file, bytes, sizeof(bytes), s->shown)) > 0) {
		s->shown += n;
		for (ssize_t at = 0, put; at < n; at += put) {
			put = write(s->output, bytes + at, (size_t)(n - at));
			if (put < 0 && errno != EINTR)
				return;
			put = put < 0 ? 0 : put;
		}
	}
}

/* brace prints to the terminal again; a program's descriptors stay as they are. */
static void held_output_leave(struct held_output *s)
{
	if (s->file < 0)
		return;
	held_output_show(s);
	dup2(s->output, STDOUT_FILENO);
	dup2(s->error, STDERR_FILENO);
	dup2(s->input, STDIN_FILENO);
}

/* Shows what is left, and closes the file, which has no name and is gone with it. */
static void held_output_end(struct held_output *s)
{
	if (s->file < 0)
		return;
	held_output_show(s);
	close(s->file);
	close(s->output);
	close(s->error);
	close(s->input);
	s->file = -1;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Nanoseconds of that clock; neither of the two that are asked goes back. */
static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Signal 0 asks only. A thread of another user's that is there gives EPERM. */
static bool thread_lives(uint32_t pid, uint32_t tid)
{
	return !syscall(SYS_tgkill, pid, tid, 0) || errno != ESRCH;
}

/* Ends the turn in all counts, with the monitor's lock held. Costs are brace's own since the
 * turn before. */
static void end_turn(struct top_run *r)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), tracer = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	const struct trace_info *info = r->walk.info;
	time_t day = time(NULL);
	struct tm local;

	rates_turn(&r->rates, thread_lives);
	r->facts.cost_known = info->cost.total;
	r->facts.cost_ns = trace_clock_delta_ns(
		&info->clock, r->rates.calls[RATES_TURN] * info->cost.total / TRACE_COST_UNIT);
	r->facts.elapsed_ns = now - r->started_ns;
	r->facts.wall_ns = now - r->turned_ns;
	r->facts.tracer_ns = tracer - r->tracer_ns;
	r->facts.records = r->records - r->counted;
	r->facts.lost = r->rates.records_lost;
	strftime(r->facts.clock, sizeof(r->facts.clock), "%H:%M:%S", localtime_r(&day, &local));
	r->turned_ns = now;
	r->tracer_ns = tracer;
	r->counted = r->records;
	r->turns++;
	top_update(&r->top);
}

/* For pipes: a turn is flushed, so that its reader has it at once. */
static void print_turn(struct top_run *r)
{
	(r->inv->json ? top_print_json : top_print)(&r->top, &r->facts, r->inv->limit,
						    &r->screen.text);
	out_flush(&r->screen.text);
}

/* The whole grid is drawn anew; ncurses sends what has changed. */
static void draw_screen(struct top_run *r)
{
	terminal_begin(r->terminal, &r->grid);
	top_draw(&r->top, &r->facts, &r->grid);
	terminal_show(r->terminal, &r->grid);
}

/* The screen goes; the last figures stay on the terminal, as top(1) leaves them. How many fit is
 * asked here: a program that ends before the first look has had no screen drawn. */
static void leave_screen(struct top_run *r)
{
	if (!r->terminal)
		return;
	terminal_begin(r->terminal, &r->grid);
	terminal_close(r->terminal);
	r->terminal = NULL;
	held_output_leave(&r->held);
}

/* Takes the keys that have come; false: the user ends it. */
static bool take_keys(struct top_run *r)
{
	struct view_event e;

	for (;;) {
		terminal_key(r->terminal, 0, &e);
		if (e.key == VIEW_NONE)
			return true;
		if (!top_key(&r->top, &e))
			return false;
	}
}

/* The program goes on; a process that was attached to is let go by the session. */
static void stop_run(struct top_run *r)
{
	if (r->terminal && !r->inv->pids.n)
		say("brace: the program goes on untraced; brace waits for it\n");
	leave_screen(r);
	run_monitor_stop(r->monitor);
}

/* Whether the turn has lasted as long as the user wants. */
static bool is_due(const struct top_run *r)
{
	const uint64_t delay = r->inv->of_top.delay_ns ? r->inv->of_top.delay_ns : TURN_NS;

	/* A look may come a little early. */
	return now_ns(CLOCK_MONOTONIC) - r->turned_ns + LEAST_NS / 2 >= delay;
}

/* Keys are taken while the figures are held, too. */
static void look_at_screen(struct top_run *r)
{
	bool goes_on = take_keys(r);

	if (!r->top.paused && is_due(r))
		end_turn(r);
	draw_screen(r);
	if (!goes_on || (r->wanted && r->turns >= r->wanted))
		stop_run(r);
}

/* The monitor's. After the screen has gone, what the program prints is shown as it comes. */
static void look_at_run(void *arg)
{
	struct top_run *r = arg;

	if (r->terminal) {
		look_at_screen(r);
	} else if (!r->batch) {
		held_output_show(&r->held);
	} else if (is_due(r) && (!r->wanted || r->turns < r->wanted)) {
		end_turn(r);
		print_turn(r);
		if ((r->wanted && r->turns >= r->wanted) || screen_is_done(&r->screen))
			stop_run(r);
	}
}

/* --- the stream ------------------------------------------------------------------------------- */

/* Notes that all records from before the last look but one have been read. */
static void note_reached(void *arg)
{
	struct top_run *r = arg;
	uint64_t tsc = r->seen_tsc;

	r->seen_tsc = clock_tsc();
	if (!tsc)
		return;
	pthread_mutex_lock(&r->monitor->lock);
	if (r->rates.first)
		rates_reach(&r->rates, trace_clock_ns(&r->walk.info->clock, tsc));
	pthread_mutex_unlock(&r->monitor->lock);
}

/* The walk's. Ends that brace made up are no records. */
static int take_step(void *arg, const struct walk_step *s)
{
	struct top_run *r = arg;

	pthread_mutex_lock(&r->monitor->lock);
	r->records += !(s->flags & (WALK_UNWOUND | WALK_UNFINISHED));
	rates_take(&r->rates, s);
	pthread_mutex_unlock(&r->monitor->lock);
	return 0;
}

/* The terminal is reached by the descriptors that held_output kept. */
static int open_terminal(struct top_run *r, struct err *err)
{
	const bool own = r->held.file < 0;

	return terminal_open(r->inv, own ? STDIN_FILENO : r->held.input,
			     own ? STDOUT_FILENO : r->held.output, &r->terminal, err);
}

/* Opens the screen: from here on the terminal is brace's. Without one the turns are printed. */
static void begin_run(void *arg, struct source *source, struct run_monitor *m)
{
	struct top_run *r = arg;
	struct err err;

	r->monitor = m;
	walk_init(&r->walk, source);
	rates_init(&r->rates, &r->walk);
	top_init(&r->top, &r->rates);
	if (r->inv->by)
		r->top.by = top_by_find(r->inv->by);
	for (unsigned by = 0; by < RATES_BY_N && r->inv->sort; by++)
		r->top.tables[by].column = top_column_find(r->inv->sort);
	r->top.all = r->inv->of_top.since_start;
	source->idle = note_reached;
	source->idle_context = r;
	r->started_ns = r->turned_ns = now_ns(CLOCK_MONOTONIC);
	r->tracer_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (!r->batch && open_terminal(r, &err)) {
		r->batch = true;
		say_error(&err);
	}
	if (r->batch)
		screen_open_begun(&r->screen, r->inv, SCREEN_PLAIN, NULL);
}

/* Returns at the end of the recording; until then the monitor's thread ends the turns. */
static int take_stream(void *arg, struct source *source, struct err *err)
{
	struct top_run *r = arg;

	/* The screen is for whoever looks at it: the first signal ends it, of brace's at least. */
	pthread_mutex_lock(&r->monitor->lock);
	r->monitor->ends_at_first |= r->terminal != NULL;
	pthread_mutex_unlock(&r->monitor->lock);
	return walk_run(&r->walk, take_step, r, err);
}

/* The last figures of a screen: all that there was, as much as fits. */
static int print_all(struct top_run *r)
{
	r->top.all = true;
	top_update(&r->top);
	screen_open(&r->screen, r->inv, SCREEN_PLAIN, NULL);
	top_print(&r->top, &r->facts, r->grid.rows > 6 ? r->grid.rows - 6 : 1, &r->screen.text);
	return screen_close(&r->screen, 0);
}

/* The turn that was under way is the last one; with -n turns that are all printed there is none. */
static int end_run(void *arg, const struct err *failed)
{
	struct top_run *r = arg;
	bool screen = !r->batch;
	int status;

	leave_screen(r);
	r->facts.over = true;
	if (screen || !r->wanted || r->turns < r->wanted) {
		end_turn(r);
		if (!screen)
			print_turn(r);
	}
	status = screen ? print_all(r) : screen_close(&r->screen, 0);
	held_output_end(&r->held);
	top_free(&r->top);
	rates_free(&r->rates);
	walk_free(&r->walk);
	grid_free(&r->grid);
	return failed ? say_error(failed) : status;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Checks for words that cannot be shown. EXIT_BRACE: said. */
static int check_words(const struct invocation *inv)
{
	static const struct word_list by_list = { "rows by", "", top_by_words, RATES_BY_N };

	char cut[SAY_WORD];

	if (inv->by && word_list_find(&by_list, inv->by) == RATES_BY_N)
		return EXIT_BRACE;
	if (inv->sort && top_column_find(inv->sort) == TOP_COLUMNS_N && strcmp(inv->sort, "name")) {
		say("brace: no column %s to sort by; there are calls, self, total, mean, p99, max and name\n",
		    say_word(inv->sort, cut));
		return EXIT_BRACE;
	}
	for (size_t i = 0; i < inv->writes.n; i++)
		if (!strncmp(inv->writes.at[i].text, "overwrite", 9)) {
			say("brace: --mode overwrite keeps the records to the end: there would be nothing to show\n");
			return EXIT_BRACE;
		}
	if (inv->of_top.delay_ns && inv->of_top.delay_ns < LEAST_NS) {
		say("brace: a turn lasts 100ms at least\n");
		return EXIT_BRACE;
	}
	return 0;
}

/* The program's line, or the processes, for the screen's head; for free(). */
static char *program_of(const struct invocation *inv)
{
	char *text = inv->pids.n ? mem_printf("process") : mem_strdup(inv->operands[0]), *more;

	for (size_t i = 0; i < inv->pids.n; i++, free(text), text = more)
		more = mem_printf("%s %d", text, (int)inv->pids.at[i]);
	for (int i = 1; !inv->pids.n && i < inv->n_operands; i++, free(text), text = more)
		more = mem_printf("%s %s", text, inv->operands[i]);
	return text;
}

/* A screen needs a terminal; --batch, --json, -o and pipes do without. */
static int choose_form(struct top_run *r)
{
	struct err err;

	r->batch = r->inv->of_top.batch || r->inv->json || r->inv->output || !isatty(STDOUT_FILENO);
	r->held.file = -1;
	if (r->batch)
		return 0;
	if (terminal_check(&err)) {
		say("brace: %s: use --batch\n", err.text);
		return EXIT_BRACE;
	}
	if (!held_output_begin(&r->held))
		say_warning("there is no room for a file in %s: what the program prints goes over the screen",
			    P_tmpdir);
	return 0;
}

int cmd_top(struct invocation *inv)
{
	static const struct stream_use use = { begin_run, take_stream, look_at_run, end_run };
	struct top_run run = { .inv = inv, .wanted = inv->of_top.count };
	char *program;
	int status = check_words(inv);

	if (!status)
		status = choose_form(&run);
	if (status)
		return status;
	run.facts.program = program = program_of(inv);
	status = stream_run(inv, &use, &run);
	/* The stream may not have begun: the output is held till here then. */
	held_output_leave(&run.held);
	held_output_end(&run.held);
	free(program);
	return status;
}
