/* SPDX-License-Identifier: MIT */
/* Called by recover.c, on brace's only thread; reads /proc/PID/mem and maps. A process that is gone
 * or forbidden adds nothing; its functions stay addresses. */
#include "session/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/aside_io.h"
#include "model/settings.h"
#include "collect/clock.h"
#include "collect/processes.h"
#include "image/describe.h"
#include "image/maps.h"
#include "image/modules.h"

/* --- the image memory of a process ---------------------------------------------------------- */

struct remote { int fd; uint64_t at; };

/* False: the process has ended, or does not map so much. */
static bool read_remote(const struct remote *r, uint64_t offset, void *to, size_t n)
{
	bool silent = false;

	return aside_io_read(r->fd, -1, r->at + offset, to, n, ASIDE_MS, &silent) == n;
}

/* Finds the first mapping of an image memory. */
static bool find_image(const struct maps *maps, uint64_t *at)
{
	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (m->offset != 0 || strncmp(m->path, "/memfd:brace-image", 18) != 0 ||
		    m->end - m->start < sizeof(struct image_memory))
			continue;
		*at = m->start;
		return true;
	}
	return false;
}

/* False: the process is gone, forbidden to read, or not traced. */
static bool open_image(uint32_t pid, const struct maps *maps, struct remote *out)
{
	char name[64];

	if (!find_image(maps, &out->at))
		return false;
	snprintf(name, sizeof(name), "/proc/%u/mem", pid);
	out->fd = open(name, O_RDONLY | O_CLOEXEC);
	return out->fd >= 0;
}

/* --- call sites ------------------------------------------------------------------------------- */

/* Adds the sites that the image does not have yet. */
static void read_sites(const struct remote *r, struct trace_image *image)
{
	uint32_t count, id;
	uint64_t *returns;

	if (!read_remote(r, offsetof(struct image_memory, next_site), &count, sizeof(count)) ||
	    !count)
		return;
	id = memory_site_id_of_count(count - 1);
	/* A count that cannot be, or one that the file already had. */
	if (count > SITE_IDS || id >= SITE_IDS || id < image->sites.n)
		return;
	returns = mem_zalloc(count * sizeof(*returns));
	if (read_remote(r, offsetof(struct image_memory, sites), returns, count * sizeof(*returns)))
		for (uint32_t i = (uint32_t)image->sites.n; i <= id; i++)
			*vec_add(&image->sites) =
				memory_site_id_exists(i) ? returns[memory_site_count_of_id(i)] : 0;
	free(returns);
}

/* False: the process is gone, or not traced any more. */
static bool add_sites_of(uint32_t pid, struct trace_image *image)
{
	struct remote r;
	struct maps maps;
	bool found;

	if (maps_read((pid_t)pid, &maps, NULL) < 0)
		return false;
	found = open_image(pid, &maps, &r);
	if (found) {
		read_sites(&r, image);
		close(r.fd);
	}
	maps_free(&maps);
	return found;
}

/* A forked child has its parent's image: each image is read once. */
void names_add_sites(struct trace_info *info, const struct shared_memory *memory,
		     const struct stat *ring)
{
	bool *done = mem_zalloc(info->images.n + 1);
	uint32_t last = 0;

	for (uint32_t i = 0; i < shared_memory_threads(memory); i++) {
		const struct memory_thread *t = &memory->threads[i];

		/* Threads of one process stand side by side. */
		if (!t->ready || t->image >= info->images.n || done[t->image] || t->pid == last)
			continue;
		last = t->pid;
		if (!ring || processes_maps((pid_t)t->pid, ring))
			done[t->image] = add_sites_of(t->pid, &info->images.at[t->image]);
	}
	free(done);
}

/* --- modules ---------------------------------------------------------------------------------- */

/* The process' image, from its newest slot; 0 if it has none. */
static uint32_t image_of(const struct shared_memory *memory, pid_t pid)
{
	uint32_t image = 0;

	for (uint32_t i = 0; i < shared_memory_threads(memory); i++)
		if (memory->threads[i].pid == (uint32_t)pid)
			image = memory->threads[i].image;
	return image;
}

