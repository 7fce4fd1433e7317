/* SPDX-License-Identifier: MIT */
/* Static events (include/brace/event.h). Part of one plan, on its thread; the catalogue has a lock
 * of its own. Nothing fails but event_sites_check(): a module whose events cannot be read has
 * none. */
#include "image/call_points.h"
#include "image/event_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "collect/perf_rings.h"
#include "shared/event.h"
#include "shared/probe.h"
#include "shared/record.h"

_Static_assert(EVENT_IDS == EVENT_ID_FIRST, "filters see the id that the format file has");

/* --- into the catalogue ------------------------------------------------------------------ */

/* The field's type as a format file has it. The caller frees it. */
static char *type_of(const struct static_field *f)
{
	if (f->kind == STATIC_DYNAMIC)
		return mem_printf("__data_loc %s[]", f->type);
	if (f->kind == STATIC_ARRAY)
		return mem_printf("%s[%u]", f->type, f->size / f->element);
	return mem_strdup(f->type);
}

/* Adds one event to the catalogue. An event of that name that is there already stays. */
static int add_event(struct event_catalogue *c, const struct static_event *e, struct err *err)
{
	struct event_field *fields = mem_zalloc((e->fields.n + 1) * sizeof(*fields));
	struct event_format format = { e->system, e->name, 0, fields, e->fields.n, e->print };
	const struct event_entry *entry;
	int r;

	for (size_t i = 0; i < e->fields.n; i++) {
		const struct static_field *f = &e->fields.at[i];

		fields[i] = (struct event_field){ type_of(f), f->name, f->offset, f->size,
						  f->is_signed };
	}
	r = events_add_format(c, EVENT_OWNER_STATIC, &format, &entry, err);
	for (size_t i = 0; i < e->fields.n; i++)
		free((char *)fields[i].type);
	free(fields);
	return r;
}

/* Corrects base: where the file's addresses are in the process. */
static void place_module(struct module *mod)
{
	if (!mod->hooks) /* else load() corrected it by the segments */
		mod->base -= mod->events.lowest;
}

/* An event that cannot be added is left out: the file may say anything. */
static void add_events(struct event_catalogue *c, const struct static_events *events)
{
	struct err ignored;

	for (size_t i = 0; i < events->events.n; i++)
		add_event(c, &events->events.at[i], &ignored);
}

bool event_sites_load(struct module *mod)
{
	struct err ignored;

	if (mod->fd < 0 || static_events_load(mod->fd, mod->path, &mod->events, &ignored) < 0 ||
	    !mod->events.events.n)
		return false;
	place_module(mod);
	return true;
}

/* A module without events adds none. */
void event_sites_catalogue(struct module *mod, struct event_catalogue *c)
{
	if (event_sites_load(mod))
		add_events(c, &mod->events);
}

/* For a program that is not started yet, so that its events can be set before. */
void event_sites_know(int fd, const char *path, struct event_catalogue *c)
{
	struct static_events events;
	struct err ignored;

	if (static_events_load(fd, path, &events, &ignored) < 0)
		return;
	add_events(c, &events);
	static_events_free(&events);
}

/* --- what is wanted ------------------------------------------------------------------------ */

/* A catalogue alone suffices: a name that is pending may be met by a module to come. */
bool event_sites_wanted(const struct event_set *set)
{
	return set && set->catalogue;
}

/* The static event of that name, if it is armed; else NULL. */
static const struct event_entry *is_armed(const struct event_set *set, const char *system,
					  const char *name)
{
	const struct event_entry *e = events_find(set->catalogue, system, name);

	return e && e->owner == EVENT_OWNER_STATIC && event_set_armed(set, e->index) ? e : NULL;
}

