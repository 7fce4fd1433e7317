/* SPDX-License-Identifier: MIT */
/* The kernel's own answer to a name that it does not have is an errno. Its configuration is not to
 * be read everywhere, so that the options are told by a table: they are those of Linux 6.12's
 * kernel/trace/Kconfig. Called for -K and -k where the kernel has refused a word, on the main
 * thread. Each function makes a sentence, and none fails otherwise. */
#include "kernel/absent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "kernel/tracefs.h"

/* Tracers that a kernel without `option` lacks. ours: brace has a tracer of the name, without the
 * kernel's help. */
static const struct absent { const char *name, *option; bool ours; } tracers[] = {
	{ "function_graph", "CONFIG_FUNCTION_GRAPH_TRACER", false },
	{ "function", "CONFIG_FUNCTION_TRACER", false },
	{ "irqsoff", "CONFIG_IRQSOFF_TRACER", false },
	{ "preemptoff", "CONFIG_PREEMPT_TRACER", false },
	{ "preemptirqsoff", "CONFIG_IRQSOFF_TRACER and CONFIG_PREEMPT_TRACER", false },
	{ "wakeup", "CONFIG_SCHED_TRACER", true },
	{ "wakeup_rt", "CONFIG_SCHED_TRACER", true },
	{ "wakeup_dl", "CONFIG_SCHED_TRACER", true },
	{ "hwlat", "CONFIG_HWLAT_TRACER", true },
	{ "osnoise", "CONFIG_OSNOISE_TRACER", true },
	{ "timerlat", "CONFIG_TIMERLAT_TRACER", true },
	{ "blk", "CONFIG_BLK_DEV_IO_TRACE", false },
	{ "mmiotrace", "CONFIG_MMIOTRACE", false },
	{ "branch", "CONFIG_BRANCH_TRACER", false },
};

/* Systems of events that a kernel has only by an option of tracing. */
static const struct absent systems[] = {
	{ "user_events", "CONFIG_USER_EVENTS", false },
	{ "osnoise", "CONFIG_OSNOISE_TRACER", false },
	{ "preemptirq", "CONFIG_PREEMPTIRQ_TRACEPOINTS", false },
	{ "rv", "CONFIG_RV", false },
	{ "syscalls", "CONFIG_FTRACE_SYSCALLS", false },
};

static const struct absent *find(const struct absent *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

/* --- events ----------------------------------------------------------------------------- */

/* The line of available_events, or the half of it, that the word may mean. list: the file's text,
 * which is taken apart here. NULL: none. */
static const char *nearest_event(const char *word, char *list)
{
	struct nearest near = { .word = word };
	const bool whole = strchr(word, ':') != NULL;
	char *line;

	while ((line = strsep(&list, "\n"))) {
		char *colon = strchr(line, ':');

		if (whole || !colon) {
			nearest_offer(&near, line);
			continue;
		}
		*colon = '\0';
		nearest_offer(&near, line);
		nearest_offer(&near, colon + 1);
	}
	return near.best;
}

/* A system whose option is off has no event in the list. */
static bool has_system(const char *list, const char *system)
{
	const size_t n = strlen(system);

	for (const char *line = list; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, system, n) && line[n] == ':')
			return true;
	}
	return false;
}

static int no_event(const char *top, const char *text, size_t at, const char *word, char *list,
		    struct err *err)
{
	char *system = mem_strndup(word, strcspn(word, ":"));
	const struct absent *row = find(systems, sizeof(systems) / sizeof(*systems), system);
	const char *near = NULL;

	if (row && !has_system(list, system)) {
		err_at(err, EINVAL, text, at,
		       "the kernel has no such event: it was built without %s", row->option);
	} else {
		/* Patterns are near to nothing. */
		near = word[strcspn(word, "*?[")] ? NULL : nearest_event(word, list);
		err_at(err, EINVAL, text, at,
		       "the kernel has no such event, %s/available_events lists them%s%s%s", top,
		       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	}
	free(system);
	return -EINVAL;
}

/* Behind the event's name a trigger may have a count. */
static size_t word_length(const char *text)
{
	size_t n = strcspn(text, ": \n");

	return text[n] == ':' ? n + 1 + strcspn(text + n + 1, ": \n") : n;
}

int kernel_absent_event(const char *top, const char *text, size_t at, struct err *err)
{
	char *word = mem_strndup(text + at, word_length(text + at));
	char *list = kernel_tracefs_read(top, "available_events");
	int e = no_event(top, text, at, word, list, err);

	free(list);
	free(word);
	return e;
}

/* --- tracers ---------------------------------------------------------------------------- */

#define RECORDED \
	"brace records the kernel with function_graph, function, or events alone (nop)"

/* The names stand in one line, with blanks between them. */
static bool is_available(const char *top, const char *name)
{
	char *list = kernel_tracefs_read(top, "available_tracers"), *rest = list, *word;
	bool there = false;

	while ((word = strsep(&rest, " \n")))
		there |= !strcmp(word, name);
	free(list);
	return there;
}

static int unknown_tracer(const char *name, struct err *err)
{
	static const char *const recorded[] = { "function_graph", "function", "nop" };
	struct nearest near = { .word = name };

	for (size_t i = 0; i < sizeof(recorded) / sizeof(*recorded); i++)
		nearest_offer(&near, recorded[i]);
	return err_at(err, EINVAL, name, 0, "the kernel has no such tracer, and " RECORDED "%s%s%s",
		      near.best ? "; did you mean " : "", near.best ? near.best : "",
		      near.best ? "?" : "");
}

int kernel_absent_tracer(const char *top, const char *name, struct err *err)
{
	const struct absent *row = find(tracers, sizeof(tracers) / sizeof(*tracers), name);
	const char *ours = row && row->ours ? "; without -K, brace has one of its own" : "";

	if (is_available(top, name))
		return err_at(err, EINVAL, name, 0,
			      "the kernel has this tracer, but brace does not read its records; "
			      RECORDED "%s", ours);
	if (!row)
		return unknown_tracer(name, err);
	return err_at(err, EINVAL, name, 0, "this kernel was built without it (%s); " RECORDED "%s",
		      row->option, ours);
}
