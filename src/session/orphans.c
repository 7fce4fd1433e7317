#include "session/orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook/cache.h"
#include "session/maps.h"
#include "session/modules.h"

struct look {
	int fd;                   /* /proc/PID/mem */
	const struct maps *maps;
	struct patch_list *out;
	uint32_t function;        /* of the patches that are added */
};

static bool is_trampoline(const struct maps *maps, uint64_t address)
{
	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (address >= m->start && address < m->end)
			return strncmp(m->path, "/memfd:brace-code", 17) == 0;
	}
	return false;
}

static void add(struct look *l, uint64_t at, const uint8_t *there, const uint8_t *expected, uint8_t length)
{
	struct patch *p = vec_add(l->out);

	*p = (struct patch){ .address = at, .length = length, .function = l->function, .status = PATCH_APPLIED };
	memcpy(p->bytes, there, length);
	memcpy(p->expected, expected, length);
}

/* Five bytes that jump into a region. */
static bool look_at(struct look *l, uint64_t at, const uint8_t *expected)
{
	uint8_t there[5];
	int32_t rel;

	if (pread(l->fd, there, sizeof(there), (off_t)at) != sizeof(there) || there[0] != 0xe9)
		return false;
	memcpy(&rel, there + 1, 4);
	if (!is_trampoline(l->maps, at + 5 + (uint64_t)(int64_t)rel))
		return false;
	add(l, at, there, expected, sizeof(there));
	return true;
}

static void look_at_function(struct look *l, const struct module *mod, uint32_t i)
{
	const struct hook_plan_entry *e = &mod->hooks->entries[i];
	uint64_t at = mod->base + e->vaddr;
	uint8_t there[2];
	char name[512];

	if (e->kind == HOOK_NONE)
		return;
	hook_function_name(mod->hooks, i, name, sizeof(name));
	l->function = modules_is_look_up(name) ? PATCH_LOOK_UP : 0;
	if (e->kind != HOOK_SHORT)
		look_at(l, at + e->patch_offset, hook_module_bytes(mod->hooks, i));
	else if (look_at(l, at + (uint64_t)(int64_t)e->island, hook_module_island(mod->hooks, i)) &&
		 pread(l->fd, there, 2, (off_t)(at + e->patch_offset)) == 2 && there[0] == 0xeb)
		add(l, at + e->patch_offset, there, hook_module_bytes(mod->hooks, i), 2);
}

static void look_at_module(struct look *l, const struct module *mod)
{
	led_call_list calls = { 0 };

	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++)
		look_at_function(l, mod, i);
	if (mod->hooks)
		led_calls_find(mod->path, mod->hooks, &calls);
	l->function = PATCH_CALL;
	for (size_t i = 0; i < calls.n; i++)
		look_at(l, mod->base + calls.at[i].vaddr, calls.at[i].bytes);
	vec_free(&calls);
}

int orphans_find(pid_t pid, struct patch_list *out, struct err *err)
{
	struct modules modules = { 0 };
	struct maps maps;
	char name[64];
	struct look l = { .maps = &maps, .out = out };
	int r = maps_read(pid, &maps, err);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	l.fd = open(name, O_RDONLY | O_CLOEXEC);
	if (l.fd < 0)
		r = err_set(err, errno, "cannot read %s: %s", name, strerror(errno));
	else
		modules_load_all(&maps, &modules);
	for (size_t i = 0; i < modules.at.n; i++)
		look_at_module(&l, &modules.at.at[i]);
	if (l.fd >= 0)
		close(l.fd);
	modules_free(&modules);
	maps_free(&maps);
	return r;
}
