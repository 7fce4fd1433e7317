/* SPDX-License-Identifier: MIT */
/* Lists of a session, as trace-cmd list has them: each subject is one of the session's files, read
 * through its socket line by line. Called by cmd_list(). A file that cannot be read is the
 * command's error. On the main thread. */
#include "ui/list_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "daemon/ask.h"
#include "ui/event_writes.h"
#include "model/function_list.h"
#include "base/json.h"
#include "base/string_set.h"
#include "ui/list_events.h"
#include "ui/say.h"
#include "ui/screen.h"

struct session_listing {
	const struct invocation *inv;
	struct screen screen;
	struct function_list globs;  /* of functions */
	struct string_set systems;   /* that were printed; their names are in the file's text */
	size_t n;                    /* lines printed */
};

/* A subject: a row of `subjects`, or `functions`. */
struct subject {
	size_t offset;               /* of its flag in struct invocation */
	const char *file, *what;
	bool whole;                  /* printed as it is, without globs */
	int (*line)(struct session_listing *l, char *line, struct err *err);
};

/* Opens a JSON object, which the caller goes on with and closes. */
static void open_object(struct session_listing *l, const char *name)
{
	out_str(&l->screen.text, "{\"name\":");
	json_string(&l->screen.text, name);
}

/* Counted, so that a list without lines can say that nothing matched. */
static void print_line(struct session_listing *l, const char *line)
{
	l->n++;
	if (l->inv->json) {
		open_object(l, line);
		out_str(&l->screen.text, "}\n");
	} else {
		out_printf(&l->screen.text, "%s\n", line);
	}
}

/* Without operands everything matches, as with trace-cmd list. */
static bool name_matches(const struct session_listing *l, const char *name)
{
	for (int i = 0; i < l->inv->n_operands; i++)
		if (glob_match(l->inv->operands[i], name))
			return true;
	return !l->inv->n_operands;
}

/* `line` callbacks: print the line if it is wanted. 0, or -errno and *err; they may change the
 * line. */
static int list_plain(struct session_listing *l, char *line, struct err *err)
{
	if (name_matches(l, line))
		print_line(l, line);
	return 0;
}

/* An option that is off ("noNAME") is found by its name, too. */
static int list_option(struct session_listing *l, char *line, struct err *err)
{
	if (name_matches(l, line) || (!strncmp(line, "no", 2) && name_matches(l, line + 2)))
		print_line(l, line);
	return 0;
}

/* "name" or "name [module]", as available_filter_functions has them. */
static int list_function(struct session_listing *l, char *line, struct err *err)
{
	char *bracket = strstr(line, " ["), *module = bracket ? mem_strdup(bracket + 2) : NULL;
	char *name = bracket ? mem_strndup(line, (size_t)(bracket - line)) : mem_strdup(line);

	if (module)
		module[strcspn(module, "]")] = '\0';
	if (!l->inv->n_operands || function_list_match(&l->globs, name, module)) {
		l->n++;
		if (l->inv->json) {
			open_object(l, name);
			out_str(&l->screen.text, ",\"module\":");
			json_string(&l->screen.text, module);
			out_str(&l->screen.text, "}\n");
		} else {
			out_printf(&l->screen.text, "%s\n", line);
		}
	}
	free(name);
	free(module);
	return 0;
}

/* --- events ------------------------------------------------------------------------- */

/* Prints the system's name at its first event: those of a system need not stand together. */
static int system_of(struct session_listing *l, char *line, struct err *err)
{
	char *name = line;

	line[strcspn(line, ":")] = '\0';
	if (string_set_has(&l->systems, name))
		return 0;
	string_set_add(&l->systems, name);
	return list_plain(l, line, err);
}

/* Reads a file of the event's directory. The caller frees *text. */
static int event_file(const struct session_listing *l, const char *event, const char *file,
		      char **text, struct err *err)
{
	/* SYSTEM:EVENT becomes events/SYSTEM/EVENT/FILE. */
	const char *colon = strchr(event, ':');
	char *path = mem_printf("events/%.*s/%s/%s", (int)(colon - event), event, colon + 1, file);
	int e = ask_cat(l->inv->session, path, text, err);

	free(path);
	return e;
}

/* Prints "print fmt" only with --full. */
static int print_format(struct session_listing *l, const char *event, struct err *err)
{
	char *text, *end;
	int e = event_file(l, event, "format", &text, err);

	if (e)
		return e;
	end = strstr(text, "\nprint fmt:");
	if (end && !l->inv->of_list.full)
		end[1] = '\0';
	out_printf(&l->screen.text, "system: %.*s\n%s", (int)strcspn(event, ":"), event, text);
	if (l->inv->of_list.full)
		out_char(&l->screen.text, '\n');
	free(text);
	return 0;
}

/* Prints the content of the event's file under the event's name; nothing if nothing is set. */
static int print_set(struct session_listing *l, const char *event, const char *file,
		     struct err *err)
{
	char *text, *rest;
	int e = event_file(l, event, file, &text, err);
	bool named = false;

	if (e)
		return e;
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		if (!*line || *line == '#' || !strcmp(line, "none"))
			continue;
		l->n++;
		if (!named)
			out_printf(&l->screen.text, "%s\n", event);
		named = true;
		out_printf(&l->screen.text, "  %s\n", line);
	}
	free(text);
	return 0;
}

