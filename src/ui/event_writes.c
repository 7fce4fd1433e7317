/* SPDX-License-Identifier: MIT */
/* Runs where the command runs: before a session begins, or from brace set and start. Filters come
 * before enabling, so that no record passes unfiltered. The first refused write ends it, and names
 * its option. On the main thread. */
#include "ui/event_writes.h"
#include "ui/config_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "event/user_event.h"
#include "ui/field_hint.h"
#include "ui/probe_option.h"
#include "ui/say.h"

/* Writes that need the catalogue: they come when the program's events are known. */
bool event_write_is(const struct setting_write *w)
{
	return !w->file || !strcmp(w->file, "set_event");
}

/* The monitor that makes the event which the write names, "rv:error_NAME" or "rv:event_NAME"; NULL:
 * none does. */
static const char *monitor_named(const struct setting_write *w)
{
	static const char *const begins[] = { "rv:error_", "rv:event_" };

	for (size_t i = 0; w->file && !strcmp(w->file, "set_event") && i < 2; i++)
		if (!strncmp(w->text, begins[i], strlen(begins[i])) &&
		    !strpbrk(w->text, "*?["))
			return w->text + strlen(begins[i]);
	return NULL;
}

/* Returns the event that the write of -e names, behind the system `system`; NULL if it is another
 * write or names another system. */
static const char *named_in(const struct setting_write *w, const char *system)
{
	const size_t n = strlen(system);

	if (!w->file || strcmp(w->file, "set_event") != 0)
		return NULL;
	return strncmp(w->text, system, n) || w->text[n] != ':' ? w->text : w->text + n + 1;
}

/* Whether the write names an event that a tree makes of others (instance/wake_events.h,
 * monitors.h). A pattern that only happens to match it means what programs record. */
static bool names_made(const struct setting_write *w)
{
	static const char begin[] = "sched_wak";
	const char *name = named_in(w, "sched");

	if (monitor_named(w))
		return true;
	return name && !strncmp(name, begin, sizeof(begin) - 1) &&
	       (glob_match(name, "sched_waking") || glob_match(name, "sched_wakeup"));
}

/* Whether a tree is needed, since plain sessions run no triggers. */
bool event_writes_trigger(const struct invocation *inv)
{
	if (probe_options_in_tree(inv))
		return true;
	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct setting_write *w = &inv->writes.at[i];

		if (names_made(w) || (!w->file && !strcmp(w->option->file, "trigger")))
			return true;
	}
	return false;
}

/* A pattern without a colon may name the system or the event. */
static bool pattern_names(const char *pattern, const char *system, const char *event)
{
	const char *colon = strchr(pattern, ':');
	char *of_system;
	bool is;

	if (!colon)
		return glob_match(pattern, system) || glob_match(pattern, event);
	of_system = mem_strndup(pattern, (size_t)(colon - pattern));
	is = (!*of_system || glob_match(of_system, system)) &&
	     (!colon[1] || glob_match(colon + 1, event));
	free(of_system);
	return is;
}

/* Whether the pattern speaks of one system, not of all events that there are. */
static bool names_system(const char *pattern)
{
	return pattern[strspn(pattern, "*:")] != '\0';
}

/* A pattern that means several of the made events is told of each system once. */
static void warn_of_made(const char *pattern)
{
	static const struct { const char *system, *events[2], *sentence; } made[] = {
		{ "sched", { "sched_waking", "sched_wakeup" },
		  "sched_waking and sched_wakeup are made only where they are named: -e sched:sched_waking -e sched:sched_wakeup" },
		{ "rv", { "event_ebadf", "error_ebadf" },
		  "a monitor watches only where its event is named: -e rv:error_ebadf" },
		{ "osnoise", { "sample_threshold", "thread_noise" },
		  "only the tracer osnoise makes these events: add -t osnoise, in place of another tracer" },
	};

	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
		if (pattern_names(pattern, made[i].system, made[i].events[0]) ||
		    pattern_names(pattern, made[i].system, made[i].events[1]))
			say_warning("-e %s: %s", pattern, made[i].sentence);
}

void event_writes_warn_measured(const struct invocation *inv)
{
	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct setting_write *w = &inv->writes.at[i];

		if (w->file && !strcmp(w->file, "set_event") &&
		    (pattern_names(w->text, "osnoise", "sample_threshold") ||
		     pattern_names(w->text, "osnoise", "thread_noise")))
			say_warning("-e %s: the tracer %s makes no events of the system osnoise: -t osnoise does",
				    w->text, inv->settings.tracer->name);
	}
}

void event_writes_warn(const struct invocation *inv)
{
	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct setting_write *w = &inv->writes.at[i];

		if (!w->file || strcmp(w->file, "set_event") != 0)
			continue;
		if (names_system(w->text))
			warn_of_made(w->text);
		else if (*w->text)
			say_warning("-e %s: events that brace makes are not among them: those of wake-ups, monitors and the tracer osnoise (docs/events.md)",
				    w->text);
	}
}

