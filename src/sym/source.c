/* SPDX-License-Identifier: MIT */
/* Opens debug information for questions in the words of the source, finds functions by name, and
 * collects what is in scope at an instruction: one bounded walk (dwarf_walk.h) a question, on the
 * caller's thread. image/source_probe.c and the command `probe` ask. A file without debug
 * information, or a name that is not in it, is -errno and a sentence. */
#include "sym/source.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "sym/inlined.h"
#include "sym/source_internal.h"

#define GLOBALS_MOST (1u << 20) /* variables of all units that are kept */

/* --- opening ---------------------------------------------------------------------------------- */

/* *out only if 0 is returned; it refers to *m. A file without debug information is ENODATA, with
 * what to do. */
int sym_source_open(const struct sym_module *m, struct sym_source_info **out, struct err *err)
{
	struct sym_source_info *s = mem_zalloc(sizeof(*s));
	int r = dwarf_file_open(m, &s->file, err);

	s->m = m;
	if (r == 0 && !s->file.dwarf)
		r = s->file.left_out
			    ? err_set(err, ENODATA, "%s", s->file.left_out)
			    : err_set(err, ENODATA,
				      "%s has no debug information: compile it with -g, or install its -dbgsym package",
				      m->path);
	if (r < 0)
		sym_source_close(s);
	else
		*out = s;
	return r;
}

void sym_source_close(struct sym_source_info *s)
{
	if (!s)
		return;
	eh_frame_free(&s->frame);
	elf_view_free(&s->view);
	dwarf_file_close(&s->file);
	free(s);
}

/* A walk that left something out would give wrong answers: -EFBIG. */
int source_walk(struct sym_source_info *s, const struct dwarf_visitor *visitor, struct err *err)
{
	char *left_out = NULL;
	int r = dwarf_walk_file(s->m, &s->file, visitor, &left_out, err);

	if (r == 0 && left_out)
		r = err_set(err, EFBIG, "%s: %s", s->m->path, left_out);
	free(left_out);
	return r;
}

/* Whether `tail` is the path, or its last components. */
bool source_is_file(const char *path, const char *tail)
{
	size_t n = strlen(path), k = strlen(tail);

	return k && k <= n && !strcmp(path + n - k, tail) &&
	       (k == n || path[n - k - 1] == '/' || *tail == '/');
}

/* By the name of the source, or by the linker's. */
bool source_has_name(Dwarf_Die *die, const char *name)
{
	static const unsigned attributes[] = { DW_AT_name, DW_AT_linkage_name };
	Dwarf_Attribute attr;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		const char *is = dwarf_formstring(dwarf_attr_integrate(die, attributes[i], &attr));

		if (is && !strcmp(is, name))
			return true;
	}
	return false;
}

/* --- functions -------------------------------------------------------------------------------- */

struct function_search {
	const char *name, *file;  /* file NULL: any */
	struct sym_source_function *out;
	bool found;
};

/* Takes the function if it is the first, or the first with code. The work of a name is that of
 * inlined.c. */
static void note_function(struct function_search *f, Dwarf_Die *die)
{
	const char *path;
	Dwarf_Addr entry = 0;
	int line = 0;

	if ((f->found && f->out->vaddr) || dwarf_hasattr(die, DW_AT_declaration) ||
	    !source_has_name(die, f->name))
		return;
	path = dwarf_decl_file(die);
	if (!path || dwarf_decl_line(die, &line) || line <= 0 ||
	    (f->file && !source_is_file(path, f->file)))
		return;
	if (dwarf_walk_has_code(die) && !dwarf_walk_entry(die, &entry))
		entry = 0;
	if (f->found && !entry)
		return;
	free(f->out->path);
	*f->out = (struct sym_source_function){ mem_strdup(path), (uint32_t)line, entry };
	f->found = true;
}

/* The visitor of a search by name. A DIE costs by its attributes, since a file may have any
 * number of them. */
static void see_function(struct dwarf_walk *walk, const struct dwarf_seen *seen, void *context)
{
	if (seen->tag == DW_TAG_subprogram &&
	    dwarf_walk_spend(walk, 8 * dwarf_walk_attributes(walk, seen->die)))
		note_function(context, seen->die);
}

/* out->path is the caller's. vaddr 0: the function has no code of its own (it is inlined
 * everywhere). */
int sym_source_function(struct sym_source_info *s, const char *name, const char *file,
			struct sym_source_function *out, struct err *err)
{
	struct function_search f = { .name = name, .file = file, .out = out };
	const struct dwarf_visitor visitor = { .context = &f, .see = see_function };
	const char *like;
	int r;

	*out = (struct sym_source_function){ 0 };
	r = source_walk(s, &visitor, err);
	if (r == 0 && !f.found) {
		bool near = sym_nearest(s->m, name, &like, 1) > 0;

		r = err_set(err, ENOENT, "the debug information of %s has no function %s%s%s%s%s%s",
			    s->m->path, name, file ? " in a file " : "", file ? file : "",
			    near ? "; did you mean " : "", near ? like : "", near ? "?" : "");
	}
	if (r < 0) {
		free(out->path);
		out->path = NULL;
	}
	return r;
}

