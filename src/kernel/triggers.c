/* SPDX-License-Identifier: MIT */
/* Walks an instance's events, on brace's one thread. The order of removal is not known: passes are
 * made until one removes nothing. instance.c calls it as the instance ends. */
#include "kernel/triggers.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "kernel/absent.h"
#include "kernel/tracefs.h"

#define PASSES_MOST 16u

/* A trigger as its file shows it, without what stands behind: "[active]". */
struct standing_trigger { char *file, *text; };
typedef VEC(struct standing_trigger) standing_triggers;

/* The kernel removes a trigger that is written again with '!' before it; the text has to be the
 * same but for its state. */
bool kernel_triggers_remove(const char *dir, const char *file, const char *text)
{
	char *line = mem_printf("!%s", text);
	bool removed = kernel_tracefs_write(dir, file, line, true) == 0;

	free(line);
	return removed;
}

/* Lines with '#' are the kernel's list of the words that it takes, shown where there is no
 * trigger. */
static void add_lines(const char *dir, const char *file, standing_triggers *out)
{
	char *text = kernel_tracefs_read(dir, file), *rest = text, *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		char *state = strstr(line, " [");

		if (!*line || *line == '#')
			continue;
		if (state)
			*state = '\0';
		*vec_add(out) = (struct standing_trigger){ mem_strdup(file), mem_strdup(line) };
	}
	free(text);
}

static void add_system(const char *dir, const char *system, standing_triggers *out)
{
	char *path = mem_printf("%s/events/%s", dir, system);
	DIR *events = opendir(path);
	const struct dirent *d;

	free(path);
	while (events && (d = readdir(events))) {
		char *file = mem_printf("events/%s/%s/trigger", system, d->d_name);

		if (*d->d_name != '.' && kernel_tracefs_has(dir, file))
			add_lines(dir, file, out);
		free(file);
	}
	if (events)
		closedir(events);
}

/* Every event of the instance is looked at: nothing lists those that have triggers. There are
 * some 2,000, read once, and only if the instance cannot be removed otherwise. */
static void find_all(const char *dir, standing_triggers *out)
{
	char *path = mem_printf("%s/events", dir);
	DIR *systems = opendir(path);
	const struct dirent *d;

	free(path);
	while (systems && (d = readdir(systems)))
		if (*d->d_name != '.')
			add_system(dir, d->d_name, out);
	if (systems)
		closedir(systems);
}

/* Returns how many went. Those that stay are tried again. */
static size_t remove_some(const char *dir, standing_triggers *all)
{
	size_t kept = 0, n = all->n;

	for (size_t i = 0; i < n; i++) {
		struct standing_trigger t = all->at[i];

		if (!kernel_triggers_remove(dir, t.file, t.text)) {
			all->at[kept++] = t;
			continue;
		}
		free(t.file);
		free(t.text);
	}
	all->n = kept;
	return n - kept;
}

/* A chain of triggers, each of which reads a variable of the next, needs as many passes as it is
 * long. What is left after PASSES_MOST holds each other in a circle; then rmdir() tells. */
void kernel_triggers_clear(const char *dir)
{
	standing_triggers all = { 0 };

	find_all(dir, &all);
	for (unsigned pass = 0; pass < PASSES_MOST && all.n && remove_some(dir, &all); pass++)
		;
	for (size_t i = 0; i < all.n; i++) {
		free(all.at[i].file);
		free(all.at[i].text);
	}
	vec_free(&all);
}

/* --- what the kernel refuses ------------------------------------------------------------- */

bool kernel_trigger_is_file(const char *file)
{
	const size_t n = strlen(file), end = strlen("/trigger");

	return n > end && !strcmp(file + n - end, "/trigger");
}

void kernel_trigger_prepare(const char *dir)
{
	kernel_tracefs_write(dir, "error_log", "", false);
}

/* The filter behind " if "; NULL: there is none. */
static const char *filter_of(const char *text)
{
	static const char word[] = " if ";
	const char *at = strstr(text, word);

	return at ? at + strlen(word) : NULL;
}

/* Linux 6.1 tells nothing of a trigger's filter, but of an event's own: the same filter is tried
 * there, and taken away again. An event that has a filter is left alone. */