/* Whether the event is armed, or another one that happens at the same site. */
static bool is_site_wanted(const struct event_set *set, const struct module *mod,
			   const struct static_site *s)
{
	for (size_t i = 0; i < mod->events.events.n; i++) {
		const struct static_event *e = &mod->events.events.at[i];
		char at[256];

		snprintf(at, sizeof(at), "%s:%s", s->system, s->name);
		if (!strcmp(e->at, at) && is_armed(set, e->system, e->name))
			return true;
	}
	return is_armed(set, s->system, s->name) != NULL;
}

/* Another module may have brought an event of this name with other fields: then this module's is
 * not recorded. */
static bool module_describes(const struct module *mod, const struct event_entry *entry)
{
	const struct event_format *f = entry->format;

	for (size_t i = 0; i < mod->events.events.n; i++) {
		const struct static_event *e = &mod->events.events.at[i];
		bool same = e->fields.n == f->n && !strcmp(e->print, f->print);

		if (strcmp(e->name, f->name) != 0 || strcmp(e->system, f->system) != 0)
			continue;
		for (size_t k = 0; same && k < f->n; k++)
			same = !strcmp(e->fields.at[k].name, f->fields[k].name) &&
			       e->fields.at[k].offset == f->fields[k].offset &&
			       e->fields.at[k].size == f->fields[k].size;
		return same;
	}
	return false;
}

/* Adds a site: its nop becomes a jump to its slow path. */
static void add_site(struct module *mod, const struct static_site *s)
{
	struct event_site *site = vec_add(&mod->sites.at);
	int32_t distance = (int32_t)(s->slow - (s->nop + STATIC_NOP_BYTES));

	*site = (struct event_site){ .address = mod->base + s->nop,
				     .length = STATIC_NOP_BYTES,
				     .bytes = { 0xe9 } };
	memcpy(site->bytes + 1, &distance, sizeof(distance));
	memcpy(site->expected, static_nop, STATIC_NOP_BYTES);
}

/* Adds a state, once. */
static void add_place(struct module *mod, const struct event_set *set, const struct event_entry *e,
		      uint64_t state)
{
	for (size_t i = 0; i < mod->sites.places.n; i++)
		if (mod->sites.places.at[i].state == mod->base + state)
			return;
	*vec_add(&mod->sites.places) =
		(struct event_place){ e->index, mod->base + state, event_set_program(set, e->index),
				      event_set_stacked(set, e->index) };
}

/* Sites become jumps to their slow paths; states get the words that lead to the agent. */
void event_sites_choose(struct module *mod, const struct event_set *set)
{
	for (size_t i = 0; i < mod->events.sites.n; i++)
		if (is_site_wanted(set, mod, &mod->events.sites.at[i]))
			add_site(mod, &mod->events.sites.at[i]);
	for (size_t i = 0; i < mod->events.states.n; i++) {
		const struct static_state *s = &mod->events.states.at[i];
		const struct event_entry *e = is_armed(set, s->system, s->name);

		if (e && module_describes(mod, e))
			add_place(mod, set, e, s->at);
	}
}

/* --- names of no event ------------------------------------------------------------------------ */

/* Says so, with the most similar event's name. */
static int no_event(const struct event_set *set, const char *name, struct err *err)
{
	struct nearest near = { name, NULL, 0 };
	uint32_t n = events_n(set->catalogue);
	VEC(char *) names = { 0 };
	int r;

	if (!strcmp(name, "sched:sched_switch") && perf_rings_allowed(PERF_SWITCHES, err) < 0)
		return err_code(err, EINVAL);
	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(set->catalogue, i);

		if (!events_can_enable(e))
			continue;
		*vec_add(&names) = strchr(name, ':')
					   ? mem_printf("%s:%s", e->format->system, e->format->name)
					   : mem_strdup(e->format->name);
		nearest_offer(&near, names.at[names.n - 1]);
	}
	if (near.best)
		r = err_set(err, EINVAL, "no event has the name %s; did you mean %s?", name,
			    near.best);
	else
		r = err_set(
			err, EINVAL,
			"no event has the name %s; brace list -e -f PROGRAM shows those there are",
			name);
	for (size_t i = 0; i < names.n; i++)
		free(names.at[i]);
	vec_free(&names);
	return r;
}

