/* SPDX-License-Identifier: MIT */
/* Static events (include/brace/event.h). Part of one plan, on its thread; the catalogue has a lock
 * of its own. Nothing fails: a module whose events cannot be read has none. */
#include "image/event_sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/code.h"
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
static int add_static_event(struct event_catalogue *c, const struct static_event *e,
			    struct err *err)
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
	r = events_add_format(c, &event_sites_provider, &format, &entry, err);
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
		add_static_event(c, &events->events.at[i], &ignored);
}

/* False also for a file without events, so that callers need not look. */
bool event_sites_load(struct module *mod)
{
	struct err ignored;

	if (mod->fd < 0 || static_events_load(mod->fd, mod->path, &mod->events, &ignored) < 0 ||
	    !mod->events.events.n)
		return false;
	place_module(mod);
	return true;
}

/* Reads the file anew: the catalogue is filled before there is a plan that has read it. */
static void add_events_of_file(int fd, const char *path, struct event_catalogue *c)
{
	struct static_events events;
	struct err ignored;

	if (fd < 0 || static_events_load(fd, path, &events, &ignored) < 0)
		return;
	add_events(c, &events);
	static_events_free(&events);
}

const struct event_provider event_sites_provider = {
	.name = "static", .can_enable = true, .of_file = add_events_of_file
};

/* --- what is wanted ------------------------------------------------------------------------ */

/* The static event of that name, if it is armed; else NULL. */
static const struct event_entry *find_armed(const struct event_set *set, const char *system,
					    const char *name)
{
	const struct event_entry *e = events_find(set->catalogue, system, name);

	if (!e || e->provider != &event_sites_provider || !event_set_armed(set, e->index))
		return NULL;
	return e;
}