/* JSON tells system and name apart; the text is a line of available_events. */
static void print_session_event(struct session_listing *l, const char *event)
{
	const char *colon = strchr(event, ':');
	char *system;

	if (!l->inv->json) {
		print_line(l, event);
		return;
	}
	l->n++;
	system = mem_strndup(event, (size_t)(colon - event));
	open_object(l, colon + 1);
	out_str(&l->screen.text, ",\"system\":");
	json_string(&l->screen.text, system);
	out_str(&l->screen.text, "}\n");
	free(system);
}

/* One line of available_events: the name, or what the options ask for about it. */
static int event(struct session_listing *l, char *line, struct err *err)
{
	const struct invocation *inv = l->inv;
	bool found = !inv->n_operands;
	int e = 0;

	for (int i = 0; i < inv->n_operands; i++)
		found |= event_is_named(inv->operands[i], line);
	if (!found || !strchr(line, ':'))
		return 0;
	if (!inv->of_list.format && !inv->of_list.full && !inv->of_list.filters &&
	    !inv->of_list.triggers) {
		print_session_event(l, line);
		return 0;
	}
	if (inv->of_list.format || inv->of_list.full) {
		e = print_format(l, line, err);
		l->n++;
	}
	if (!e && inv->of_list.filters)
		e = print_set(l, line, "filter", err);
	if (!e && inv->of_list.triggers)
		e = print_set(l, line, "trigger", err);
	return e;
}

/* --- subjects ----------------------------------------------------------------------- */

#define FLAG(name) offsetof(struct invocation, name)

/* A row: the option's flag, the session's file, the word for errors, whether it is printed whole,
 * and who prints a line of it. The first row is the events (is_of_all). */
static const struct subject subjects[] = {
	{ FLAG(list_events), "available_events", "event", false, event },
	{ FLAG(of_list.systems), "available_events", "system", false, system_of },
	{ FLAG(of_list.tracers), "available_tracers", "tracer", true, list_plain },
	{ FLAG(of_list.options), "trace_options", "option", false, list_option },
	{ FLAG(of_list.buffers), "instances", "instance", false, list_plain },
	{ FLAG(of_list.clocks), "trace_clock", "clock", true, list_plain },
}, functions = { 0, "available_filter_functions", "function", false, list_function };

/* The flag of the subject's option, by its offset in struct invocation. */
static bool is_asked(const struct invocation *inv, const struct subject *s)
{
	return *(const bool *)((const char *)inv + s->offset);
}

/* Prints a subject's file, line by line. -ENOENT if nothing matches the globs. */
static int list_subject(struct session_listing *l, const struct subject *s, struct err *err)
{
	char *text, *rest;
	size_t before = l->n;
	int e = 0;

	if (s->whole && l->inv->n_operands)
		return err_set(err, EINVAL, "the list of %ss is short: it takes no glob", s->what);
	e = ask_cat(l->inv->session, s->file, &text, err);
	if (e)
		return e;
	rest = text;
	for (char *line; !e && (line = strsep(&rest, "\n"));)
		if (*line)
			e = s->line(l, line, err);
	string_set_free(&l->systems);
	l->systems = (struct string_set){ 0 };
	free(text);
	if (!e && l->n == before && l->inv->n_operands)
		e = err_set(err, ENOENT, "no %s%s matches %s", s->what,
			    l->inv->of_list.filters || l->inv->of_list.triggers
				    ? " with what is asked for"
				    : "",
			    l->inv->operands[0]);
	return e;
}

/* Without another subject, the functions that the session can trace. */
static int list_functions(struct session_listing *l, struct err *err)
{
	int e = 0;

	for (int i = 0; i < l->inv->n_operands && !e; i++)
		e = function_list_write(&l->globs, l->inv->operands[i], true, err);
	e = e ? e : list_subject(l, &functions, err);
	function_list_free(&l->globs);
	return e;
}

/* All subjects that are asked for, in the order of the table. */
static int list_subjects(struct session_listing *l, struct err *err)
{
	bool any = false;
	int e = 0;

	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects) && !e; i++) {
		if (!is_asked(l->inv, &subjects[i]))
			continue;
		e = list_subject(l, &subjects[i], err);
		any = true;
	}
	return any ? e : list_functions(l, err);
}

/* Whether only events that every program has are asked for: they need no session. */
static bool is_of_all(const struct invocation *inv)
{
	if (!inv->list_events || inv->session_named || ask_is_there(inv->session))
		return false;
	for (size_t i = 1; i < sizeof(subjects) / sizeof(*subjects); i++)
		if (is_asked(inv, &subjects[i]))
			return false;
	return !inv->of_list.format && !inv->of_list.full && !inv->of_list.filters &&
	       !inv->of_list.triggers;
}

/* Without a session only a list that needs none is printed; a named session is asked in any
 * case. */
int list_session(struct invocation *inv)
{
	struct session_listing l = { .inv = inv };
	struct err err;
	int status;

	if (!inv->session_named && !inv->list_events && !ask_is_there(inv->session)) {
		say("brace: no session runs: `brace start` begins one; list -f BINARY lists a program's functions without\n");
		return EXIT_BRACE;
	}
	if (is_of_all(inv)) {
		say("brace: no session runs: these are the events that every program has; -f BINARY lists a program's\n");
		return list_events(inv, NULL);
	}
	screen_open(&l.screen, inv, SCREEN_PAGED, NULL);
	if (inv->json)
		out_str(&l.screen.text, "{\"schema\":\"brace-list-session\",\"version\":1}\n");
	status = list_subjects(&l, &err);
	return screen_close(&l.screen, status ? say_error(&err) : 0);
}
