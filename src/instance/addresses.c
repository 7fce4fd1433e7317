/* SPDX-License-Identifier: MIT */
/* The table of addresses that a session's raw records and kallsyms share. buffer_raw.c, selection.c
 * and target.c ask it; struct instances owns it (internal.h), and all calls are made under
 * pump_lock. Results are cached by image and id, because raw records ask for one or two addresses
 * each. Nothing here can fail: an unknown function has address 0. */
#include "instance/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

#define MEMORY_BITS 47   /* size of a program's address space */
#define PADDING_MAX 63u  /* bytes between functions that get no line of their own */

/* --- files -------------------------------------------------------------------------- */

/* Two modules are one file if build-id, path, size and number of functions agree. Files without a
 * build-id are compared by the rest. So a library that several programs map has one address for
 * all, and a raw record can be read without its process. */
static bool is_same_file(const struct trace_module *a, const struct trace_module *b)
{
	return a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len) &&
	       a->functions.n == b->functions.n && a->end - a->start == b->end - b->start &&
	       !strcmp(a->path, b->path);
}

/* Where the file's first mapped byte stands in the session's address space. */
static uint64_t start_of(const struct addresses *a, const struct trace_info *info, size_t file)
{
	const struct trace_module *m = &info->modules.at[a->files.at[file].module];

	return m->start - m->base + a->files.at[file].base;
}

/* Whether no other file occupies the n bytes at start. */
static bool is_free(const struct addresses *a, const struct trace_info *info, uint64_t start,
		    uint64_t n)
{
	for (size_t i = 0; i < a->files.n; i++) {
		const struct trace_module *m = &info->modules.at[a->files.at[i].module];
		uint64_t other = start_of(a, info, i);

		if (start < other + (m->end - m->start) && other < start + n)
			return false;
	}
	return true;
}

/* Chooses the base of a module's file: that of an equal file, else its own, moved up until nothing
 * overlaps. The loop ends when `up` wraps, so that a hostile number of modules cannot keep it going
 * for ever. */
static uint64_t base_for(struct addresses *a, const struct trace_info *info, uint32_t module)
{
	const struct trace_module *m = &info->modules.at[module];
	uint64_t base = m->base, up = 0;

	for (size_t i = 0; i < a->files.n; i++)
		if (is_same_file(&info->modules.at[a->files.at[i].module], m))
			return a->files.at[i].base;
	while (!is_free(a, info, m->start + up, m->end - m->start) &&
	       up + (UINT64_C(1) << MEMORY_BITS))
		up += UINT64_C(1) << MEMORY_BITS;
	*vec_add(&a->files) = (struct address_file){ module, base + up };
	return base + up;
}

/* Places the modules that joined info since the last call. The order of info->modules decides who
 * stays in place. A base never changes: addresses were given out by it, and are in readers'
 * files. */
static void update_modules(struct addresses *a, const struct trace_info *info)
{
	for (size_t i = a->bases.n; i < info->modules.n; i++) {
		uint64_t base = base_for(a, info, (uint32_t)i);

		*vec_add(&a->bases) = base;
	}
}

/* --- addresses ---------------------------------------------------------------------- */

static uint64_t in_file(struct addresses *a, const struct trace_info *info,
			const struct trace_module *m, uint64_t vaddr)
{
	update_modules(a, info);
	return a->bases.at[m - info->modules.at] + vaddr;
}

uint64_t addresses_resolve(struct addresses *a, const struct trace_info *info, uint32_t image,
			   uint64_t address, uint64_t tsc)
{
	const struct trace_module *m = trace_info_module_at(info, image, address, tsc);

	return m ? in_file(a, info, m, address - m->base) : address;
}

/* A return address behind a function's last call may be the next function's first byte. It is moved
 * back into the caller then, or raw records would name the wrong function. */
static uint64_t return_address(struct addresses *a, const struct trace_info *info, uint32_t image,
			       uint64_t address, uint64_t tsc)
{
	const struct trace_function *f =
		trace_info_function_at(info, image, address - 1, tsc, NULL);

	if (f && trace_info_function_at(info, image, address, tsc, NULL) != f)
		address--;
	return addresses_resolve(a, info, image, address, tsc);
}

/* Returns the cache entry of id i, growing the table by doubling; 0 means not looked up yet. The id
 * has been found in info before: a made-up one makes no table. */