/* Whether the event is armed, or another one that happens at the same site. */
static bool is_site_wanted(const struct event_set *set, const struct module *mod,
			   const struct static_site *s)
{
	for (size_t i = 0; i < mod->events.events.n; i++) {
		const struct static_event *e = &mod->events.events.at[i];
		char at[256];

		/* A longer name is cut, and then equals no event's. */
		snprintf(at, sizeof(at), "%s:%s", s->system, s->name);
		if (!strcmp(e->at, at) && find_armed(set, e->system, e->name))
			return true;
	}
	return find_armed(set, s->system, s->name) != NULL;
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

/* Adds a site: its nop becomes a jump to its slow path. The nop is expected there, since the
 * program may have patched its text itself. */
static void add_site(struct module *mod, const struct static_site *s)
{
	struct event_site *site = vec_add(&mod->sites.at);

	*site = (struct event_site){ .vaddr = s->nop,
				     .length = STATIC_NOP_BYTES };
	code_jump(s->nop, s->slow, site->bytes);
	memcpy(site->expected, static_nop, STATIC_NOP_BYTES);
}

/* Adds a state, once: inlined copies of one event share it. */
static void add_armed(struct module *mod, const struct event_set *set, const struct event_entry *e,
		      uint64_t state)
{
	for (size_t i = 0; i < mod->sites.armed.n; i++)
		if (mod->sites.armed.at[i].state == state)
			return;
	*vec_add(&mod->sites.armed) =
		(struct armed_event){ e->index, state, event_set_program(set, e->index),
				      event_set_stacked(set, e->index),
				      event_set_scopes(set, e->index) };
}

/* Reading a file's events takes a while: most sets want none of them. */
static bool any_armed(const struct event_set *set)
{
	uint32_t n = events_n(set->catalogue);

	for (uint32_t i = 0; i < n; i++)
		if (events_at(set->catalogue, i)->provider == &event_sites_provider &&
		    event_set_armed(set, i))
			return true;
	return false;
}

/* Sites become jumps to their slow paths; states get the words that lead to the agent. */
static void choose_sites(struct module *mod, const struct event_set *set,
			 const handler_list *handlers)
{
	(void)handlers;
	if (!any_armed(set) || !event_sites_load(mod))
		return;
	for (size_t i = 0; i < mod->events.sites.n; i++)
		if (is_site_wanted(set, mod, &mod->events.sites.at[i]))
			add_site(mod, &mod->events.sites.at[i]);
	for (size_t i = 0; i < mod->events.states.n; i++) {
		const struct static_state *s = &mod->events.states.at[i];
		const struct event_entry *e = find_armed(set, s->system, s->name);

		if (e && module_describes(mod, e))
			add_armed(mod, set, e, s->at);
	}
}

/* --- into the process ---------------------------------------------------------------------- */

/* Without a filter there is room for an empty program. */
static uint64_t block_bytes(const struct armed_event *p)
{
	return EVENT_BLOCK_BYTES + (p->filter ? p->filter->bytes : sizeof(struct filter_program));
}

static uint64_t sites_room(const struct module *mod, const struct image_request *req)
{
	uint64_t bytes = 0;

	(void)req;
	for (size_t i = 0; i < mod->sites.armed.n; i++)
		bytes += block_bytes(&mod->sites.armed.at[i]) + sizeof(struct trampoline_layout);
	return bytes;
}

/* A patch for each site, two for each state (add_state). */
static uint32_t sites_max(const struct module *mod)
{
	return (uint32_t)(mod->sites.at.n + 2 * mod->sites.armed.n);
}

static void add_patch(struct patch_job *j, uint64_t vaddr, uint8_t length, const void *bytes,
		      const void *expected)
{
	uint32_t as = PATCH_EVENT | (uint32_t)(j->list->n + 1);

	memcpy(patch_list_add(j->list, j->mod->base + vaddr, length, expected, as, j->region)
		       ->bytes,
	       bytes, length);
}

/* The patches of a state: the agent's function, then the block. Both words are 0 before. */
static void add_state(struct patch_job *j, const struct armed_event *p, uint64_t block)
{
	static const uint64_t nothing;
	uint64_t agent = j->req->hello->event;

	add_patch(j, p->state + offsetof(struct event_state, commit), 8, &agent, &nothing);
	add_patch(j, p->state + offsetof(struct event_state, block), 8, &block, &nothing);
}

/* Writes the event's block, and its filter behind it, into code memory, where the agent finds it
 * by the state's word. Returns the bytes. */
static uint64_t write_block(const struct armed_event *p, uint8_t *code)
{
	struct event_block block = {
		.event = p->event,
		.filter_bytes = p->filter ? p->filter->bytes : 0,
		.header = record_word(0, record_event_id(0, RECORD_EVENT_TRACE + p->event),
				      RECORD_EVENT)
	};

	if (p->stacked)
		block.filter_bytes |= EVENT_STACKED;
	block.filter_bytes |= (uint32_t)p->scopes << EVENT_SCOPES_SHIFT;
	memcpy(code, &block, sizeof(block));
	if (p->filter)
		memcpy(code + EVENT_BLOCK_BYTES, p->filter, p->filter->bytes);
	if (p->stacked || p->scopes)
		/* The path of plain code copies no stack, and knows no scopes. */
		((struct event_block *)code)->filter.code = 0;
	return block_bytes(p);
}

static void write_sites(struct patch_job *j)
{
	const event_site_list *sites = &j->mod->sites;

	/* States before sites: the first hit of a site finds the words that it calls through. */
	for (size_t i = 0; i < sites->armed.n; i++) {
		add_state(j, &sites->armed.at[i], j->at + j->used);
		if (sites->armed.at[i].filter)
			patch_note_filters(j, j->used,
					   j->used + block_bytes(&sites->armed.at[i]));
		j->used += write_block(&sites->armed.at[i], j->code + j->used);
	}
	for (size_t i = 0; i < sites->at.n; i++) {
		const struct event_site *s = &sites->at.at[i];

		add_patch(j, s->vaddr, s->length, s->bytes, s->expected);
	}
}

/* Readers of the trace need the format of each event whose records may come. */
static void describe_sites(const struct module *mod, const struct event_set *set,
			   struct image_update *update)
{
	for (size_t i = 0; i < mod->sites.armed.n; i++)
		*vec_add(&update->events) =
			events_at(set->catalogue, mod->sites.armed.at[i].event);
}

const struct patch_source event_site_patches = {
	.choose = choose_sites, .room = sites_room, .patches = sites_max, .write = write_sites,
	.describe = describe_sites,
};
