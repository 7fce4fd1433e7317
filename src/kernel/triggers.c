/* SPDX-License-Identifier: MIT */
/* Walks an instance's events, on brace's one thread. The order of removal is not known: passes are
 * made until one removes nothing. */
#include "kernel/triggers.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
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
