/* SPDX-License-Identifier: MIT */
/* Called by the commands that ask (hist, sql, latency) and by function_event.c, on the only thread.
 * Opens files that processes have mapped, and executes nothing of them. A file that cannot be
 * opened is passed over. */
#include "ui/question.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "image/maps.h"
#include "image/providers.h"
#include "inject/launch.h"

/* A file that cannot be read has no events: a question about them fails by the event's name. */
static void add_file(struct event_catalogue *c, const char *path)
{
	struct err ignored;
	int fd = file_open(path, &ignored);

	if (fd < 0)
		return;
	providers_catalogue(fd, path, c);
	close(fd);
}

/* Mappings of one file mostly follow each other. */
static void add_process(struct event_catalogue *c, pid_t pid)
{
	struct maps maps;
	const char *last = "";

	if (maps_read(pid, &maps, NULL))
		return;
	for (size_t i = 0; i < maps.at.n; i++) {
		const struct map *m = &maps.at.at[i];

		if (!m->exec || m->path[0] != '/' || !strcmp(m->path, last))
			continue;
		last = m->path;
		add_file(c, m->path);
	}
	maps_free(&maps);
}

/* Programs are looked at without being run: the catalogue knows before the start what a question
 * may name. */
struct event_catalogue *question_events(const struct invocation *inv)
{
	struct event_catalogue *c = events_new();
	char *path, *image;

	/* First: what every program has wins over a file's events of the same name. */
	providers_everybodys(c);
	for (size_t i = 0; i < inv->pids.n; i++)
		add_process(c, inv->pids.at[i]);
	if (inv->n_operands && launch_resolve(inv->operands[0], &path, &image, NULL) == 0) {
		add_file(c, image);
		free(path);
		free(image);
	}
	return c;
}

/* Whether the name is the event's: EVENT, SYSTEM:EVENT as ftrace has it, or with / or . between. */
static bool is_named(const struct event_entry *e, const char *name, size_t n)
{
	const char *system = e->format->system, *event = e->format->name;
	size_t k = strlen(system);

	if (strlen(event) == n && !memcmp(event, name, n))
		return true;
	return n == k + 1 + strlen(event) && !memcmp(system, name, k) &&
	       (name[k] == ':' || name[k] == '/' || name[k] == '.') &&
	       !memcmp(event, name + k + 1, n - k - 1);
}

/* The first of equal names is taken: providers_everybodys() added those of all programs. */
const struct event_entry *question_event(struct event_catalogue *c, const char *name, size_t n)
{
	for (uint32_t i = 0; i < events_n(c); i++) {
		const struct event_entry *e = events_at(c, i);

		if (events_can_enable(e) && !events_is_gone(e) && is_named(e, name, n))
			return e;
	}
	return NULL;
}
