/* SPDX-License-Identifier: MIT */
/* Look-ups in a trace_info. Every reader and the live session use them, from the thread that has
 * the trace_info. Indices and addresses come from records and files: anything out of range is "not
 * known", never an error. */
#include "trace/trace_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "event/catalogue.h"

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
		free(info->images.at[i].files);
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
		vec_free(&info->modules.at[i].globals);
	}
	vec_free(&info->modules);
}

static void free_events(struct trace_info *info)
{
	for (size_t i = 0; i < info->events.n; i++) {
		free(info->events.at[i].system);
		free(info->events.at[i].name);
		free(info->events.at[i].format);
		free(info->events.at[i].made_of);
	}
	vec_free(&info->events);
	vec_free(&info->event_added);
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
	for (size_t i = 0; i < info->threads.n; i++)
		vec_free(&info->threads.at[i].names);
	vec_free(&info->threads);
	vec_free(&info->renames);
	vec_free(&info->clock_pairs);
	vec_free(&info->messages);
	free(info->host);
	free(info->kernel);
	free(info->cpu);
	free(info->cmdline);
	free(info->version);
	free(info->tracer);
	free(info->run.invocation);
	free(info);
}

uint32_t trace_info_add_kernel(struct trace_info *info)
{
	*vec_add(&info->images) = (struct trace_image){ .exe = mem_strdup(TRACE_KERNEL_EXE),
							.cmdline = mem_strdup("") };
	return (uint32_t)info->images.n - 1;
}

bool trace_info_has_kernel(const struct trace_info *info)
{
	return info->images.n && info->images.at[TRACE_KERNEL_IMAGE].exe &&
	       !strcmp(info->images.at[TRACE_KERNEL_IMAGE].exe, TRACE_KERNEL_EXE);
}

bool trace_info_is_kernel(const struct trace_info *info)
{
	return info->images.n == 1 && trace_info_has_kernel(info);
}

bool trace_info_is_merged(const struct trace_info *info)
{
	return info->images.n > 1 && trace_info_has_kernel(info);
}

bool trace_info_is_kernel_thread(const struct trace_info *info, uint32_t thread)
{
	return info->threads.at[thread].image == TRACE_KERNEL_IMAGE && trace_info_has_kernel(info);
}

uint32_t trace_info_process(const struct trace_info *info, uint32_t thread)
{
	return trace_info_is_kernel_thread(info, thread) ? 0 : info->threads.at[thread].pid;
}

bool trace_info_shows(const struct trace_info *info, uint32_t thread)
{
	return info->sides == SIDES_BOTH || thread >= info->threads.n ||
	       trace_info_is_kernel_thread(info, thread) == (info->sides == SIDE_KERNEL);
}

const struct trace_image *trace_info_program(const struct trace_info *info)
{
	size_t first = trace_info_is_merged(info) ? 1 : 0;

	return first < info->images.n ? &info->images.at[first] : NULL;
}

/* `comm` is the first name, valid before all changes. "<...>" is ftrace's word for a thread without
 * a name (record-cmd off). */
const char *trace_thread_name_at(const struct trace_thread *t, uint64_t tsc)
{
	size_t n = vec_bisect(&t->names, name, name->tsc <= tsc);

	if (t->unnamed)
		return "<...>";
	return n ? t->names.at[n - 1].comm : t->comm;
}

static bool is_same_name(const char *a, const char *b)
{
	return strncmp(a, b, TRACE_COMM - 1) == 0;
}

/* Several sources tell of one change, each with a time of its own: the first of these times holds.
 * False: the change is known already. */
static bool add_name(struct trace_thread *t, const struct trace_name *new)
{
	size_t at = vec_bisect(&t->names, name, name->tsc <= new->tsc);

	if (is_same_name(at ? t->names.at[at - 1].comm : t->comm, new->comm))
		return false;
	if (at < t->names.n && is_same_name(t->names.at[at].comm, new->comm)) {
		t->names.at[at].tsc = new->tsc;
		return true;
	}
	(void)vec_add(&t->names);
	memmove(t->names.at + at + 1, t->names.at + at, (t->names.n - 1 - at) * sizeof(*new));
	t->names.at[at] = *new;
	return true;
}

