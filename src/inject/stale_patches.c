/* SPDX-License-Identifier: MIT */
/* Called by attach.c, in a holder, before the process is stopped: only reads. The dead tracer's
 * lists are lost, so places are found again by the plans of the modules, by the regions' own notes
 * (probes) and by the bytes that stand there. */
#include "inject/stale_patches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/code.h"
#include "hook/cache.h"
#include "image/event_sites.h"
#include "image/maps.h"
#include "image/modules.h"
#include "shared/event.h"
#include "shared/probe.h"
#include "tracee/served.h"

/* A larger one is none of ours. */
#define REGION_MAX (UINT64_C(1) << 30)

/* One search through a process, which runs meanwhile. */
struct stale_look {
	int fd;                   /* /proc/PID/mem */
	struct served served;     /* of the process */
	const struct maps *maps;
	struct patch_list *out;
	uint32_t function;        /* kind of the patches that are added */
};

/* Whether all n bytes could be read. */
static bool get_bytes(struct stale_look *l, uint64_t at, void *bytes, size_t n)
{
	if (served_has(&l->served, at, n))
		return served_read(&l->served, l->fd, at, bytes, n) == n;
	return pread(l->fd, bytes, n, (off_t)at) == (ssize_t)n;
}

/* Whether the address lies in a region of trampolines. */
static bool is_trampoline(const struct maps *maps, uint64_t address)
{
	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (address >= m->start && address < m->end)
			return maps_is_trampolines(m);
	}
	return false;
}

/* Adds a patch as if this tracer had applied it. */
static void add_patch(struct stale_look *l, uint64_t at, const uint8_t *there,
		      const uint8_t *expected, uint8_t length)
{
	struct patch *p = patch_list_add(l->out, at, length, expected, l->function, 0);

	p->status = PATCH_APPLIED;
	memcpy(p->bytes, there, length);
}

/* Adds a jump that leads into a region. */
static bool add_jump(struct stale_look *l, uint64_t at, const uint8_t *expected)
{
	uint8_t there[CODE_JUMP_BYTES];
	uint64_t to;

	if (!get_bytes(l, at, there, sizeof(there)) ||
	    !code_is_jump(there, at, &to) || !is_trampoline(l->maps, to))
		return false;
	add_patch(l, at, there, expected, sizeof(there));
	return true;
}

/* Adds the short jump to an island, if there is one. */
static void add_short_jump(struct stale_look *l, uint64_t at, const uint8_t *expected)
{
	uint8_t there[CODE_SHORT_JUMP_BYTES];
	uint64_t to;

	if (get_bytes(l, at, there, sizeof(there)) &&
	    code_is_short_jump(there, at, &to))
		add_patch(l, at, there, expected, sizeof(there));
}

/* Adds the function's patch, if it leads into a region. */
static void look_at_function(struct stale_look *l, const struct module *mod, uint32_t i)
{
	const struct hook_plan_entry *e = &mod->hooks->entries[i];
	uint64_t at = mod->base + e->vaddr;
	char name[512];

	if (e->kind == HOOK_NONE || hook_by_callers(e->kind))
		return;
	hook_function_name(mod->hooks, i, name, sizeof(name));
	l->function = modules_is_look_up(name) ? PATCH_LOOK_UP : 0;
	if (e->kind != HOOK_SHORT)
		add_jump(l, at + e->patch_offset, hook_module_bytes(mod->hooks, i));
	else if (add_jump(l, at + (uint64_t)(int64_t)e->island, hook_module_island(mod->hooks, i)))
		add_short_jump(l, at + e->patch_offset, hook_module_bytes(mod->hooks, i));
}

/* --- static events -------------------------------------------------------------------------- */

/* Adds a nop that has become a jump behind itself, where the state decides on calling the agent. */
static void look_at_site(struct stale_look *l, uint64_t at)
{
	uint8_t there[STATIC_NOP_BYTES];
	uint64_t to;

	if (get_bytes(l, at, there, sizeof(there)) &&
	    code_is_jump(there, at, &to))
		add_patch(l, at, there, static_nop, sizeof(there));
}

/* Adds a word of a state that is not 0. */
static void look_at_word(struct stale_look *l, uint64_t at)
{
	static const uint8_t nothing[8];
	uint8_t there[sizeof(nothing)];

	if (get_bytes(l, at, there, sizeof(there)) &&
	    memcmp(there, nothing, sizeof(there)) != 0)
		add_patch(l, at, there, nothing, sizeof(there));
}

/* Lists states before the nops that lead to them: the order in which event_sites.c puts them
 * in. */
static void look_at_events(struct stale_look *l, struct module *mod)
{
	const struct static_events *e = &mod->events;

	if (!event_sites_load(mod))
		return;
	l->function = PATCH_EVENT;
	for (size_t i = 0; i < e->states.n; i++) {
		look_at_word(l,
			     mod->base + e->states.at[i].at + offsetof(struct event_state, commit));
		look_at_word(l,
			     mod->base + e->states.at[i].at + offsetof(struct event_state, block));
	}
	for (size_t i = 0; i < e->sites.n; i++)
		look_at_site(l, mod->base + e->sites.at[i].nop);
}

/* --- functions ------------------------------------------------------------------------------ */