/* By SYSTEM:EVENT, either part with globs. */
bool event_is_named(const char *pattern, const char *event)
{
	const char *colon = strchr(event, ':');
	char *system = colon ? mem_strndup(event, (size_t)(colon - event)) : NULL;
	bool is = colon && pattern_names(pattern, system, colon + 1);

	free(system);
	return is;
}

/* Writes one filter or trigger to one event. line: "SYSTEM:EVENT". */
static int write_one(const struct invocation *inv, const struct event_files *f, const char *line,
		     const struct setting_write *w, struct err *err)
{
	const char *colon = strchr(line, ':');
	char *path = mem_printf("events/%.*s/%s/%s", (int)(colon - line), line, colon + 1,
				w->option->file);
	int e = f->echo(f->arg, path, w->text, false, err);

	if (e) {
		/* The text was written with a newline, as by echo. */
		err->input[strcspn(err->input, "\n")] = '\0';
		field_hint_of_write(inv, f, path, err);
	}
	free(path);
	return e ? err_prefix(err, "-%c", w->option->letter) : 0;
}

static int unknown_event(const char *name, struct err *err)
{
	return err_at(err, EINVAL, name, 0, "%s",
		      user_event_is_name(name)
			      ? USER_EVENT_CURE
			      : "no event has this name; brace list -e -f PROGRAM lists a program's");
}

/* Writes to each event of this name, by the lines of available_events. */
static int write_each(const struct invocation *inv, const struct event_files *f, const char *name,
		      const struct setting_write *w, struct err *err)
{
	char *all, *rest;
	unsigned n = 0;
	int e = f->cat(f->arg, "available_events", &all, err);

	if (e)
		return e;
	rest = all;
	/* Lines are SYSTEM:EVENT. */
	for (char *line; !e && (line = strsep(&rest, "\n"));) {
		if (!event_is_named(name, line))
			continue;
		e = write_one(inv, f, line, w, err);
		n++;
	}
	free(all);
	return e || n ? e : unknown_event(name, err);
}

/* Writes filters and triggers, each to the events of the -e before it. */
static int write_parts(const struct invocation *inv, const struct event_files *f, struct err *err)
{
	const char *name = NULL;
	int e = 0;

	for (size_t i = 0; i < inv->writes.n && !e; i++) {
		const struct setting_write *w = &inv->writes.at[i];

		/* -f and -R belong to an -e, not to a configuration's events. */
		if (!event_write_is(w) || w->config)
			continue;
		if (w->file)
			/* A -e that disables names no event for the following -f and -R. */
			name = *w->text == '!' ? NULL : w->text;
		else if (!name)
			e = err_at(
				err, EINVAL, w->text, 0,
				"there is no event to which it could belong: name one before it");
		else
			e = write_each(inv, f, name, w, err);
	}
	return e;
}

/* Carries out inv->lines, whose texts brace made itself: what is refused is told with them. */
static int write_lines(const struct invocation *inv, const struct event_files *f, struct err *err)
{
	int e = 0;

	for (size_t i = 0; i < inv->lines.n && !e; i++) {
		const struct tree_line *l = &inv->lines.at[i];

		if (inv->verbose)
			invocation_show_write(&(struct setting_write){
				.file = l->file, .text = l->text, .append = true });
		e = f->echo(f->arg, l->file, l->text, true, err);
		if (e) {
			/* The text was written with a newline, as by echo. */
			err->input[strcspn(err->input, "\n")] = '\0';
			field_hint_of_write(inv, f, l->file, err);
		}
	}
	return e;
}

/* In the order in which they depend on each other. What was written before a failure stays. */
int event_writes(const struct invocation *inv, const struct event_files *f, struct err *err)
{
	int e = 0;

	/* Definitions first: all that follows may name their events. */
	for (size_t i = 0; i < inv->definitions.n && !e; i++) {
		const struct probe_definition_line *d = &inv->definitions.at[i];

		e = f->echo(f->arg, d->in_tree ? "dynamic_events" : "uprobe_events", d->line, true,
			    err);
		if (e) {
			err->input[strcspn(err->input, "\n")] = '\0';
			e = err_prefix(err, "-e");
		}
	}
	if (!e)
		e = config_option_apply(inv, f, err);
	if (!e)
		e = write_parts(inv, f, err);
	if (!e)
		e = write_lines(inv, f, err);
	for (size_t i = 0; i < inv->writes.n && !e; i++) {
		const struct setting_write *w = &inv->writes.at[i];

		if (!event_write_is(w) || !w->file)
			continue;
		if (inv->verbose)
			invocation_show_write(w);
		e = f->echo(f->arg, w->file, w->text, w->append, err);
		/* The session says that there is none, and cannot know how there would be one. */
		if (e == -EINVAL && user_event_is_name(w->text))
			e = unknown_event(w->text, err);
		if (e)
			e = config_option_failed(inv, w, err);
		else if (monitor_named(w))
			e = f->echo(f->arg, "rv/enabled_monitors", monitor_named(w), true, err);
	}
	return e;
}
