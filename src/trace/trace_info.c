/* SPDX-License-Identifier: MIT */
#include "trace/trace_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"

struct trace_info *trace_info_new(void)
{
	struct trace_info *info = mem_zalloc(sizeof(*info));

	return info;
}

static void free_images(struct trace_info *info)
{
	for (size_t i = 0; i < info->images.n; i++) {
		free(info->images.at[i].exe);
		free(info->images.at[i].cmdline);
		vec_free(&info->images.at[i].sites);
	}
	vec_free(&info->images);
}

static void free_modules(struct trace_info *info)
{
	for (size_t i = 0; i < info->modules.n; i++) {
		free(info->modules.at[i].path);
		free(info->modules.at[i].name);
		vec_free(&info->modules.at[i].functions);
		vec_free(&info->modules.at[i].strings);
	}
	vec_free(&info->modules);
}

static void free_events(struct trace_info *info)
{
	for (size_t i = 0; i < info->events.n; i++) {
		free(info->events.at[i].system);
		free(info->events.at[i].name);
		free(info->events.at[i].format);
	}
	vec_free(&info->events);
}

void trace_info_drop_settings(struct trace_info *info)
{
	for (size_t i = 0; i < info->settings.n; i++) {
		free(info->settings.at[i].file);
		free(info->settings.at[i].text);
	}
	vec_free(&info->settings);
}

void trace_info_free(struct trace_info *info)
{
	if (!info)
		return;
	free_images(info);
	free_modules(info);
	free_events(info);
	trace_info_drop_settings(info);
	vec_free(&info->threads);
	vec_free(&info->notes);
	free(info->host);
	free(info->kernel);
	free(info->cpu);
	free(info->cmdline);
	free(info->version);
	free(info->tracer);
	free(info->run.invocation);
	free(info);
}

const struct trace_event *trace_info_event(const struct trace_info *info, uint32_t index)
{
	for (size_t i = 0; i < info->events.n; i++)
		if (info->events.at[i].index == index)
			return &info->events.at[i];
	return NULL;
}

const struct trace_function *trace_info_function(const struct trace_info *info, uint32_t image,
						 uint32_t id, const struct trace_module **module)
{
	for (size_t i = 0; i < info->modules.n; i++) {
		const struct trace_module *m = &info->modules.at[i];

		if (m->image == image && id >= m->first_id && id - m->first_id < m->functions.n) {
			if (module)
				*module = m;
			return &m->functions.at[id - m->first_id];
		}
	}
	return NULL;
}

const struct trace_module *trace_info_module_at(const struct trace_info *info, uint32_t image,
						uint64_t addr, uint64_t tsc)
{
	for (size_t i = info->modules.n; i-- > 0;) {
		const struct trace_module *m = &info->modules.at[i];

		if (m->image == image && addr >= m->start && addr < m->end &&
		    (!m->to_tsc || tsc <= m->to_tsc))
			return m;
	}
	return NULL;
}

/* The last function that begins at or before vaddr; functions are sorted by vaddr. */
static const struct trace_function *function_below(const struct trace_module *m, uint64_t vaddr)
{
	size_t n = vec_bisect(&m->functions, f, f->vaddr <= vaddr);

	return n ? &m->functions.at[n - 1] : NULL;
}

const struct trace_function *trace_info_function_at(const struct trace_info *info, uint32_t image,
						    uint64_t addr, uint64_t tsc,
						    const struct trace_module **module)
{
	const struct trace_module *m = trace_info_module_at(info, image, addr, tsc);
	const struct trace_function *f;

	if (!m)
		return NULL;
	f = function_below(m, addr - m->base);
	if (!f || (f->size && addr - m->base - f->vaddr >= f->size))
		return NULL;
	if (module)
		*module = m;
	return f;
}

uint64_t trace_info_site(const struct trace_info *info, uint32_t image, uint32_t site)
{
	if (image >= info->images.n || site >= info->images.at[image].sites.n)
		return 0;
	return info->images.at[image].sites.at[site];
}

int trace_function_name(const struct trace_module *module, const struct trace_function *f, char *out, size_t n)
{
	if (f->name && f->name < module->strings.n)
		return demangle(module->strings.at + f->name, out, n);
	return snprintf(out, n, "%s+0x%llx", module->name, (unsigned long long)f->vaddr);
}

const char *trace_function_file(const struct trace_module *module, const struct trace_function *f, bool *known)
{
	*known = !(f->flags & TRACE_FUNCTION_PLT) || f->library;
	return f->library && f->library < module->strings.n ? module->strings.at + f->library : module->name;
}

/* ticks * 1e9 / hz without overflow: whole seconds apart from the rest. */
uint64_t trace_clock_delta_ns(const struct trace_clock *c, uint64_t ticks)
{
	if (!c->hz)
		return ticks;
	return ticks / c->hz * UINT64_C(1000000000) +
	       (uint64_t)((unsigned __int128)(ticks % c->hz) * 1000000000u / c->hz);
}

uint64_t trace_clock_ns(const struct trace_clock *c, uint64_t tsc)
{
	if (tsc >= c->tsc)
		return c->mono_ns + trace_clock_delta_ns(c, tsc - c->tsc);
	return c->mono_ns - trace_clock_delta_ns(c, c->tsc - tsc);
}

uint64_t trace_clock_shown(const struct trace_clock *c, uint64_t tsc)
{
	uint64_t ns = trace_clock_ns(c, tsc) + (uint64_t)c->ahead_ns;

	switch (c->unit) {
	case CLOCK_IN_TSC: return tsc;
	case CLOCK_IN_TICKS: return ns / 10000000;
	default: return ns;
	}
}
