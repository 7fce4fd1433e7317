/* SPDX-License-Identifier: MIT */
/* brace stat and brace sessions: what runs in the background, what it traces, how it is set, and
 * how much it has. main() calls them, on brace's only thread; each answer is the session's own
 * (daemon/ask.h), at a moment of its own. A failure is said, and is EXIT_BRACE. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ask.h"
#include "daemon/run_dir.h"
#include "ui/commands.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/session_set.h"
#include "ui/summary.h"

#define LINES_SHOWN 12u /* of a long list, whose file has all */

/* --- stat ------------------------------------------------------------------------------------ */

/* The lines of `brace stat`: a file's text is left out if it is `unless`. */
static const struct { const char *title, *file, *unless; } facts[] = {
	{ "Tracer", "current_tracer", NULL },
	{ "Recording", "tracing_on", NULL },
	{ "Buffer of each CPU (kB)", "buffer_size_kb", NULL },
	{ "Filter", "set_ftrace_filter", "#### all functions enabled ####\n" },
	{ "Not traced", "set_ftrace_notrace", "#### no functions disabled ####\n" },
	{ "Graph functions", "set_graph_function", "#### all functions enabled ####\n" },
	{ "Graph, not traced", "set_graph_notrace", "#### no functions disabled ####\n" },
	{ "Libraries", "set_ftrace_module", "#### main executable only ####\n" },
	{ "Deepest call", "max_graph_depth", "0\n" },
	{ "Threshold (us)", "tracing_thresh", "0\n" },
	{ "Threads", "set_ftrace_pid", "no pid\n" },
	{ "Events", "set_event", "" },
	{ "Errors", "error_log", "" },
};

/* A text without a newline, "", has none. */
static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* A text of several lines begins on a line of its own, and ends where it becomes long: a glob
 * stands for hundreds of functions. */
static void print_lines(struct screen *o, const char *title, const char *file, char *text)
{
	size_t n = count_lines(text), shown = 0;
	char *end = text;

	/* One line more is shown rather than "and 1 more". `end` cannot be NULL: there are n
	 * newlines. */
	if (n > LINES_SHOWN + 1) {
		for (; shown < LINES_SHOWN; shown++)
			end = strchr(end, '\n') + 1;
		*end = '\0';
	}
	out_printf(&o->text, "%s:%s%s", title, n > 1 ? "\n" : " ", text);
	if (shown)
		out_printf(&o->text, "... and %zu more: brace show %s\n", n - shown, file);
}

/* ftrace's files have a comment where a list is empty: it is the row's `unless`. */
static int print_fact(struct screen *o, const struct invocation *inv, size_t i, struct err *err)
{
	char *text;
	int e = session_cat(inv, facts[i].file, &text, err);

	/* The kernel has no such setting. */
	if (e == -ENODATA)
		return 0;
	if (e)
		return e;
	if (!facts[i].unless || strcmp(text, facts[i].unless))
		print_lines(o, facts[i].title, facts[i].file, text);
	free(text);
	return 0;
}

/* The kernel has all tasks, or those of set_event_pid. An older brace's session does not tell. */
static int print_programs(struct screen *o, const struct invocation *inv, struct err *err)
{
	char *text;
	int e = inv->kernel ? -ENOTSUP : ask_programs(inv->session, &text, err);

	if (e)
		return e == -ENOTSUP ? 0 : e;
	out_printf(&o->text, "Programs:%s%s", count_lines(text) > 1 ? "\n" : " ",
		   *text ? text : "all have ended\n");
	free(text);
	return 0;
}

/* Lines of per_cpu/cpuN/stats, over all CPUs. */
struct buffer_sums { uint64_t entries, overrun, dropped; };

/* 0 where the line is missing. "overrun: " is sought with its newline, because "commit overrun: "
 * ends with it. */
static uint64_t number_behind(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

/* CPUs are numbered from 0 on: the first without a file ends them. */
static void sum_buffers(const struct invocation *inv, struct buffer_sums *sums)
{
	for (unsigned cpu = 0;; cpu++) {
		char file[48], *text;
		struct err ignored;

		snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpu);
		if (session_cat(inv, file, &text, &ignored))
			return;
		sums->entries += number_behind(text, "entries: ");
		sums->overrun += number_behind(text, "\noverrun: ");
		sums->dropped += number_behind(text, "dropped events: ");
		free(text);
	}
}

static void print_buffers(struct screen *o, const struct invocation *inv)
{
	struct buffer_sums sums = { 0 };
	char n[32];

	sum_buffers(inv, &sums);
	out_printf(&o->text, "Records: %s\n", summary_grouped(sums.entries, n));
	if (sums.overrun)
		out_printf(&o->text, "Replaced by newer ones: %s\n",
			   summary_grouped(sums.overrun, n));
	if (sums.dropped)
		out_printf(&o->text, "Lost: %s\n", summary_grouped(sums.dropped, n));
}

/* Ends at the first file that cannot be read. */
int cmd_stat(struct invocation *inv)
{
	struct screen o;
	struct err err;
	int e;

	screen_open(&o, inv, SCREEN_PAGED, NULL);
	e = print_programs(&o, inv, &err);
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts) && !e; i++) {
		e = print_fact(&o, inv, i, &err);
		if (!e && !strcmp(facts[i].file, "buffer_size_kb"))
			print_buffers(&o, inv);
	}
	return screen_close(&o, e ? say_error(&err) : 0);
}

/* --- sessions -------------------------------------------------------------------------------- */

/* Prints a session's answer to a question; "?": it has just ended, or is an older brace's. Frees
 * the text. Several lines become one, with commas between; the last newline goes. */
static void print_answer(struct out *o, char *text, int error)
{
	if (error) {
		out_char(o, '?');
		return;
	}
	for (char *c = text; *c; c++)
		if (*c != '\n')
			out_char(o, *c);
		else if (c[1])
			out_str(o, ", ");
	free(text);
}

/* Lines of --long: whether it records, the tracer, the processes. */
static void print_session(struct out *o, const char *name)
{
	char *tracer, *on, *programs;
	struct err ignored;
	/* Three questions, three moments: the session may end between them, and then only some
	 * answers are `?`. */
	int no_tracer = ask_cat(name, "current_tracer", &tracer, &ignored),
	    no_on = ask_cat(name, "tracing_on", &on, &ignored),
	    no_programs = ask_programs(name, &programs, &ignored);

	out_printf(o, "%s: %s, ", name, no_on ? "?" : *on == '1' ? "records" : "stopped");
	if (!no_on)
		free(on);
	print_answer(o, tracer, no_tracer);
	out_str(o, ", programs: ");
	if (!no_programs && !*programs)
		out_str(o, "all have ended");
	print_answer(o, programs, no_programs);
	out_char(o, '\n');
}

/* One name a line, for scripts; the names are freed as they are printed. */
int cmd_sessions(struct invocation *inv)
{
	name_list names = { 0 };
	struct screen o;
	struct err err;

	if (run_dir_list(&names, &err))
		return say_error(&err);
	screen_open(&o, inv, SCREEN_PLAIN, NULL);
	for (size_t i = 0; i < names.n; i++) {
		if (inv->long_rows)
			print_session(&o.text, names.at[i]);
		else
			out_printf(&o.text, "%s\n", names.at[i]);
		free(names.at[i]);
	}
	vec_free(&names);
	return screen_close(&o, 0);
}
