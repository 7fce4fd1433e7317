/* SPDX-License-Identifier: MIT */
/* Each write of an option goes to the kernel's file of the same name, with the same text where the
 * kernel's grammar is brace's. Called before recording begins, and by `brace set` for a session of
 * the kernel (kernel_session.c). A setting that the kernel does not have is refused with the
 * sentence that says so. On the main thread. */
#include "ui/kernel_settings.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "kernel/absent.h"
#include "kernel/probes.h"
#include "kernel/tracefs.h"
#include "ui/say.h"

/* Advice for users where the kernel's graph lacks a column. */
#define ARGUMENTS                                                                             \
	"arguments stand in the kernel's graph from Linux 6.15 on (CONFIG_FUNCTION_TRACE_ARGS), " \
	"and brace does not read them there; a probe has them: "                              \
	"-e 'p:NAME FUNCTION size=%dx:u32'"
#define RETURNED                                                                              \
	"returned values stand in the kernel's graph from Linux 6.5 on if it was built with " \
	"CONFIG_FUNCTION_GRAPH_RETVAL, which Debian leaves off, and brace does not read them " \
	"there; a probe has them: -e 'r:NAME FUNCTION got=$retval'"

/* Files that mean nothing in the kernel. */
static const struct { const char *file, *why; } foreign[] = {
	{ "set_ftrace_module",
	  "the kernel has no libraries; functions of a module are named in a filter, -l ':mod:NAME'" },
	{ "set_ftrace_args", ARGUMENTS },
	{ "set_ftrace_args_depth", ARGUMENTS },
	{ "set_ftrace_retval", RETURNED },
	{ "set_event_scope",
	  "the kernel does not know which functions a thread is in; -g shows what a function calls" },
	{ "syscall_user_buf_size", "the kernel does not copy strings of system calls (Linux 6.19 does)" },
};

/* Options of the tree that decide what the kernel records; the others are brace's, for printing. */
static const char *const recorded_options[] = {
	"overwrite", "stacktrace", "userstacktrace", "sleep-time", "record-tgid",
};

/* Whether the line writes files that the kernel has once for all. */
bool kernel_settings_shared(const struct invocation *inv)
{
	for (size_t i = 0; i < inv->writes.n; i++)
		if (inv->writes.at[i].file && kernel_instance_is_shared(inv->writes.at[i].file))
			return true;
	return false;
}

/* --- trace options ---------------------------------------------------------------------- */

/* Options of trace_options that only programs have. */
static const struct { const char *word, *why; } programs_options[] = {
	{ "block",
	  "the kernel does not wait for the reader of its buffers: a larger one (-b) loses less" },
	{ "funcgraph-retval", RETURNED },
	{ "funcgraph-args", ARGUMENTS },
	{ "func-args", ARGUMENTS },
	{ "causal-order",
	  "this option is for programs: the kernel's own records are in order across CPUs" },
};

/* One word of trace_options: to the kernel if it decides what is recorded. */
static int write_option(struct kernel_instance *i, const char *word, struct err *err)
{
	const char *plain = strncmp(word, "no", 2) ? word : word + 2;

	for (size_t k = 0; k < sizeof(programs_options) / sizeof(*programs_options); k++)
		if (!strcmp(word, programs_options[k].word))
			return err_at(err, EINVAL, word, 0, "%s", programs_options[k].why);
	for (size_t k = 0; k < sizeof(recorded_options) / sizeof(*recorded_options); k++)
		if (!strcmp(plain, recorded_options[k]))
			return kernel_instance_write(i, "trace_options", word, false, err);
	return 0;
}

/* Each word is a write of its own: the kernel takes one option at a time. Only -O has words that
 * the user wrote, and can be shown. */
static int write_options(struct invocation *inv, struct kernel_instance *i,
			 const struct setting_write *w, struct err *err)
{
	char *words = mem_strdup(w->text), *rest = words, *word;
	int e = settings_write(&inv->settings, "trace_options", w->text, false, err);

	while (!e && (word = strsep(&rest, " ")))
		e = *word ? write_option(i, word, err) : 0;
	if (e && w->option && w->option->letter != 'O')
		err->input[0] = '\0';
	free(words);
	return e;
}

/* --- events ----------------------------------------------------------------------------- */

/* The events that a pattern of -e stands for: SYSTEM:EVENT, or one of the two. */
struct event_pattern { char *system, *event; };

/* A name alone is an event of any system. Both are for free(). */
static struct event_pattern split_pattern(const char *text)
{
	const char *colon = strchr(text, ':');

	if (!colon)
		return (struct event_pattern){ mem_strdup("*"), mem_strdup(text) };
	return (struct event_pattern){ mem_strndup(text, (size_t)(colon - text)),
				       mem_strdup(colon[1] ? colon + 1 : "*") };
}

/* The file of each event that is on and matches, called with its place in the instance. */
static int write_of_events(struct kernel_instance *i, const char *pattern, const char *file,
			   const char *text, struct err *err)
{
	struct event_pattern p = split_pattern(pattern);
	char *events = kernel_tracefs_read(kernel_instance_dir(i), "set_event");
	char *rest = events, *line;
	int e = 0;

	while (!e && events && (line = strsep(&rest, "\n"))) {
		char *colon = strchr(line, ':'), *path;

		if (!colon)
			continue;
		*colon = '\0';
		/* "fs" alone names a system, too. */
		if (!(glob_match(p.system, line) && glob_match(p.event, colon + 1)) &&
		    !(!strchr(pattern, ':') && glob_match(pattern, line)))
			continue;
		path = mem_printf("events/%s/%s/%s", line, colon + 1, file);
		e = kernel_instance_write(i, path, text, false, err);
		free(path);
	}
	free(events);
	free(p.system);
	free(p.event);
	return e;
}