static uint64_t *place_for(struct address_map *map, uint32_t i)
{
	if (i >= map->n) {
		size_t n = i + 1u > 2 * map->n ? i + 1u : 2 * map->n;

		map->at = mem_realloc(map->at, n, sizeof(*map->at));
		memset(map->at + map->n, 0, (n - map->n) * sizeof(*map->at));
		map->n = n;
	}
	return &map->at[i];
}

uint64_t addresses_function(struct addresses *a, const struct trace_info *info, uint32_t image,
			    uint32_t fn)
{
	const struct trace_module *m;
	const struct trace_function *f;
	uint64_t *at;

	/* The fast path: raw reads come here for every record. */
	if (image < a->functions.n && fn < a->functions.at[image].n &&
	    a->functions.at[image].at[fn])
		return a->functions.at[image].at[fn];
	f = trace_info_function(info, image, fn, &m);
	if (!f)
		return 0;
	while (a->functions.n <= image)
		*vec_add(&a->functions) = (struct address_map){ 0 };
	at = place_for(&a->functions.at[image], fn);
	return *at = in_file(a, info, m, f->vaddr);
}

uint64_t addresses_site(struct addresses *a, const struct trace_info *info, uint32_t image,
			uint32_t site, uint64_t tsc)
{
	uint64_t address, *at;

	if (image < a->sites.n && site < a->sites.at[image].n && a->sites.at[image].at[site])
		return a->sites.at[image].at[site];
	address = trace_info_site(info, image, site);
	if (!address)
		return 0;
	while (a->sites.n <= image)
		*vec_add(&a->sites) = (struct address_map){ 0 };
	at = place_for(&a->sites.at[image], site);
	return *at = return_address(a, info, image, address, tsc);
}

/* A damaged trace may have a name's offset outside of its strings. */
static bool has_name(const struct trace_module *m, const struct trace_function *f, const char *name)
{
	return f->name && f->name < m->strings.n && !strcmp(m->strings.at + f->name, name);
}

/* Function number i ends there: one whose size is not known, where the next one begins. */
static uint64_t end_of(const struct trace_module *m, size_t i)
{
	const struct trace_function *f = &m->functions.at[i];

	return f->size			? f->vaddr + f->size
	       : i + 1 < m->functions.n ? m->functions.at[i + 1].vaddr
					: m->end - m->base;
}

static bool find_in_file(const struct trace_module *m, const char *name, uint64_t vaddr,
			 uint64_t *begin, uint64_t *end)
{
	for (size_t i = 0; i < m->functions.n; i++) {
		const struct trace_function *f = &m->functions.at[i];

		*begin = f->vaddr;
		*end = end_of(m, i);
		if (name ? has_name(m, f, name) : vaddr >= *begin && vaddr < *end)
			return true;
	}
	return false;
}

bool addresses_find(struct addresses *a, const struct trace_info *info, const char *name,
		    uint64_t address, uint64_t *begin, uint64_t *end)
{
	update_modules(a, info);
	for (size_t i = 0; i < a->files.n; i++) {
		uint64_t base = a->files.at[i].base;

		if (!find_in_file(&info->modules.at[a->files.at[i].module], name, address - base,
				  begin, end))
			continue;
		*begin += base;
		*end += base;
		return true;
	}
	return false;
}

bool addresses_symbol(struct addresses *a, const struct trace_info *info, uint64_t address,
		      uint64_t *begin, uint64_t *end, const struct trace_module **module,
		      const struct trace_function **f)
{
	update_modules(a, info);
	for (size_t i = 0; i < a->files.n; i++) {
		const struct trace_module *m = &info->modules.at[a->files.at[i].module];
		uint64_t base = a->files.at[i].base, vaddr = address - base;
		size_t k;

		if (vaddr < m->start - m->base || vaddr >= m->end - m->base)
			continue;
		k = vec_bisect(&m->functions, g, g->vaddr <= vaddr);
		*module = m;
		*f = k && vaddr < end_of(m, k - 1) ? &m->functions.at[k - 1] : NULL;
		*begin = base + (*f ? (*f)->vaddr : 0);
		*end = base + (*f ? end_of(m, k - 1) : m->end - m->base);
		return true;
	}
	return false;
}

/* --- kallsyms ----------------------------------------------------------------------- */