static void try_filter(const char *dir, const char *file, const char *filter)
{
	const int n = (int)(strlen(file) - strlen("trigger"));
	char *own = mem_printf("%.*sfilter", n, file), *old = kernel_tracefs_read(dir, own);

	if (old && !strcmp(old, "none\n")) {
		kernel_tracefs_write(dir, own, filter, false);
		kernel_tracefs_write(dir, own, "0", false);
	}
	free(old);
	free(own);
}

/* The kinds that the kernel has, in one line between blanks, for free(). An event without a trigger
 * shows them; this one may have one. NULL: not known. */
static char *trigger_kinds(const char *top)
{
	char *text = kernel_tracefs_read(top, "events/sched/sched_process_exec/trigger");
	char *at = text ? strstr(text, "triggers:\n# ") : NULL, *kinds = NULL;

	if (at) {
		at += strlen("triggers:\n#");
		kinds = mem_printf("%.*s ", (int)strcspn(at, "\n"), at);
	}
	free(text);
	return kinds;
}

/* The word that is at fault, where the kernel has no sentence. Returns 0: it is not known. */
static int bad_kind(const char *top, const char *text, int e, struct err *err)
{
	char *word = mem_printf(" %.*s ", (int)strcspn(text, ": "), text);
	char *kinds = trigger_kinds(top);
	int told = 0;

	if (kinds && !strstr(kinds, word))
		told = err_at(err, -e, text, 0, "the kernel has no such trigger; it has%.*s",
			      (int)strlen(kinds) - 1, kinds);
	free(kinds);
	free(word);
	return told;
}

/* enable_event:SYSTEM:EVENT and disable_event. Returns 0: the event is there, or it is none of
 * them. */
static int bad_target(const char *top, const char *text, int e, struct err *err)
{
	const char *target = strchr(text, ':'), *colon;
	char *path;
	int told = 0;

	if (strncmp(text, "enable_event:", 13) && strncmp(text, "disable_event:", 14))
		return 0;
	colon = strchr(++target, ':');
	if (!colon)
		return err_at(err, -e, text, (size_t)(target - text),
			      "the kernel wants SYSTEM:EVENT here");
	path = mem_printf("events/%.*s/%.*s/enable", (int)(colon - target), target,
			  (int)strcspn(colon + 1, ": "), colon + 1);
	if (!kernel_tracefs_has(top, path))
		told = kernel_absent_event(top, text, (size_t)(target - text), err);
	free(path);
	return told;
}

/* "stacktrace:abc". The other kinds have words behind the colon. */
static int bad_count(const char *text, int e, struct err *err)
{
	const size_t at = strcspn(text, ": ") + 1, n = text[at - 1] == ':' ? strcspn(text + at, " ") : 0;

	if (!n || strspn(text + at, "0123456789") == n || !strncmp(text, "hist", 4) ||
	    !strncmp(text, "enable_", 7) || !strncmp(text, "disable_", 8))
		return 0;
	return err_at(err, -e, text, at,
		      "the kernel wants a number here: how often the trigger works");
}

static int no_sentence(const char *top, const char *text, int e, struct err *err)
{
	int told = bad_kind(top, text, e, err);

	told = told ? told : bad_target(top, text, e, err);
	told = told ? told : bad_count(text, e, err);
	return told ? told
		    : err_at(err, -e, text, 0, "the kernel refuses this trigger: %s",
			     strerror(-e));
}

/* The kernel tells in error_log what is wrong with a filter and a histogram, and of the rest
 * nothing. */
int kernel_trigger_refused(const char *top, const char *dir, const char *file, const char *text,
			   int e, struct err *err)
{
	const char *filter = filter_of(text);
	size_t column;
	char *why;

	if (e == -EEXIST)
		return err_at(err, EEXIST, text, 0, "the event has such a trigger already");
	why = kernel_tracefs_error_in(dir, text, &column);
	if (!why && filter) {
		try_filter(dir, file, filter);
		why = kernel_tracefs_error_in(dir, text, &column);
	}
	if (!why)
		return no_sentence(top, text, e, err);
	err_at(err, -e, text, column == SIZE_MAX ? 0 : column, "the kernel refuses this trigger: %s",
	       why);
	free(why);
	return e;
}