/* --- all -------------------------------------------------------------------------------- */

/* The value as the kernel takes it: sizes and times in its units. */
static int write_number(struct invocation *inv, struct kernel_instance *i,
			const struct setting_write *w, struct err *err)
{
	int e = settings_write(&inv->settings, w->file, w->text, false, err);
	char *text = e ? NULL : settings_read(&inv->settings, w->file);

	if (text)
		text[strcspn(text, " \n")] = '\0';
	if (text && text[strspn(text, "0123456789")])
		e = err_at(err, EINVAL, w->text, 0, "the kernel counts it in whole microseconds");
	else if (text)
		e = kernel_instance_write(i, w->file, text, false, err);
	free(text);
	return e;
}

/* Filters are written to the kernel as they are. A condition on arguments is brace's own. */
static int write_list(struct kernel_instance *i, const struct setting_write *w, struct err *err)
{
	const char *condition = strstr(w->text, " if ");

	if (condition && w->text[0] != ':')
		return err_at(err, EINVAL, w->text, (size_t)(condition - w->text),
			      "the kernel's function filters take no condition on arguments");
	return kernel_instance_write(i, w->file, w->text, w->append, err);
}

/* Their units (4M, 10us) are brace's own: the kernel gets plain numbers. */
static bool is_number_file(const char *file)
{
	return !strcmp(file, "max_graph_depth") || !strcmp(file, "tracing_thresh") ||
	       !strcmp(file, "buffer_size_kb");
}

/* Turns events on; a definition makes one first. *event: the pattern that they are known by, for
 * free(). */
static int write_event(struct kernel_instance *i, const char *text, char **event, struct err *err)
{
	int e = 0;

	free(*event);
	*event = NULL;
	if (kernel_probes_is(text))
		e = kernel_probes_define(i, text, event, err);
	else
		*event = mem_strdup(text);
	return e ? e : kernel_instance_write(i, "set_event", *event, true, err);
}

/* The other rows of brace's table measure, or find wakers, by brace's own means. The tracer is
 * started last (write_tracer()). */
static int choose_tracer(struct invocation *inv, struct kernel_instance *i, const char *name,
			 struct err *err)
{
	const struct tracer *t = tracer_find(name);

	if (!t || t->measures || t->wakes)
		return kernel_absent_tracer(kernel_instance_top(i), name, err);
	return settings_write(&inv->settings, "current_tracer", name, false, err);
}

/* event: as write_event()'s. */
static int write_file(struct invocation *inv, struct kernel_instance *i,
		      const struct setting_write *w, char **event, struct err *err)
{
	for (size_t k = 0; k < sizeof(foreign) / sizeof(*foreign); k++)
		if (!strcmp(w->file, foreign[k].file))
			return err_set(err, ENOTSUP, "%s", foreign[k].why);
	if (inv->verbose)
		invocation_show_write(w);
	if (!strcmp(w->file, "current_tracer"))
		return choose_tracer(inv, i, w->text, err);
	if (!strcmp(w->file, "trace_options"))
		return write_options(inv, i, w, err);
	if (is_number_file(w->file))
		return write_number(inv, i, w, err);
	if (strcmp(w->file, "set_event") != 0)
		return write_list(i, w, err);
	return write_event(i, w->text, event, err);
}

int kernel_settings_name_option(const struct option *o, struct err *err)
{
	if (!o)
		return -err->code;
	if (o->letter)
		return err_prefix(err, "-%c", o->letter);
	return err_prefix(err, "--%s", o->name);
}

/* The tracer is started last: by then it has its functions. */
static int write_tracer(struct invocation *inv, struct kernel_instance *i, struct err *err)
{
	const struct tracer *t = inv->settings.tracer;

	if (inv->verbose)
		invocation_show_write(&(struct setting_write){ NULL, "current_tracer", t->name,
							       false });
	return kernel_instance_write(i, "current_tracer", t->name, false, err);
}

/* In the order of the line: -f and -R are of the -e before them. */
static int write_all(struct invocation *inv, struct kernel_instance *i, struct err *err)
{
	char *event = NULL;
	int e = 0;

	for (size_t k = 0; k < inv->writes.n && !e; k++) {
		const struct setting_write *w = &inv->writes.at[k];

		if (w->file)
			e = write_file(inv, i, w, &event, err);
		else if (!event)
			e = err_set(err, EINVAL, "it stands behind the -e that it is for");
		else
			e = write_of_events(i, event, w->option->file, w->text, err);
		if (e)
			e = kernel_settings_name_option(w->option, err);
	}
	free(event);
	return e;
}

/* The tracer is written last: with it the kernel begins to patch its functions, by the lists that
 * are there. */
int kernel_settings_write(struct invocation *inv, struct kernel_instance *i, struct err *err)
{
	int e = settings_write(&inv->settings, "current_tracer", invocation_usual_tracer(inv),
			       false, err);

	if (!e)
		e = write_all(inv, i, err);
	return e ? e : write_tracer(inv, i, err);
}

/* A tracer is written last, with all its options set. An unnamed one stays as it is. */
int kernel_settings_change(struct invocation *inv, struct kernel_instance *i, struct err *err)
{
	bool named = false;
	int e = write_all(inv, i, err);

	for (size_t k = 0; k < inv->writes.n; k++)
		named |= inv->writes.at[k].file &&
			 !strcmp(inv->writes.at[k].file, "current_tracer");
	return e || !named ? e : write_tracer(inv, i, err);
}