/* The limit is on all threads together: a program that renames itself in a loop must not fill
 * memory. The change is counted instead. */
void trace_info_rename(struct trace_info *info, uint32_t thread, uint64_t tsc, const char *comm)
{
	struct trace_rename r = { thread, { .tsc = tsc } };

	memcpy(r.name.comm, comm, strnlen(comm, TRACE_COMM - 1));
	if (info->renames.n >= TRACE_RENAMES_MAX)
		info->renames_left_out++;
	else if (add_name(&info->threads.at[thread], &r.name))
		*vec_add(&info->renames) = r;
}

void trace_info_add_event(struct trace_info *info, const struct event_entry *e)
{
	const struct event_format *base = e->eprobe ? e->eprobe->base->format : NULL;

	while (info->event_added.n <= e->index)
		*vec_add(&info->event_added) = false;
	if (info->event_added.at[e->index])
		return;
	info->event_added.at[e->index] = true;
	*vec_add(&info->events) = (struct trace_event){
		.index = e->index,
		.system = mem_strdup(e->format->system),
		.name = mem_strdup(e->format->name),
		.format = mem_strdup(e->text),
		.made_of = base ? mem_printf("%s.%s", base->system, base->name) : NULL,
	};
}

const struct trace_event *trace_info_event(const struct trace_info *info, uint32_t index)
{
	/* A linear search: traces have few events, and callers keep the result. */
	for (size_t i = 0; i < info->events.n; i++)
		if (info->events.at[i].index == index)
			return &info->events.at[i];
	return NULL;
}

/* A linear search over modules; report/names.c keeps what it has found. */
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

bool trace_info_is_program(const struct trace_info *info, const struct trace_module *m)
{
	return m->image < info->images.n && !strcmp(info->images.at[m->image].exe, m->path);
}

