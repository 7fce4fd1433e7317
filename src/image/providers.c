/* SPDX-License-Identifier: MIT */
/* The list of the kinds of events. Plans call, and commands that look at a program before it runs.
 * Nothing is kept; only providers_check() fails. */
#include "image/providers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "collect/switches.h"
#include "event/osnoise.h"
#include "event/rv.h"
#include "event/syscalls.h"
#include "event/tasks.h"
#include "event/user_event.h"
#include "image/dynamic_probes.h"
#include "image/event_sites.h"
#include "image/probes.h"

/* signals_provider stands behind switches_provider, whose event of the same name goes before. */
static const struct event_provider *const providers[] = {
	&syscalls_provider, &tasks_provider,   &switches_provider,
	&signals_provider,  &usdt_provider, &event_sites_provider,
	&dynamic_provider,     &osnoise_provider, &wakes_provider, &rv_provider,
	&user_event_provider,
};
#define PROVIDERS (sizeof(providers) / sizeof(*providers))

/* Several processes share a catalogue, and each one's plan asks for everybody's events: the first
 * one adds them. */
static bool has_everybodys(struct event_catalogue *c)
{
	uint32_t n = events_n(c);

	for (uint32_t i = 0; i < n; i++)
		if (events_at(c, i)->provider->add_common)
			return true;
	return false;
}

void providers_everybodys(struct event_catalogue *c)
{
	if (has_everybodys(c))
		return;
	for (size_t i = 0; i < PROVIDERS; i++)
		if (providers[i]->add_common)
			providers[i]->add_common(c);
}

/* Events that a file has under the name of one of everybody's are left out by the catalogue. */
void providers_catalogue(int fd, const char *path, struct event_catalogue *c)
{
	providers_everybodys(c);
	for (size_t i = 0; i < PROVIDERS; i++)
		if (providers[i]->of_file)
			providers[i]->of_file(fd, path, c);
}

/* --- names of no event ---------------------------------------------------------------------- */

/* Offers all names, with their systems if `name` has one. The caller frees them. The list ends with
 * NULL. `near` points into it, so that the best one is copied before it goes. */
static char **offer_names(struct nearest *near, const char *name, struct event_catalogue *c)
{
	uint32_t n = events_n(c), used = 0;
	char **names = mem_zalloc((n + 1) * sizeof(*names));

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(c, i);

		if (!events_can_enable(e))
			continue;
		names[used] = strchr(name, ':')
				      ? mem_printf("%s:%s", e->format->system, e->format->name)
				      : mem_strdup(e->format->name);
		nearest_offer(near, names[used++]);
	}
	return names;
}

char *providers_nearest(struct event_catalogue *c, const char *name)
{
	struct nearest near = { name, NULL, 0 };
	char **names = offer_names(&near, name, c), *best;

	best = near.best ? mem_strdup(near.best) : NULL;
	for (size_t i = 0; names[i]; i++)
		free(names[i]);
	free(names);
	return best;
}

/* Says why there is no such event, if a provider knows it (`allowed`); otherwise gives the most
 * similar event's name. */
static int no_event(const struct event_set *set, const char *name, struct err *err)
{
	char *near;
	int r;

	for (size_t i = 0; i < PROVIDERS; i++)
		if (providers[i]->allowed && providers[i]->allowed(name, err) < 0)
			return err_code(err, EINVAL);
	near = providers_nearest(set->catalogue, name);
	if (near)
		r = err_at(err, EINVAL, name, 0, "no event has the name %s; did you mean %s?",
			   name, near);
	else
		r = err_at(err, EINVAL, name, 0,
			   "no event has the name %s; brace list -e -f PROGRAM shows those there "
			   "are, and brace probe one at a function", name);
	free(near);
	return r;
}

int providers_check(const struct event_set *set, struct err *err)
{
	/* Names are tried on a set of their own, so that nothing of *set changes. */
	struct event_set try = { .catalogue = set->catalogue };
	int r = 0;

	for (size_t i = 0; set->catalogue && i < set->pending.n && r == 0; i++) {
		const char *name = set->pending.at[i].pattern;

		if (*name == '!' || strpbrk(name, "*?["))
			continue; /* an event of a module to come may match */
		r = event_set_write(&try, name, err) < 0 ? no_event(set, name, err) : 0;
	}
	event_set_free(&try);
	return r;
}

/* A catalogue alone suffices: a name that is pending may be met by a module to come. */
bool providers_wanted(const struct event_set *set)
{
	return set && set->catalogue;
}