/* The file of a module as kallsyms names it after the function. The program's own functions have no
 * module, like the kernel's in its own kallsyms. */
struct symbols {
	const struct trace_module *m;
	uint64_t base;
	const char *file; /* its name, escaped */
	const char *open, *module, *close;
};

static void print_place(struct out *out, const struct symbols *s, uint64_t vaddr)
{
	out_printf(out, "%016lx t %s+0x%lx%s%s%s\n", s->base + vaddr, s->file, vaddr, s->open,
		   s->module, s->close);
}

/* Prints the symbol as it stands in the file: a demangled name has blanks, and readers would cut it
 * there. sym/functions.c has escaped it. */
static void print_function(struct out *out, const struct symbols *s, const struct trace_function *f)
{
	const struct trace_module *m = s->m;

	if (f->name && f->name < m->strings.n)
		out_printf(out, "%016lx t %s%s%s%s\n", s->base + f->vaddr, m->strings.at + f->name,
			   s->open, s->module, s->close);
	else
		print_place(out, s, f->vaddr);
}

/* A gap longer than padding gets a line of its own, or readers would count it to the function
 * before it. */
static void print_gap(struct out *out, const struct symbols *s, uint64_t from, uint64_t to)
{
	if (to > from + PADDING_MAX)
		print_place(out, s, from);
}

static void print_file(const struct trace_info *info, const struct address_file *file,
		       struct out *out)
{
	const struct trace_module *m = &info->modules.at[file->module];
	char *name = escape_line(m->name);
	const struct symbols program = { m, file->base, name, "", "", "" },
			     library = { m, file->base, name, "\t[", name, "]" };
	const struct symbols *s = trace_info_is_program(info, m) ? &program : &library;
	uint64_t end = m->start - m->base;

	for (size_t i = 0; i < m->functions.n; i++) {
		const struct trace_function *f = &m->functions.at[i];

		print_gap(out, s, end, f->vaddr);
		print_function(out, s, f);
		/* UINT64_MAX - PADDING_MAX: its size is not known, so it ends at the next one */
		end = f->size ? f->vaddr + f->size : UINT64_MAX - PADDING_MAX;
	}
	/* The line [unknown] ends the last function: readers take every address up to the next line
	 * for the last symbol's. */
	print_gap(out, s, end, m->end - m->base);
	out_printf(out, "%016lx t [unknown]\n", file->base + (m->end - m->base));
	free(name);
}

void addresses_print(struct addresses *a, const struct trace_info *info, struct out *out)
{
	update_modules(a, info);
	for (size_t i = 0; i < a->files.n; i++)
		print_file(info, &a->files.at[i], out);
	out_printf(out, "%016lx t tracing_mark_write\n", ADDRESS_MARKER);
}

static void add_file(const struct addresses *a, const struct trace_info *info, size_t file,
		     address_module_list *out)
{
	const struct trace_module *m = &info->modules.at[a->files.at[file].module];
	uint64_t first = start_of(a, info, file);
	struct address_module *f;

	if (m->first_id == TRACE_MADE_ID || m->image >= info->images.n)
		return;
	f = vec_add(out);
	*f = (struct address_module){
		.is = { .path = mem_strdup(m->path), .name = mem_strdup(m->name),
			.build_id_len = m->build_id_len, .start = m->start },
		.pid = (pid_t)info->images.at[m->image].pid, .base = a->files.at[file].base,
		.first = first, .end = first + (m->end - m->start),
		.program = trace_info_is_program(info, m),
	};
	memcpy(f->is.build_id, m->build_id, sizeof(f->is.build_id));
}

void addresses_files(struct addresses *a, const struct trace_info *info, address_module_list *out)
{
	update_modules(a, info);
	for (size_t i = 0; i < a->files.n; i++)
		add_file(a, info, i, out);
}

void addresses_files_free(address_module_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->at[i].is.path);
		free(list->at[i].is.name);
	}
	vec_free(list);
}

/* --- the end ------------------------------------------------------------------------ */

static void free_maps(struct address_map *maps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(maps[i].at);
}

void addresses_free(struct addresses *a)
{
	free_maps(a->functions.at, a->functions.n);
	free_maps(a->sites.at, a->sites.n);
	vec_free(&a->functions);
	vec_free(&a->sites);
	vec_free(&a->bases);
	vec_free(&a->files);
}
