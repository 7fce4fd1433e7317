/* SPDX-License-Identifier: MIT */
/* Reads the session's files over its socket, one request each. Called by brace config --save. The
 * keys are written in the order in which writes.c carries them out. On the main thread. A file that
 * the session does not have is left out; any other failure is the command's error. */
#include "ui/config_save.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/bootconfig.h"
#include "daemon/ask.h"
#include "model/settings.h"

struct saving {
	const char *session;
	const char *dir;         /* "" or "instances/NAME/" */
	struct settings usual;   /* those of a new tree */
	struct out *out;
};

/* A boot configuration has no text with both kinds of quotes, and none that is not printable. */
static bool can_be_said(const char *text)
{
	bool quotes = strchr(text, '"') && strchr(text, '\'');

	for (; *text && (isprint((unsigned char)*text) || *text == '\t'); text++)
		;
	return !*text && !quotes;
}

/* Begins a line KEY OPERATOR "TEXT", or a comment instead. */
static void put_line(struct saving *s, const char *key, const char *operator, const char *text)
{
	if (!can_be_said(text)) {
		out_printf(s->out, "  # a boot configuration cannot say %s: ", key);
		out_foreign(s->out, text, strlen(text));
		out_char(s->out, '\n');
		return;
	}
	out_printf(s->out, "  %s %s ", key, operator);
	bootconfig_quote(s->out, text);
	out_char(s->out, '\n');
}

/* The chosen word of "[local] global ...", or the text. */
static char *chosen_word(char *text)
{
	char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (end)
		*end = '\0';
	return end ? begin + 1 : text;
}

/* Whether a line of a list is a setting: the others are remarks, or the rest of a trigger that does
 * not act any more. */
static bool is_setting_line(const char *line)
{
	return *line && *line != '#' && strcmp(line, "no pid");
}

enum saved_as {
	SAVED_FIRST,             /* KEY = LINE */
	SAVED_KB,                /* KEY = LINE, in kilobytes */
	SAVED_LINES,             /* KEY += LINE of each */
	SAVED_EVENTS             /* event.SYSTEM.EVENT.KEY += TEXT, of SYSTEM:EVENT TAB TEXT */
};

/* Files and their keys. */
static const struct saved_file { const char *file, *key; enum saved_as as; } files[] = {
	{ "trace_options", "options", SAVED_LINES },
	{ "tracing_on", "tracing_on", SAVED_FIRST },
	{ "trace_clock", "trace_clock", SAVED_FIRST },
	{ "buffer_size_kb", "buffer_size", SAVED_KB },
	{ "tracing_cpumask", "cpumask", SAVED_FIRST },
	{ "max_graph_depth", "file.max_graph_depth", SAVED_FIRST },
	{ "tracing_thresh", "file.tracing_thresh", SAVED_FIRST },
	{ "set_ftrace_module", "file.set_ftrace_module", SAVED_LINES },
	{ "set_graph_function", "file.set_graph_function", SAVED_LINES },
	{ "set_graph_notrace", "file.set_graph_notrace", SAVED_LINES },
	{ "set_ftrace_args", "file.set_ftrace_args", SAVED_LINES },
	{ "set_ftrace_args_depth", "file.set_ftrace_args_depth", SAVED_FIRST },
	{ "set_ftrace_retval", "file.set_ftrace_retval", SAVED_LINES },
	{ "set_event_scope", "file.set_event_scope", SAVED_LINES },
	{ "dynamic_events", "file.dynamic_events", SAVED_LINES },
	{ "show_event_filters", "filter", SAVED_EVENTS },
	{ "show_event_triggers", "actions", SAVED_EVENTS },
	{ "set_event", "events", SAVED_LINES },
	{ "set_ftrace_filter", "ftrace.filters", SAVED_LINES },
	{ "set_ftrace_notrace", "ftrace.notraces", SAVED_LINES },
	{ "current_tracer", "tracer", SAVED_FIRST },
};

/* A line SYSTEM:EVENT TAB TEXT of a file that shows all events' filters or triggers. A trigger's
 * state behind it, " [active]", is no part of it. */
static void save_event(struct saving *s, const struct saved_file *f, char *line)
{
	char *text = strchr(line, '\t'), *event = strchr(line, ':'), *state, *key;

	if (!text || !event || event > text)
		return;
	*text++ = *event++ = '\0';
	state = strstr(text, " [active]");
	if (state)
		memmove(state, state + strlen(" [active]"), strlen(state + strlen(" [active]")) + 1);
	key = mem_printf("event.%s.%s.%s", line, event, f->key);
	put_line(s, key, "+=", text);
	free(key);
}

/* Whether a line stands in a text of lines. */
static bool has_line(const char *text, const char *line)
{
	const size_t n = strlen(line);

	for (; text && *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strcspn(text, "\n") == n && !strncmp(text, line, n))
			return true;
	return false;
}

/* Lines that a new session's file has too are left out. */
static void save_text(struct saving *s, const struct saved_file *f, char *text)
{
	char *usual = settings_read(&s->usual, f->file), *rest = text, *line, *size;

	while ((line = strsep(&rest, "\n"))) {
		if (!is_setting_line(line) || has_line(usual, line))
			continue;
		if (f->as == SAVED_EVENTS) {
			save_event(s, f, line);
		} else if (f->as == SAVED_LINES) {
			put_line(s, f->key, "+=", line);
		} else if (f->as == SAVED_KB) {
			/* "7 (expanded: 1408)" of a buffer that does not exist yet. */
			line[strcspn(line, " ")] = '\0';
			size = mem_printf("%sK", line);
			put_line(s, f->key, "=", size);
			free(size);
		} else {
			put_line(s, f->key, "=", chosen_word(line));
		}
	}
	free(usual);
}

/* A file that only the top has is left out of instances. */
static int save_settings(struct saving *s, struct err *err)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = mem_printf("%s%s", s->dir, files[i].file), *text;
		int e = ask_cat(s->session, path, &text, err);

		free(path);
		if (e == -ENOENT && *s->dir)
			continue;
		if (e)
			return e;
		save_text(s, &files[i], text);
		free(text);
	}
	return 0;
}

/* One after another, each with its own block. */
static int save_instances(struct saving *s, struct err *err)
{
	char *names, *rest;
	int e = ask_cat(s->session, "instances", &names, err);

	if (e)
		return e;
	rest = names;
	for (char *name; !e && (name = strsep(&rest, "\n"));) {
		char *dir = mem_printf("instances/%s/", name);

		if (*name) {
			s->dir = dir;
			out_printf(s->out, "ftrace.instance.%s {\n", name);
			e = save_settings(s, err);
			out_str(s->out, "}\n");
		}
		free(dir);
	}
	free(names);
	return e;
}

/* Only what differs from the usual settings is written: so the file says what somebody wanted. */
int config_save(const char *session, struct out *out, struct err *err)
{
	struct saving s = { .session = session, .dir = "", .out = out };
	int e;

	if (!ask_is_there(session))
		return ask_cat(session, "current_tracer", &(char *){ NULL }, err);
	settings_init_tree(&s.usual);
	out_printf(out, "# brace config --save of the session %s\nftrace {\n", session);
	e = save_settings(&s, err);
	out_str(out, "}\n");
	if (!e)
		e = save_instances(&s, err);
	settings_free(&s.usual);
	return e;
}