const struct trace_module *trace_info_module_at(const struct trace_info *info, uint32_t image,
						uint64_t addr, uint64_t tsc)
{
	/* The newest first: an address may have been mapped again. */
	for (size_t i = info->modules.n; i-- > 0;) {
		const struct trace_module *m = &info->modules.at[i];

		if (m->image == image && addr >= m->start && addr < m->end &&
		    /* from_tsc is not compared: a record may carry a stamp from shortly before its
		     * module was seen. */
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

/* The function of the module around a runtime address, or NULL. */
static const struct trace_function *function_in(const struct trace_module *m, uint64_t addr)
{
	const struct trace_function *f = function_below(m, addr - m->base);

	return f && f->size && addr - m->base - f->vaddr >= f->size ? NULL : f;
}

/* The kernel's functions are in several modules, each of those that records named first since the
 * one before: the ranges overlap. */
static const struct trace_function *kernel_function_at(const struct trace_info *info,
						       uint64_t addr,
						       const struct trace_module **module)
{
	for (size_t i = 0; i < info->modules.n; i++) {
		const struct trace_module *m = &info->modules.at[i];
		const struct trace_function *f = NULL;

		if (m->image == TRACE_KERNEL_IMAGE && addr >= m->start && addr < m->end)
			f = function_in(m, addr);
		if (f && module)
			*module = m;
		if (f)
			return f;
	}
	return NULL;
}

const struct trace_function *trace_info_function_at(const struct trace_info *info, uint32_t image,
						    uint64_t addr, uint64_t tsc,
						    const struct trace_module **module)
{
	const struct trace_module *m;
	const struct trace_function *f;

	if (image == TRACE_KERNEL_IMAGE && trace_info_has_kernel(info))
		return kernel_function_at(info, addr, module);
	m = trace_info_module_at(info, image, addr, tsc);
	f = m ? function_in(m, addr) : NULL;
	if (f && module)
		*module = m;
	return f;
}

/* The variable of the module around a runtime address, or NULL. */
static const struct trace_global *global_in(const struct trace_module *m, uint64_t addr)
{
	const uint64_t vaddr = addr - m->base;
	size_t n = vec_bisect(&m->globals, g, g->vaddr <= vaddr);
	const struct trace_global *g = n ? &m->globals.at[n - 1] : NULL;

	return g && vaddr - g->vaddr < g->size ? g : NULL;
}

/* Variables lie outside of the range that a module has in the trace, so each one is asked. */
const struct trace_global *trace_info_global_at(const struct trace_info *info, uint32_t image,
						uint64_t addr, uint64_t tsc,
						const struct trace_module **module)
{
	for (size_t i = info->modules.n; i-- > 0;) {
		const struct trace_module *m = &info->modules.at[i];
		const struct trace_global *g = NULL;

		if (m->globals.n && m->image == image && (!m->to_tsc || tsc <= m->to_tsc))
			g = global_in(m, addr);
		if (!g)
			continue;
		*module = m;
		return g;
	}
	return NULL;
}

/* 0: not known. The numbers come from records, so that any may be out of range. */
uint64_t trace_info_site(const struct trace_info *info, uint32_t image, uint32_t site)
{
	if (image >= info->images.n || site >= info->images.at[image].sites.n)
		return 0;
	return info->images.at[image].sites.at[site];
}

/* A function without a name gets its file's and its address in it, by which objdump finds it. */
int trace_function_name(const struct trace_module *module, const struct trace_function *f,
			char *out, size_t n)
{
	if (f->name && f->name < module->strings.n)
		return demangle(module->strings.at + f->name, out, n);
	return snprintf(out, n, "%s+0x%llx", module->name, (unsigned long long)f->vaddr);
}

int trace_global_name(const struct trace_module *module, const struct trace_global *g, char *out,
		      size_t n)
{
	return demangle(g->name < module->strings.n ? module->strings.at + g->name : "", out, n);
}

/* A PLT entry's function is in the library that it leads to; *known is false if that could not be
 * told. */
const char *trace_function_file(const struct trace_module *module, const struct trace_function *f,
				bool *known)
{
	*known = !(f->flags & TRACE_FUNCTION_PLT) || f->library;
	return f->library && f->library < module->strings.n ? module->strings.at + f->library
							    : module->name;
}

uint64_t trace_cost_ps(const struct trace_info *info, uint32_t ticks)
{
	const uint64_t hz = info->clock.hz ? info->clock.hz : 1;

	return (uint64_t)((unsigned __int128)ticks * 1000000000000u / TRACE_COST_UNIT / hz);
}

uint64_t trace_cost_all_ns(const struct trace_info *info)
{
	return (uint64_t)((unsigned __int128)trace_cost_ps(info, info->cost.total) *
			  info->total.calls / 1000);
}

/* ticks * 1e9 / hz without overflow: whole seconds apart from the rest. A clock whose rate is not
 * known counts ticks as nanoseconds. */
uint64_t trace_clock_delta_ns(const struct trace_clock *c, uint64_t ticks)
{
	const uint64_t second = 1000000000;
	uint64_t rest;

	if (!c->hz)
		return ticks;
	rest = ticks % c->hz;
	/* A division of 128 bits costs several of 64; only a damaged file needs it. */
	return ticks / c->hz * second +
	       (c->hz <= UINT64_MAX / second
			? rest * second / c->hz
			: (uint64_t)((unsigned __int128)rest * second / c->hz));
}

uint64_t trace_clock_span_ns(const struct trace_clock *c, uint64_t from, uint64_t ticks)
{
	return trace_clock_ns(c, from + ticks) - trace_clock_ns(c, from);
}

/* Times before the anchor are possible: records are older than the measurement of a clock that was
 * begun with them. */
uint64_t trace_clock_ns(const struct trace_clock *c, uint64_t tsc)
{
	if (tsc >= c->tsc)
		return c->mono_ns + trace_clock_delta_ns(c, tsc - c->tsc);
	return c->mono_ns - trace_clock_delta_ns(c, c->tsc - tsc);
}

/* CLOCK_IN_TICKS counts hundredths of a second; `ahead_ns` moves the zero to the clock that
 * trace_clock names. */
uint64_t trace_clock_shown(const struct trace_clock *c, uint64_t tsc)
{
	uint64_t ns = trace_clock_ns(c, tsc) + (uint64_t)c->ahead_ns;

	switch (c->unit) {
	case CLOCK_IN_TSC: return tsc;
	case CLOCK_IN_TICKS: return ns / 10000000;
	default: return ns;
	}
}