/* The plan comes from the module's file, as the dead tracer's did: it names the same places. */
static void look_at_module(struct stale_look *l, struct module *mod)
{
	intercept_list calls = { 0 };

	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++)
		look_at_function(l, mod, i);
	if (mod->hooks)
		/* Call sites that the plan leads to the agent. */
		intercepts_find(mod->fd, mod->hooks, INTERCEPTS_ALL, &calls);
	l->function = PATCH_CALL;
	for (size_t i = 0; i < calls.n; i++)
		add_jump(l, mod->base + calls.at[i].vaddr, calls.at[i].bytes);
	vec_free(&calls);
	look_at_events(l, mod);
}

/* --- probes: the regions themselves tell their places ----------------------------------------- */

/* A patch at exactly this address; is_covered() asks for overlaps. */
static bool has_patch(const struct patch_list *list, uint64_t address)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].address == address)
			return true;
	return false;
}

/* Adds the probe's patches. False: none stands there. */
static bool site_stands(struct stale_look *l, const struct probe_site *s)
{
	if (!s->island)
		return add_jump(l, s->patch, s->expected);
	if (!add_jump(l, s->island, s->island_expected))
		return false;
	add_short_jump(l, s->patch, s->expected);
	return true;
}

/* Adds a probe's jump and semaphore. Of several events at one place the first is enough; the place
 * may be listed already as a function's entry. */
static void look_at_probe(struct stale_look *l, const struct probe_site *s)
{
	static const uint8_t unknown[2];

	l->function = PATCH_PROBE | (uint32_t)l->out->n;
	if (!has_patch(l->out, s->patch) && !site_stands(l, s))
		/* Not even its island: nothing was put in. */
		return;
	/* The semaphore's value tells nothing, so its bytes are unknown; taking out lowers it. */
	l->function = PATCH_SEMAPHORE;
	if (s->semaphore && !has_patch(l->out, s->semaphore))
		add_patch(l, s->semaphore, unknown, unknown, sizeof(unknown));
}

/* Searches a region for sites of probes. */
static void look_at_region(struct stale_look *l, const struct map *m)
{
	size_t n = (size_t)(m->end - m->start);
	uint8_t *bytes = mem_zalloc(n + sizeof(struct probe_site));
	struct probe_site s;

	if (!get_bytes(l, m->start, bytes, n))
		n = 0;
	/* Sites are aligned to 16 bytes in a region. */
	for (size_t at = 0; at < n; at += 16) {
		memcpy(&s, bytes + at, sizeof(s));
		if (s.magic == PROBE_MAGIC)
			look_at_probe(l, &s);
	}
	free(bytes);
}

/* Looks for probes in every region of trampolines. */
static void look_at_regions(struct stale_look *l)
{
	for (size_t i = 0; i < l->maps->at.n; i++) {
		const struct map *m = &l->maps->at.at[i];

		if (maps_is_trampolines(m) && m->end - m->start < REGION_MAX)
			look_at_region(l, m);
	}
}

/* --- calls of functions that are hooked by their callers ------------------------------------- */

/* Whether another patch has some of these bytes. */
static bool is_covered(const struct patch_list *list, uint64_t at)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].address < at + HOOK_CALL_BYTES &&
		    at < list->at[i].address + list->at[i].length)
			return true;
	return false;
}

/* Adds a call that leads into a region. */
static void look_at_call(struct stale_look *l, const struct module *mod, const struct hook_call *c)
{
	uint64_t at = mod->base + c->at;
	int32_t there, expected = (int32_t)(mod->hooks->entries[c->function].vaddr -
					    (c->at + HOOK_CALL_BYTES));

	l->function = PATCH_DIRECT;
	if (get_bytes(l, at, &there, sizeof(there)) && there != expected &&
	    is_trampoline(l->maps, at + sizeof(there) + (uint64_t)(int64_t)there) &&
	    !is_covered(l->out, at))
		add_patch(l, at, (const uint8_t *)&there, (const uint8_t *)&expected,
			  sizeof(there));
}

/* Behind all others: where a jump replaced a call, the four bytes are not a call's distance. */
static void look_at_calls(struct stale_look *l, const struct modules *modules)
{
	for (size_t i = 0; i < modules->at.n; i++) {
		const struct hook_module *h = modules->at.at[i].hooks;

		for (uint32_t k = 0; h && k < h->n_calls; k++)
			look_at_call(l, &modules->at.at[i], &h->calls[k]);
	}
}

int stale_patches_find(pid_t pid, struct patch_list *out, struct err *err)
{
	struct modules modules = { 0 };
	struct maps maps;
	char name[64];
	struct stale_look l = { .maps = &maps, .out = out };
	int r = maps_read(pid, &maps, err);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	l.fd = open(name, O_RDONLY | O_CLOEXEC);
	if (l.fd < 0)
		r = err_set(err, errno, "cannot read %s: %s", name, strerror(errno));
	else
		modules_load_all(pid, &maps, &modules);
	if (l.fd >= 0)
		served_look(&l.served, pid);
	for (size_t i = 0; i < modules.at.n; i++)
		look_at_module(&l, &modules.at.at[i]);
	if (l.fd >= 0) {
		look_at_regions(&l);
		look_at_calls(&l, &modules);
		close(l.fd);
	}
	served_free(&l.served);
	modules_free(&modules);
	maps_free(&maps);
	return r;
}
