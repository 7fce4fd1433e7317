/* SPDX-License-Identifier: MIT */
/* Part of one plan, on its thread; struct modules is the caller's. A module's hooks are borrowed
 * from hook/module_cache.h, which has a lock of its own, and are this plan's to change until
 * module_cache_free(). A file that cannot be read leaves its module untraced, and is noted
 * (unread). */
#include "image/modules.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/elf.h"
#include "arch/page.h"
#include "base/path.h"
#include "base/string_set.h"
#include "image/bindings.h"
#include "image/handlers.h"
#include "image/mapped_file.h"
#include "image/patches.h"
#include "image/providers.h"
#include "shared/record.h"
#include "sym/globals.h"

/* Whether the module's functions are wanted: those of the executable, and of modules that the
 * settings open. */
static bool is_opened(const struct settings *set, const char *path, const char *exe)
{
	char *plain = mem_strndup(path, mapped_file_path(path));
	bool is = strcmp(path, exe) == 0 || function_list_has_module(&set->modules, plain);

	free(plain);
	return is;
}

/* Whether the agent itself redirects this function's entry (agent/exec.c, agent/dlopen.c). */
static bool is_agents(const char *name)
{
	static const char events[] = "brace__"; /* include/brace/event.h's own */

	static const char *const names[] = { "execve", "__execve", "_dl_debug_state" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return strncmp(name, events, sizeof(events) - 1) == 0;
}

/* Whether the module has functions of which more than calls must be known: unwinders' look-ups of
 * tables (which have to find an agent that ld.so does not know), longjmp and its like, and other
 * libraries' switches of coroutines. */
static bool is_unwinder(const char *module)
{
	static const char *const names[] = {
		ELF_LOADER,	      "libc.so",  "libc-2", "libgcc_s.so", "libruby", "libphp",
		"libboost_context",   "libco.so",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(module, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* False with the tracer nop and no event: then no patch is planned at all. */
bool modules_writes_code(const struct image_request *req)
{
	return req->settings->tracer->functions || settings_scoped(req->settings) ||
	       (req->events && req->events->catalogue);
}

/* SELECT_NO: the function is none of the look-ups of an unwinder. */
static enum selection look_up_of_unwinder(const char *name)
{
	static const struct { const char *name; enum selection selection; } table[] = {
		{ "_Unwind_Find_FDE", SELECT_FIND_FDE },
		{ "_dl_find_object", SELECT_FIND_OBJECT },
		{ "dl_iterate_phdr", SELECT_ITERATE_PHDR },
		{ "__dl_iterate_phdr", SELECT_ITERATE_PHDR },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(name, table[i].name) == 0)
			return table[i].selection;
	return SELECT_NO;
}

/* True for functions by which an unwinder finds frame descriptions (_Unwind_Find_FDE and its
 * kin). */
bool modules_is_look_up(const char *name)
{
	return look_up_of_unwinder(name) != SELECT_NO;
}

/* The vDSO and the like have no file; brace's own memory files are no modules. */
static bool is_file(const char *path)
{
	return path[0] == '/' && strncmp(path, "/dev/", 5) != 0 &&
	       strncmp(path, "/memfd:brace-", 13) != 0;
}

/* Compares paths without what the kernel appends to a file's name (mapped_file_path). */
static bool is_agent(const char *path, const char *agent)
{
	size_t n = mapped_file_path(path);

	return strlen(agent) == n && strncmp(path, agent, n) == 0;
}

/* By device and inode first: another file may have taken the path meanwhile. */
bool modules_is_of(const struct module *mod, const struct map *map)
{
	return mod->text.device == map->device && mod->text.inode == map->inode &&
	       strcmp(mod->path, map->path) == 0;
}

/* The module that the mapping's file has already; NULL: none. */
static struct module *module_of(struct modules *m, const struct map *map)
{
	for (size_t i = 0; i < m->at.n; i++)
		if (modules_is_of(&m->at.at[i], map))
			return &m->at.at[i];
	return NULL;
}

/* Adds a module for the mapping's file; its range and text follow from its executable mappings. */
static struct module *add_module(struct modules *m, const struct map *map)
{
	struct module *mod = vec_add(&m->at);
	const char *name = path_file_name(map->path);

	*mod = (struct module){
		.path = mem_strdup(map->path), .text = *map, .fd = -1, .start = UINT64_MAX
	};
	mod->text.path = mod->path;
	mod->name = mem_strndup(name, mapped_file_path(name));
	/* load_module() corrects it when segments are known */
	mod->base = map->start - map->offset;
	return mod;
}

/* Extends the file's module, or adds one. */
static void add_mapping(struct modules *m, const struct map *map)
{
	struct module *mod = module_of(m, map);

	if (!mod)
		mod = add_module(m, map);
	if (!map->exec)
		return;
	if (map->start < mod->start) {
		mod->start = map->start;
		mod->text = *map;
		mod->text.path = mod->path;
	}
	if (map->end > mod->end)
		mod->end = map->end;
}

/* The executable mapping of the segment's first page. A linker that packs a file tightly (lld) maps
 * one page of it twice, for the headers and for the text. */
static const struct map *mapping_of(const struct maps *maps, const struct module *mod,
				    const struct sym_segment *segment)
{
	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *map = &maps->at.at[i];

		if (map->exec && map->offset == (segment->offset & ~(ARCH_PAGE - 1)) &&
		    modules_is_of(mod, map))
			return map;
	}
	return NULL;
}

/* The end of the last executable segment. Behind it a program may have mapped pieces of its own
 * file once more, anywhere (V8 maps its built-in functions again, near the code that it writes):
 * these are not the module's text. */
static uint64_t end_of_text(const struct module *mod)
{
	const struct hook_module *h = mod->hooks;
	uint64_t end = mod->start;

	for (uint32_t s = 0; s < h->n_segments; s++) {
		uint64_t last = mod->base + h->segments[s].vaddr + h->segments[s].size - 1,
			 here = (last | (ARCH_PAGE - 1)) + 1;

		if (h->segments[s].exec && here > end)
			end = here;
	}
	return end;
}

/* Sets the load bias, from the first executable segment that is mapped. */
static void correct_base(struct module *mod, const struct maps *maps)
{
	const struct hook_module *h = mod->hooks;

	for (uint32_t s = 0; s < h->n_segments; s++) {
		const struct map *map =
			h->segments[s].exec ? mapping_of(maps, mod, &h->segments[s]) : NULL;

		if (!map)
			continue;
		mod->base = map->start - (h->segments[s].vaddr & ~(ARCH_PAGE - 1));
		if (end_of_text(mod) < mod->end)
			mod->end = end_of_text(mod);
		return;
	}
}

/* Opens the module's file, once. Returns its descriptor, or -errno. */
static int open_file(struct modules *m, struct module *mod)
{
	struct err ignored;

	if (!m->root)
		m->root = mapped_file_root(m->pid);
	if (mod->fd < 0)
		mod->fd = mapped_file_open(m->pid, m->root, &mod->text, &ignored);
	return mod->fd;
}

/* Leaves the module to be opened again: a process may have more modules than brace has
 * descriptors. */
static void close_file(struct module *mod)
{
	if (mod->fd >= 0)
		close(mod->fd);
	mod->fd = -1;
}

/* Whether a file that is no program, or a malformed one, was the reason; or a user who did not want
 * to wait for it. */
static bool is_refusal(int error)
{
	return error == ENOEXEC || error == EINVAL || error == ECANCELED;
}

/* Reads the module's plan. After a failure `hooks` is NULL. */
static void load_module(struct modules *m, struct module *mod, const struct maps *maps)
{
	int fd = open_file(m, mod), error = fd < 0 ? -fd : 0;
	struct err err;

	if (!error && module_cache_load(fd, mod->path, m->root, &mod->hooks, &err) < 0) {
		mod->hooks = NULL;
		error = is_refusal(err.code) ? 0 : err.code;
	}
	if (error && mod->choice == MODULE_OPEN)
		*vec_add(&m->unread) = (struct unread_file){ mem_strdup(mod->name), error };
	if (mod->hooks)
		correct_base(mod, maps);
}

/* The entry of the same file at the same address in the process; NULL: it is new there. */
static struct known_module *known(const struct known_modules *k, pid_t pid,
				  const struct module *mod)
{
	for (size_t i = 0; i < k->at.n; i++)
		if (k->at.at[i].pid == pid && k->at.at[i].start == mod->start &&
		    strcmp(k->at.at[i].path, mod->path) == 0)
			return &k->at.at[i];
	return NULL;
}

/* Whether the process still has the known module where it was. */
static bool is_mapped(const struct modules *m, const struct known_module *k)
{
	for (size_t i = 0; i < m->at.n; i++)
		if (m->at.at[i].start == k->start && strcmp(m->at.at[i].path, k->path) == 0)
			return true;
	return false;
}

/* A forked child begins with its parent's modules. */
static void inherit_modules(struct known_modules *k, pid_t pid)
{
	struct known_modules own = { 0 };

	image_known_of(&own, k, pid);
	image_known_replace(k, pid, &own);
}

/* Forgets modules that the process has unmapped. */
static void forget_unmapped(struct known_modules *k, pid_t pid, const struct modules *now)
{
	size_t kept = 0;

	for (size_t i = 0; i < k->at.n; i++) {
		if (k->at.at[i].pid == pid && !is_mapped(now, &k->at.at[i]))
			free(k->at.at[i].path);
		else
			k->at.at[kept++] = k->at.at[i];
	}
	k->at.n = kept;
}

/* Keeps the order of the others, which is that of the maps. */
static void drop_module(struct modules *m, size_t i)
{
	close_file(&m->at.at[i]);
	module_cache_free(m->at.at[i].hooks);
	free(m->at.at[i].path);
	free(m->at.at[i].name);
	memmove(&m->at.at[i], &m->at.at[i + 1], (--m->at.n - i) * sizeof(m->at.at[0]));
}

/* Opens a closed module that has handlers: its address has to be known for them. */
static void open_for_handlers(struct modules *m, struct module *mod, const struct maps *maps,
			      const struct event_set *set, const handler_list *handlers)
{
	if (mod->choice != MODULE_CLOSED || !handlers_any(mod, set, handlers))
		return;
	mod->choice = MODULE_PROBED;
	load_module(m, mod, maps);
}

/* Adds the modules' events to the catalogue, and finds the places of the wanted ones. */
static int find_events(const struct maps *maps, const struct image_request *req, struct modules *m,
		       struct err *err)
{
	struct event_set *set = req->events;
	int r;

	for (size_t i = 0; i < m->at.n; i++) {
		struct module *mod = &m->at.at[i];

		open_file(m, mod);
		providers_catalogue(mod->fd, mod->path, set->catalogue);
		if (mod->choice == MODULE_CLOSED)
			/* A process may have more modules than we have descriptors. */
			close_file(mod);
	}
	/* Two passes: names are compared with the events of all modules, and only then places are
	 * looked for. */
	r = event_set_grow(set, err);
	for (size_t i = 0; i < m->at.n; i++) {
		struct module *mod = &m->at.at[i];

		open_for_handlers(m, mod, maps, set, req->handlers);
		open_file(m, mod);
		patches_choose(mod, set, req->handlers);
		if (mod->probes.n && mod->choice == MODULE_CLOSED) {
			mod->choice = MODULE_PROBED;
			load_module(m, mod, maps);
		}
		if (mod->choice == MODULE_CLOSED)
			close_file(mod);
	}
	return r;
}

/* Whether the mapping's file is an ELF file. Only mappings without a path are asked: translators
 * map code that they wrote from such files, anywhere and often. */
static bool is_module(struct modules *m, struct module *mod)
{
	char magic[SELFMAG] = "";

	if (!mod->path[mapped_file_path(mod->path)])
		return true;
	if (open_file(m, mod) >= 0 && pread(mod->fd, magic, SELFMAG, 0) != SELFMAG)
		magic[0] = '\0';
	if (mod->choice == MODULE_CLOSED)
		close_file(mod);
	return memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* Modules that the process had before are dropped from *out: only what is new is planned, unless
 * req->again. */
int modules_find(const struct maps *maps, const char *exe, const struct image_request *req,
		 struct modules *out, struct err *err)
{
	bool by_hand = req->hello->flags & AGENT_BY_HAND;

	out->pid = req->pid;
	for (size_t i = 0; i < maps->at.n; i++)
		if (is_file(maps->at.at[i].path) && !is_agent(maps->at.at[i].path, req->agent_path))
			add_mapping(out, &maps->at.at[i]);
	inherit_modules(req->known, req->pid);
	forget_unmapped(req->known, req->pid, out);
	for (size_t i = 0; i < out->at.n;) {
		struct module *mod = &out->at.at[i];
		const struct known_module *k = known(req->known, req->pid, mod);

		if (mod->start == UINT64_MAX /* a data file */ || (k && !req->again)) {
			drop_module(out, i);
			continue;
		}
		mod->first_id = k ? k->first_id : 0;
		if (!k)
			*vec_add(&req->known->at) =
				(struct known_module){ req->pid, mod->start, mem_strdup(mod->path),
						       0 };
		if (is_opened(req->settings, mod->path, exe))
			mod->choice = MODULE_OPEN;
		else if ((by_hand || modules_writes_code(req)) && is_unwinder(mod->name))
			mod->choice = MODULE_UNWINDER;
		if (mod->choice != MODULE_CLOSED)
			load_module(out, mod, maps);
		if (!is_module(out, mod)) {
			drop_module(out, i);
			continue;
		}
		if (mod->hooks)
			intercepts_find(mod->fd, mod->hooks, intercepts_wanted_of(req, mod->name),
					&mod->calls);
		i++;
	}
	return req->events && req->events->catalogue ? find_events(maps, req, out, err) : 0;
}

/* Loads all modules, whatever the settings say: for questions about a process, not for a plan. */
void modules_load_all(pid_t pid, const struct maps *maps, struct modules *out)
{
	out->pid = pid;
	for (size_t i = 0; i < maps->at.n; i++)
		if (is_file(maps->at.at[i].path))
			add_mapping(out, &maps->at.at[i]);
	for (size_t i = 0; i < out->at.n;) {
		struct module *mod = &out->at.at[i];

		if (mod->start != UINT64_MAX)
			load_module(out, mod, maps);
		if (is_module(out, mod))
			i++;
		else
			drop_module(out, i);
	}
}

/* --- selection ------------------------------------------------------------------------------ */

/* Names of functions with code in opened modules: calls that lead there through a PLT are seen
 * where they arrive. */
static struct string_set defined_functions(const struct modules *m)
{
	struct string_set set = { 0 };

	for (size_t i = 0; i < m->at.n; i++) {
		const struct hook_module *h = m->at.at[i].hooks;

		for (uint32_t k = 0; h && m->at.at[i].choice == MODULE_OPEN && k < h->n; k++)
			if (h->functions[k].name && !h->functions[k].plt &&
			    h->entries[k].reason != REASON_COLD &&
			    !hook_by_callers(h->entries[k].kind))
				string_set_add(&set, h->strings + h->functions[k].name);
	}
	return set;
}

/* Whether the agent has to be told even if the function is not selected: where control goes when
 * it leaves a stack (for a graph), which calls come behind a vfork, and where a thread may begin
 * that no library sets up. */
static bool must_tell(const struct module *mod, uint32_t i, const struct settings *set)
{
	uint8_t kind = mod->hooks->entries[i].leaves;
	bool followed = set->tracer->exits || settings_scoped(set);

	/* libc is opened in any case; where the others are is not known */
	if (mod->hooks->functions[i].plt)
		return followed && kind == NONLOCAL_SOMEWHERE;
	return kind == NONLOCAL_LENDING || mod->hooks->entries[i].starts ||
	       (followed && kind);
}

/* Whether the look-up has to be redirected. An agent that ld.so loaded is found by it, but not the
 * trampolines and probes; those of GCC's look-ups that stand in the unwinder ask ld.so in the
 * end. */
static bool is_redirected(enum selection look_up, bool by_hand, bool code)
{
	return look_up && (by_hand || (look_up != SELECT_FIND_FDE && code));
}

/* The selection of one function. */
static enum selection choose_function(const struct string_set *defined, const struct module *mod,
				      uint32_t i, const struct settings *set, bool by_hand,
				      bool code)
{
	const struct hook_function *f = &mod->hooks->functions[i];
	enum selection otherwise = must_tell(mod, i, set) ? SELECT_NONLOCAL : SELECT_NO;
	char name[512];

	hook_function_name(mod->hooks, i, name, sizeof(name));
	if (mod->choice == MODULE_PROBED)
		return SELECT_NO;
	if (!f->plt && is_redirected(look_up_of_unwinder(name), by_hand, code) &&
	    !hook_by_callers(mod->hooks->entries[i].kind))
		return look_up_of_unwinder(name);
	if (mod->choice == MODULE_UNWINDER)
		return by_hand || set->tracer->functions || settings_scoped(set) ? otherwise
										 : SELECT_NO;
	if (!f->plt && is_agents(name)) {
		struct hook_plan_entry *e = hook_module_entry(mod->hooks, i);

		e->kind = HOOK_NONE;
		e->reason = REASON_RUNTIME;
		return SELECT_YES;
	}
	if (!set->tracer->functions)
		return settings_scoped(set) ? otherwise : SELECT_NO;
	if (f->plt && string_set_has(defined, name))
		return SELECT_NO; /* the function itself is traced in its own module */
	if (!settings_trace(set, name, f->vaddr, mod->name))
		return otherwise;
	if (set->tracer->exits && set->graph_function.patterns.n)
		return function_list_has_at(&set->graph_function, name, f->vaddr, mod->name)
			       ? SELECT_GRAPH
			       : SELECT_YES;
	return SELECT_GRAPH;
}

/* Look-ups and leavers get trampolines too, but no record of calls. */
static bool is_traced(uint8_t selection)
{
	return selection == SELECT_YES || selection == SELECT_GRAPH;
}

/* Whether some look-up of an unwinder is redirected. */
static bool unwinders_find_us(const struct modules *m)
{
	for (size_t i = 0; i < m->at.n; i++) {
		const struct module *mod = &m->at.at[i];

		for (uint32_t k = 0; mod->hooks && k < mod->hooks->n; k++)
			if (mod->selected[k] >= SELECT_FIND_FDE &&
			    mod->hooks->entries[k].kind != HOOK_NONE)
				return true;
	}
	return false;
}

static bool begins_with(const char *name, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* Whether it is a static program whose symbols show that nothing in it unwinds: C with musl,
 * assembly. */
static bool has_no_unwinder(const struct modules *m)
{
	static const char *const prefixes[] = { "_Unwind_", "unw_", "__unw_", "_UL", ELF_LIBUNWIND };
	const struct hook_module *h = m->at.n == 1 ? m->at.at[0].hooks : NULL;
	uint32_t named = 0;

	if (!h || h->interp || h->n_needed)
		return false;
	for (uint32_t k = 0; k < h->n; k++) {
		const char *name = h->strings + h->functions[k].name;

		if (begins_with(name, prefixes, sizeof(prefixes) / sizeof(prefixes[0])))
			return false;
		named += *name && !h->functions[k].plt;
	}
	/* With fewer names the symbols prove nothing. */
	return named > h->n / 2;
}

/* Where no look-up of an unwinder can be redirected, no exception would get past a stub: follows no
 * returns. */
static void enter_only(struct modules *m)
{
	for (size_t i = 0; i < m->at.n; i++) {
		struct module *mod = &m->at.at[i];

		for (uint32_t k = 0; mod->hooks && k < mod->hooks->n; k++)
			if (mod->hooks->entries[k].kind != HOOK_NONE &&
			    !mod->hooks->entries[k].entry_only) {
				struct hook_plan_entry *e = hook_module_entry(mod->hooks, k);

				e->entry_only = true;
				e->reason = REASON_UNWINDER;
			}
	}
}

/* First id of the module's functions: its former one, or the next free one. */
static uint32_t id_of(struct module *mod, uint32_t *next)
{
	uint32_t id = mod->first_id;

	if (mod->choice != MODULE_OPEN)
		return 0;
	if (!id) {
		id = *next;
		*next += mod->hooks->n;
	}
	return id;
}

/* Functions that give records: none, if none of them may begin a graph. */
static uint32_t count_traced(const struct modules *m)
{
	uint32_t selected = 0, graph = 0;

	for (size_t i = 0; i < m->at.n; i++) {
		const struct module *mod = &m->at.at[i];

		for (uint32_t k = 0; mod->hooks && k < mod->hooks->n; k++) {
			bool hooked = mod->hooks->entries[k].kind != HOOK_NONE;

			selected += hooked && is_traced(mod->selected[k]);
			graph += hooked && mod->selected[k] == SELECT_GRAPH;
		}
	}
	return graph ? selected : 0;
}

/* Whether the function's calls are levels of a scope that counts them. */
static bool is_level(const struct module *mod, uint32_t i, const struct settings *set,
		     const char *name)
{
	const struct hook_function *f = &mod->hooks->functions[i];

	return event_scopes_count(&set->scopes) && !f->plt &&
	       (mod->selected[i] != SELECT_NO || settings_trace(set, name, f->vaddr, mod->name));
}

/* Marks the functions whose calls are followed for scopes. Those that may leave their stack open
 * none: their trampolines have other work to do. */
static void choose_scopes(struct module *mod, const struct settings *set)
{
	if (!mod->hooks || mod->choice != MODULE_OPEN)
		return;
	mod->scoped = mem_zalloc(mod->hooks->n * sizeof(*mod->scoped));
	for (uint32_t i = 0; i < mod->hooks->n && mod->first_id + i <= RECORD_ID_MAX; i++) {
		const struct hook_function *f = &mod->hooks->functions[i];
		char name[512];
		uint32_t opens;

		if (mod->selected[i] >= SELECT_NONLOCAL || mod->hooks->entries[i].leaves)
			continue;
		hook_function_name(mod->hooks, i, name, sizeof(name));
		opens = is_agents(name) ? 0
					: event_scopes_of(&set->scopes, name, f->vaddr, mod->name);
		if (!opens && (is_agents(name) || !is_level(mod, i, set, name)))
			continue;
		mod->scoped[i] = opens | SCOPE_FOLLOWED |
				 (is_traced(mod->selected[i]) ? 0 : SCOPE_SILENT);
		if (mod->selected[i] == SELECT_NO)
			mod->selected[i] = SELECT_SCOPE;
	}
}

/* Returns how many functions will be traced. Ids are given even where nothing is selected, since
 * a later change may select it. */
uint32_t modules_select(struct modules *m, const struct settings *set, bool by_hand, bool code,
			uint32_t *next_id)
{
	struct string_set defined = defined_functions(m);

	for (size_t i = 0; i < m->at.n; i++) {
		struct module *mod = &m->at.at[i];

		if (!mod->hooks)
			continue;
		mod->first_id = id_of(mod, next_id);
		mod->selected = mem_zalloc(mod->hooks->n);
		/* Records have no number for functions beyond RECORD_ID_MAX: these stay as they
		 * are. */
		for (uint32_t k = 0; k < mod->hooks->n && mod->first_id + k <= RECORD_ID_MAX; k++)
			mod->selected[k] = choose_function(&defined, mod, k, set, by_hand,
							   code);
	}
	string_set_free(&defined);
	for (size_t i = 0; settings_scoped(set) && i < m->at.n; i++)
		choose_scopes(&m->at.at[i], set);
	if (by_hand && !unwinders_find_us(m) && !has_no_unwinder(m))
		enter_only(m);
	arguments_plan(m, set);
	return count_traced(m);
}

/* When the plan has succeeded: a try that failed leaves no numbers behind. */
void modules_note_ids(const struct modules *m, const struct image_request *req)
{
	for (size_t i = 0; i < m->at.n; i++) {
		struct known_module *k = known(req->known, req->pid, &m->at.at[i]);

		if (k && m->at.at[i].first_id)
			k->first_id = m->at.at[i].first_id;
	}
}

/* --- description ---------------------------------------------------------------------------- */

/* A function that was not chosen is told as filtered, whatever its plan says. */
static void describe_function(const struct module *mod, uint32_t i, struct trace_function *out)
{
	const struct hook_function *f = &mod->hooks->functions[i];
	const struct hook_plan_entry *e = &mod->hooks->entries[i];
	const struct argument_plan *plan = arguments_of(mod, i);

	*out = (struct trace_function){ .vaddr = f->vaddr, .size = f->size, .name = f->name,
					.hook = e->kind, .reason = e->reason };
	out->flags =
		(e->entry_only ? TRACE_FUNCTION_ENTRY_ONLY : 0) |
		(f->plt ? TRACE_FUNCTION_PLT : 0) |
		(plan && (plan->condition.filter || plan->returned || plan->judged)
			 ? TRACE_FUNCTION_CONDITIONAL
			 : 0);
	out->begins = mod->selected[i] == SELECT_GRAPH;
	out->compared = plan && plan->condition.filter;
	if (!is_traced(mod->selected[i]) && e->reason != REASON_COLD) {
		out->hook = HOOK_NONE;
		out->reason = REASON_FILTERED;
	}
}

/* Returns the string's offset among the module's strings. */
static uint32_t add_string(struct trace_module *t, const char *s)
{
	uint32_t at = (uint32_t)t->strings.n;

	do
		*vec_add(&t->strings) = *s;
	while (*s++);
	return at;
}

/* Adds each library's name once. */
static void describe_libraries(const struct modules *m, const struct module *mod,
			       struct trace_module *t)
{
	uint32_t *at = mem_zalloc((m->libraries.n + 1) * sizeof(*at));

	for (uint32_t k = 0; k < t->functions.n && mod->bound; k++) {
		const char *name = bindings_library(m, mod, k);
		uint32_t *known = &at[mod->bound[k]];

		if (name && !*known)
			*known = add_string(t, name);
		t->functions.at[k].library = name ? *known : 0;
	}
	free(at);
}

/* And conditions on what is returned. A prototype that several functions in a row have is told
 * once. */
static void describe_prototypes(const struct module *mod, struct trace_module *t)
{
	const argument_plans *p = &mod->arguments;
	const char *last = NULL;
	uint32_t at = 0;

	for (size_t i = 0; i < p->at.n; i++) {
		const struct argument_plan *plan = &p->at.at[i];

		if (!last || strcmp(last, plan->prototype) != 0)
			at = add_string(t, plan->prototype);
		last = plan->prototype;
		if (plan->function >= t->functions.n)
			continue;
		t->functions.at[plan->function].prototype = at;
		if (plan->returned)
			t->functions.at[plan->function].returned = add_string(t, plan->returned);
	}
}

/* Variables that arguments may point to. */
static void describe_globals(const struct modules *m, const struct module *mod,
			     struct trace_module *t)
{
	struct sym_globals g;

	sym_globals_find(mod->fd, mod->path, m->root ? m->root : "", SYM_AS_WRITTEN, &g);
	for (size_t i = 0; i < g.at.n; i++)
		*vec_add(&t->globals) = (struct trace_global){
			g.at.at[i].vaddr, g.at.at[i].size,
			add_string(t, g.strings.at + g.at.at[i].name) };
	sym_globals_free(&g);
}

/* Whether arguments or typed values of any module's functions are recorded. */
static bool has_arguments(const struct modules *m)
{
	for (size_t i = 0; i < m->at.n; i++)
		if (m->at.at[i].arguments.at.n)
			return true;
	return false;
}

/* Modules whose functions nobody asked for are told without them: reports name them by address. */
static void describe_module(const struct modules *m, const struct module *mod, uint32_t image,
			    struct image_update *update)
{
	struct trace_module t = {
		.image = image, .path = mem_strdup(mod->path), .name = mem_strdup(mod->name),
		.base = mod->base, .start = mod->start, .end = mod->end,
		.first_id = mod->first_id ? mod->first_id : RECORD_ID_MAX,
		.from_tsc = update->about.tsc,
	};
	const struct hook_module *h = mod->choice == MODULE_OPEN ? mod->hooks : NULL;

	if (h) {
		memcpy(t.build_id, h->build_id, sizeof(t.build_id));
		t.build_id_len = h->build_id_len;
		vec_reserve(&t.functions, h->n + 1);
		for (uint32_t k = 0; k < h->n; k++)
			describe_function(mod, k, vec_add(&t.functions));
		vec_reserve(&t.strings, h->n_strings + 1);
		memcpy(t.strings.at, h->strings, h->n_strings);
		t.strings.n = h->n_strings;
		describe_libraries(m, mod, &t);
		describe_prototypes(mod, &t);
		if (has_arguments(m))
			describe_globals(m, mod, &t);
	}
	*vec_add(&update->modules) = t;
}

void modules_describe(const struct modules *m, uint32_t image, struct image_update *update)
{
	for (size_t i = 0; i < m->at.n; i++)
		describe_module(m, &m->at.at[i], image, update);
}

/* Also after a failure in the middle: whatever is not there yet is 0. */
void modules_free(struct modules *m)
{
	for (size_t i = 0; i < m->at.n; i++) {
		close_file(&m->at.at[i]);
		module_cache_free(m->at.at[i].hooks);
		free(m->at.at[i].selected);
		free(m->at.at[i].scoped);
		free(m->at.at[i].bound);
		arguments_free(&m->at.at[i].arguments);
		vec_free(&m->at.at[i].calls);
		probes_free(&m->at.at[i].probes);
		static_events_free(&m->at.at[i].events);
		vec_free(&m->at.at[i].sites.at);
		vec_free(&m->at.at[i].sites.armed);
		free(m->at.at[i].path);
		free(m->at.at[i].name);
	}
	vec_free(&m->at);
	for (size_t i = 0; i < m->unread.n; i++)
		free(m->unread.at[i].name);
	vec_free(&m->unread);
	for (size_t i = 0; i < m->libraries.n; i++) {
		free(m->libraries.at[i].path);
		free(m->libraries.at[i].name);
	}
	vec_free(&m->libraries);
	free(m->root);
}