int event_sites_check(const struct event_set *set, struct err *err)
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

/* --- into the process ---------------------------------------------------------------------- */

/* Without a filter there is room for an empty program. */
static uint64_t block_bytes(const struct event_place *p)
{
	return EVENT_BLOCK_BYTES + (p->filter ? p->filter->bytes : sizeof(struct filter_program));
}

uint64_t event_sites_room(const struct module *mod)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < mod->sites.places.n; i++)
		bytes += block_bytes(&mod->sites.places.at[i]);
	return bytes;
}

/* One for each site, two for each state (add_state). */
uint64_t event_sites_patches(const struct module *mod)
{
	return mod->sites.at.n + 2 * mod->sites.places.n;
}

static void add_patch(struct patch_list *list, uint16_t region, uint64_t address, uint8_t length,
		      const void *bytes, const void *expected)
{
	uint32_t as = PATCH_EVENT | (uint32_t)(list->n + 1);

	memcpy(patch_list_add(list, address, length, expected, as, region)->bytes, bytes, length);
}

/* The patches of a state: the agent's function, then the block. Both words are 0 before. */
static void add_state(struct patch_list *list, uint16_t region, const struct event_place *p,
		      uint64_t agent, uint64_t block)
{
	static const uint64_t nothing;

	add_patch(list, region, p->state + offsetof(struct event_state, commit), 8, &agent,
		  &nothing);
	add_patch(list, region, p->state + offsetof(struct event_state, block), 8, &block,
		  &nothing);
}

uint64_t event_sites_write(const struct module *mod, uint64_t at, uint64_t agent, uint16_t region,
			   uint8_t *code, struct patch_list *list)
{
	uint64_t used = 0;

	for (size_t i = 0; i < mod->sites.places.n; i++) {
		const struct event_place *p = &mod->sites.places.at[i];
		struct event_block block = {
			.event = p->event,
			.filter_bytes = p->filter ? p->filter->bytes : 0,
			.header = record_word(0, record_event_id(0, RECORD_EVENT_TRACE + p->event),
					      RECORD_EVENT)
		};

		if (p->stacked)
			block.filter_bytes |= EVENT_STACKED;
		memcpy(code + used, &block, sizeof(block));
		if (p->filter)
			memcpy(code + used + EVENT_BLOCK_BYTES, p->filter, p->filter->bytes);
		if (p->stacked)
			/* The path of plain code copies no stack. */
			((struct event_block *)(code + used))->filter.code = 0;
		add_state(list, region, p, agent, at + used);
		used += block_bytes(p);
	}
	for (size_t i = 0; i < mod->sites.at.n; i++) {
		const struct event_site *s = &mod->sites.at.at[i];

		add_patch(list, region, s->address, s->length, s->bytes, s->expected);
	}
	return used;
}

void event_sites_describe(const struct modules *m, const struct event_set *set,
			  struct image_update *update)
{
	/* Static events, then markers; calls and tasks belong to no module and follow below. */
	for (size_t i = 0; i < m->at.n; i++) {
		const struct module *mod = &m->at.at[i];

		for (size_t k = 0; k < mod->sites.places.n; k++)
			*vec_add(&update->events) =
				events_at(set->catalogue, mod->sites.places.at[k].event);
		for (size_t k = 0; k < mod->probes.n; k++)
			if (mod->probes.at[k].kind == PROBE_FETCH)
				*vec_add(&update->events) =
					events_at(set->catalogue, mod->probes.at[k].event);
	}
	for (uint32_t i = 0; set && set->catalogue && i < events_n(set->catalogue); i++)
		if (call_points_want(set, events_at(set->catalogue, i)))
			*vec_add(&update->events) = events_at(set->catalogue, i);
}