/* 0: the tracer did not hook the module. */
static uint32_t first_id_of(const struct image_module *noted, uint32_t n, uint64_t start)
{
	for (uint32_t i = 0; i < n; i++)
		if (noted[i].start == start)
			return noted[i].first_id;
	return 0;
}

/* Modules that were not hooked keep their place in memory, but need no functions. */
static void number_functions(struct modules *m, const struct remote *r)
{
	struct image_module noted[IMAGE_MODULES];
	uint32_t n = 0;

	if (!read_remote(r, offsetof(struct image_memory, n_modules), &n, sizeof(n)) ||
	    n > IMAGE_MODULES ||
	    !read_remote(r, offsetof(struct image_memory, modules), noted, sizeof(noted)))
		n = 0;
	for (size_t i = 0; i < m->at.n; i++) {
		struct module *mod = &m->at.at[i];

		mod->first_id = first_id_of(noted, n, mod->start);
		if (mod->hooks && mod->first_id) {
			/* The tracer's filters are lost: every function may have been hooked. */
			mod->selected = mem_zalloc(mod->hooks->n + 1);
			memset(mod->selected, SELECT_YES, mod->hooks->n);
		} else {
			module_cache_free(mod->hooks);
			mod->hooks = NULL;
		}
	}
}

/* Finds the process' modules, and describes them as a session would. */
static void find_modules(pid_t pid, const struct maps *maps, const struct remote *r,
			 struct image_update *update)
{
	struct known_modules known = { 0 };
	struct modules modules = { 0 };
	struct settings all;
	struct err ignored;
	const struct protocol_hello hello = { 0 };
	const struct image_request req = {
		.known = &known, .pid = pid, .hello = &hello, .settings = &all, .agent_path = ""
	};

	settings_init(&all);
	settings_write(&all, "set_ftrace_module", "*", false, NULL);
	modules_find(maps, update->about.exe, &req, &modules, &ignored);
	number_functions(&modules, r);
	modules_describe(&modules, update->image, update);
	modules_free(&modules);
	image_known_free(&known);
	settings_free(&all);
}

/* Adds the image and its modules. Takes over *update. */
static void add_image(struct trace_info *info, struct image_update *update)
{
	while (info->images.n <= update->image)
		*vec_add(&info->images) =
			(struct trace_image){ .pid = update->about.pid,
					      .exe = mem_strdup(update->about.exe),
					      .cmdline = mem_strdup(update->about.cmdline) };
	free(update->about.exe);
	free(update->about.cmdline);
	for (size_t i = 0; i < update->modules.n; i++)
		*vec_add(&info->modules) = update->modules.at[i];
	vec_free(&update->modules);
}

/* Returns the dead tracer's row, by its number; where that is no tracer's, because the program has
 * spoiled it or another version of brace made the memory, by the kind of its records. */
static const struct tracer *tracer_of(const struct shared_memory *memory)
{
	const struct tracer *t = tracer_numbered(memory->settings.tracer_number);

	if (t)
		return t;
	return memory->settings.tracer != MEMORY_FUNCTION ? &tracer_function_graph
							  : &tracer_function;
}

/* For recovery: the tracer that knew the names is gone, the process's maps still tell them. Never
 * NULL; a process that cannot be read has no modules. */
struct trace_info *names_of_process(pid_t pid, const struct shared_memory *memory)
{
	struct trace_info *info =
		describe(describe_cmdline(pid), tracer_of(memory)->name, 0);
	struct image_update update = { .image = image_of(memory, pid) };
	struct clock clock = { 0 };
	struct remote r;
	struct maps maps;

	info->values = memory->settings.values;
	clock_begin(&clock);
	update.about = (struct trace_image){ .pid = (uint32_t)pid,
					     .exe = describe_exe(pid),
					     .cmdline = describe_cmdline(pid) };
	if (update.image < NAMES_IMAGES_MOST && maps_read(pid, &maps, NULL) == 0) {
		if (open_image((uint32_t)pid, &maps, &r)) {
			find_modules(pid, &maps, &r, &update);
			close(r.fd);
		}
		maps_free(&maps);
	} else {
		update.image = 0;
	}
	add_image(info, &update);
	clock_measure_end(&clock, &info->clock);
	clock_end(&clock);
	return info;
}