/* --- scopes ----------------------------------------------------------------------------------- */

/* Whether the code of the DIE has the address, as far as the walk may still spend. */
static bool has_vaddr(struct dwarf_walk *walk, Dwarf_Die *die, uint64_t vaddr)
{
	return dwarf_walk_has_code(die) &&
	       dwarf_walk_spend(walk, 2 * dwarf_walk_attributes(walk, die)) &&
	       dwarf_haspc(die, vaddr) > 0;
}

/* Index of a block of the scope, from the innermost on; SCOPE_GLOBAL: it is none of them. */
static uint32_t block_of(const struct sym_scope *sc, const Dwarf_Die *die)
{
	for (size_t i = sc->blocks.n; i-- > 0;)
		if (sc->blocks.at[i].die.addr == die->addr)
			return (uint32_t)i;
	return SCOPE_GLOBAL;
}

/* Variables of these are global. */
static bool is_of_unit(Dwarf_Die *parent)
{
	int tag = dwarf_tag(parent);

	return tag == DW_TAG_compile_unit || tag == DW_TAG_namespace || tag == DW_TAG_partial_unit;
}

struct scope_walk { struct sym_scope *scope; bool own_unit; };

/* Variables of blocks around the address, and global ones, as many as are kept. */
static void note_variable(struct scope_walk *w, const struct dwarf_seen *seen)
{
	struct sym_scope *sc = w->scope;
	uint32_t block = block_of(sc, seen->parent);

	if (block == SCOPE_GLOBAL &&
	    (!is_of_unit(seen->parent) || sc->variables.n >= GLOBALS_MOST))
		return;
	*vec_add(&sc->variables) =
		(struct scope_variable){ *seen->die, block, w->own_unit };
}

/* Blocks come from the outside in, so that the last ones of sc->blocks are innermost. */
static void see_scope(struct dwarf_walk *walk, const struct dwarf_seen *seen, void *context)
{
	struct scope_walk *w = context;
	bool is_function = seen->tag == DW_TAG_subprogram;

	switch (seen->tag) {
	case DW_TAG_variable: case DW_TAG_formal_parameter: note_variable(w, seen); return;
	case DW_TAG_inlined_subroutine: case DW_TAG_lexical_block:
		if (!w->own_unit || block_of(w->scope, seen->parent) == SCOPE_GLOBAL)
			return;
		break;
	case DW_TAG_subprogram: break;
	default: return;
	}
	if (w->own_unit && has_vaddr(walk, seen->die, w->scope->vaddr))
		*vec_add(&w->scope->blocks) = (struct scope_block){ *seen->die, is_function };
}

/* The first unit around counts: others that claim the address were dropped by the linker. */
static void begin_scope_unit(struct dwarf_walk *walk, Dwarf_Die *unit, Dwarf_Die *lines_of,
			     void *context)
{
	struct scope_walk *w = context;

	(void)walk;
	w->own_unit = !w->scope->blocks.n && dwarf_haspc(lines_of, w->scope->vaddr) > 0;
	if (w->own_unit)
		w->scope->unit = *unit;
}

/* *out only if 0 is returned; it refers to *s. */
int sym_scope_at(struct sym_source_info *s, uint64_t vaddr, struct sym_scope **out, struct err *err)
{
	struct sym_scope *sc = mem_zalloc(sizeof(*sc));
	struct scope_walk w = { .scope = sc };
	const struct dwarf_visitor visitor = { .context = &w, .see = see_scope,
					       .unit_begins = begin_scope_unit };
	int r;

	sc->source = s;
	sc->vaddr = vaddr;
	r = source_walk(s, &visitor, err);
	if (r == 0 && !sc->blocks.n)
		r = err_set(err, ENOENT,
			    "the debug information of %s has no function at 0x%llx", s->m->path,
			    (unsigned long long)vaddr);
	if (r < 0)
		sym_scope_free(sc);
	else
		*out = sc;
	return r;
}

void sym_scope_free(struct sym_scope *sc)
{
	if (!sc)
		return;
	vec_free(&sc->blocks);
	vec_free(&sc->variables);
	free(sc);
}

/* The last one that is a function, not an inlined copy or a block. */
static struct scope_block *function_of(const struct sym_scope *sc)
{
	for (size_t i = sc->blocks.n; i-- > 0;)
		if (sc->blocks.at[i].is_function)
			return &sc->blocks.at[i];
	return NULL;
}

bool source_entry(const struct sym_scope *sc, uint64_t *entry)
{
	struct scope_block *f = function_of(sc);
	Dwarf_Addr at;

	if (!f || !dwarf_walk_entry(&f->die, &at))
		return false;
	*entry = at;
	return true;
}

/* *behind: bytes from the function's first instruction. NULL: the scope lies in no function whose
 * beginning is known. */
const char *sym_scope_function(const struct sym_scope *sc, uint64_t *behind)
{
	struct scope_block *f = function_of(sc);
	uint64_t entry;

	if (!f || !source_entry(sc, &entry))
		return NULL;
	*behind = sc->vaddr - entry;
	return dwarf_diename(&f->die);
}
