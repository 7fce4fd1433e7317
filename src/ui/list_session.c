/* SPDX-License-Identifier: MIT */
/* What a session has, as trace-cmd list: each subject is one of its files, line by line. */
#include "ui/list_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "daemon/ask.h"
#include "ui/event_writes.h"
#include "model/function_list.h"
#include "report/json.h"
#include "ui/list_events.h"
#include "ui/say.h"
#include "ui/screen.h"

struct listing {
	const struct invocation *inv;
	struct screen screen;
	struct function_list globs;  /* of functions */
	const char *system;          /* of the event before; NULL: none */
	size_t n;                    /* so many were printed */
};

/* One subject: a row of `subjects`, or what stands in for the functions. */
struct subject {
	size_t offset;               /* of its flag in struct invocation */
	const char *file, *what;
	bool whole;                  /* the file is printed as it is: no globs */
	int (*line)(struct listing *l, char *line, struct err *err);
};

/* Up to where the object may end. */
static void open_object(struct listing *l, const char *name)
{
	out_str(&l->screen.text, "{\"name\":");
	json_string(&l->screen.text, name);
}

static void print_line(struct listing *l, const char *line)
{
	l->n++;
	if (l->inv->json) {
		open_object(l, line);
		out_str(&l->screen.text, "}\n");
	} else {
		out_printf(&l->screen.text, "%s\n", line);
	}
}

static bool matches(const struct listing *l, const char *name)
{
	for (int i = 0; i < l->inv->n_operands; i++)
		if (glob_match(l->inv->operands[i], name))
			return true;
	return !l->inv->n_operands;
}

static int plain(struct listing *l, char *line, struct err *err)
{
	if (matches(l, line))
		print_line(l, line);
	return 0;
}

/* An option that is off is found by its name, too. */
static int option(struct listing *l, char *line, struct err *err)
{
	if (matches(l, line) || (!strncmp(line, "no", 2) && matches(l, line + 2)))
		print_line(l, line);
	return 0;
}

/* "name" or "name [module]" */
static int function(struct listing *l, char *line, struct err *err)
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

/* The system, where another begins. */
static int system_of(struct listing *l, char *line, struct err *err)
{
	char *name = line;

	line[strcspn(line, ":")] = '\0';
	if (l->system && !strcmp(l->system, name))
		return 0;
	l->system = name;
	return plain(l, line, err);
}

static int event_file(const struct listing *l, const char *event, const char *file, char **text, struct err *err)
{
	const char *colon = strchr(event, ':');
	char *path = mem_printf("events/%.*s/%s/%s", (int)(colon - event), event, colon + 1, file);
	int e = ask_cat(l->inv->session, path, text, err);

	free(path);
	return e;
}

/* "print fmt" only if it was asked for. */
static int print_format(struct listing *l, const char *event, struct err *err)
{
	char *text, *end;
	int e = event_file(l, event, "format", &text, err);

	if (e)
		return e;
	end = strstr(text, "\nprint fmt:");
	if (end && !l->inv->list_full)
		end[1] = '\0';
	out_printf(&l->screen.text, "system: %.*s\n%s", (int)strcspn(event, ":"), event, text);
	if (l->inv->list_full)
		out_char(&l->screen.text, '\n');
	free(text);
	return 0;
}

/* What is set in the event's file, under its name; nothing if nothing is. */
static int print_set(struct listing *l, const char *event, const char *file, struct err *err)
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

static void print_event(struct listing *l, const char *event)
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

static int event(struct listing *l, char *line, struct err *err)
{
	const struct invocation *inv = l->inv;
	bool found = !inv->n_operands;
	int e = 0;

	for (int i = 0; i < inv->n_operands; i++)
		found |= event_is_named(inv->operands[i], line);
	if (!found || !strchr(line, ':'))
		return 0;
	if (!inv->list_format && !inv->list_full && !inv->list_filters && !inv->list_triggers) {
		print_event(l, line);
		return 0;
	}
	if (inv->list_format || inv->list_full) {
		e = print_format(l, line, err);
		l->n++;
	}
	if (!e && inv->list_filters)
		e = print_set(l, line, "filter", err);
	if (!e && inv->list_triggers)
		e = print_set(l, line, "trigger", err);
	return e;
}

/* --- subjects ----------------------------------------------------------------------- */

#define FLAG(name) offsetof(struct invocation, name)

static const struct subject subjects[] = {
	{ FLAG(list_events), "available_events", "event", false, event },
	{ FLAG(list_systems), "available_events", "system", false, system_of },
	{ FLAG(list_tracers), "available_tracers", "tracer", true, plain },
	{ FLAG(list_options), "trace_options", "option", false, option },
	{ FLAG(list_buffers), "instances", "instance", false, plain },
	{ FLAG(list_clocks), "trace_clock", "clock", true, plain },
}, functions = { 0, "available_filter_functions", "function", false, function };

static bool is_asked(const struct invocation *inv, const struct subject *s)
{
	return *(const bool *)((const char *)inv + s->offset);
}

static int list_subject(struct listing *l, const struct subject *s, struct err *err)
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
	free(text);
	l->system = NULL;
	if (!e && l->n == before && l->inv->n_operands)
		e = err_set(err, ENOENT, "no %s%s matches %s", s->what,
			    l->inv->list_filters || l->inv->list_triggers ? " with what is asked for" : "", l->inv->operands[0]);
	return e;
}

static int list_functions(struct listing *l, struct err *err)
{
	int e = 0;

	for (int i = 0; i < l->inv->n_operands && !e; i++)
		e = function_list_write(&l->globs, l->inv->operands[i], true, err);
	e = e ? e : list_subject(l, &functions, err);
	function_list_free(&l->globs);
	return e;
}

static int list_subjects(struct listing *l, struct err *err)
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

/* What needs no session: every program has these. */
static bool is_of_all(const struct invocation *inv)
{
	if (!inv->list_events || inv->session_named || ask_is_there(inv->session))
		return false;
	for (size_t i = 1; i < sizeof(subjects) / sizeof(*subjects); i++)
		if (is_asked(inv, &subjects[i]))
			return false;
	return !inv->list_format && !inv->list_full && !inv->list_filters && !inv->list_triggers;
}

int list_session(struct invocation *inv)
{
	struct listing l = { .inv = inv };
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
