/* SPDX-License-Identifier: MIT */
/* Asks the debug information for one function name: where it was inlined, and whether it has code
 * of its own. hook/why.c, image/source_probe.c and kernel/inlined.c call it when a user names a
 * function that is not there. One walk over all units (dwarf_walk.h): every subprogram with code
 * may be a body of the name, every inlined subroutine a copy. Any thread. A file without debug
 * information has no answer. */
#include <dwarf.h>
#include <string.h>

#include "sym/dwarf_walk.h"
#include "sym/inlined.h"

#define NAME_LOOKS 8       /* attributes looked up to know a name, along a chain of origins */

/* An entry of the cache below: the DIE that was asked about last, and the answer. */
struct origin { const void *die; bool has_name; };

struct inlined_search {
	struct dwarf_walk *walk;   /* while a DIE is seen */
	const char *name;
	struct sym_inlined *out;
	Dwarf_Die cu;
	const char *comp_dir;      /* NULL = unknown */
	Dwarf_Die lines_of;        /* cu, or the skeleton unit that it was split from */
	bool lines_read;           /* the table of lines_of has been read */
	struct origin origins[1024];
};

/* Returns a string attribute of the DIE or of its origin (abstract instance, declaration); NULL: it
 * has none. */
static const char *string_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, attribute, &attr));
}

/* True if the DIE has the name, as written in the source or as the linker knows it. */
static bool has_name(const char *wanted, Dwarf_Die *die)
{
	static const unsigned attributes[] = { DW_AT_name, DW_AT_linkage_name,
					       DW_AT_MIPS_linkage_name };

	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		const char *name = string_of(die, attributes[i]);

		if (name && !strcmp(name, wanted))
			return true;
	}
	return false;
}

/* True if the inlined subroutine is a copy of the wanted function. */
static bool origin_has_name(struct inlined_search *w, Dwarf_Die *inlined)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	struct origin *memo;

	if (!dwarf_formref_die(dwarf_attr(inlined, DW_AT_abstract_origin, &attr), &origin))
		return false;
	/* Whether an abstract instance has the name is asked once and remembered: it is inlined
	 * many times. */
	memo = &w->origins[(uintptr_t)origin.addr / 4 % (sizeof(w->origins) / sizeof(*w->origins))];
	if (memo->die != origin.addr &&
	    dwarf_walk_spend(w->walk, NAME_LOOKS * dwarf_walk_attributes(w->walk, &origin)))
		*memo = (struct origin){ origin.addr, has_name(w->name, &origin) };
	return memo->die == origin.addr && memo->has_name;
}

/* Returns a number attribute; 0: there is none, or none that can be read. */
static Dwarf_Word number_attribute(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (dwarf_formudata(dwarf_attr(die, attribute, &attr), &value))
		value = 0;
	return value;
}

/* Returns the path as the compiler was called with it: without its working directory. */
static const char *call_file(struct inlined_search *w, Dwarf_Die *inlined)
{
	Dwarf_Word index = number_attribute(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n, dir = w->comp_dir ? strlen(w->comp_dir) : 0;
	const char *path;

	if ((!w->lines_read && !dwarf_walk_reads_lines(w->walk, &w->lines_of)) ||
	    dwarf_getsrcfiles(&w->cu, &files, &n) ||
	    index >= n)
		return NULL;
	w->lines_read = true;
	path = dwarf_filesrc(files, index, NULL, NULL);
	if (path && dir && !strncmp(path, w->comp_dir, dir) && path[dir] == '/')
		path += dir + 1;
	return path;
}

/* Returns the address of the copy: its entry, or else the begin of its first range; 0: it has no
 * code. */
static uint64_t first_pc(Dwarf_Die *die)
{
	Dwarf_Addr start;

	return dwarf_walk_entry(die, &start) ? start : 0;
}

/* Adds the copy to the answer. body: the function that it was inlined in; NULL: in none that has
 * code. */
static void add_copy(struct inlined_search *w, Dwarf_Die *inlined, Dwarf_Die *body)
{
	const char *file = call_file(w, inlined), *caller = body ? dwarf_diename(body) : NULL;

	*vec_add(&w->out->copies) = (struct sym_inline_copy){
		.caller = caller ? mem_strdup(caller) : NULL,
		.file = file ? mem_strdup(file) : NULL,
		.line = (uint32_t)number_attribute(inlined, DW_AT_call_line),
		.vaddr = first_pc(inlined),
	};
}

/* Counts the function if it is the wanted one: `known` when it exists, `bodies` when it has
 * code. */
static void note_subprogram(struct inlined_search *w, Dwarf_Die *die)
{
	if (!dwarf_walk_spend(w->walk, NAME_LOOKS * dwarf_walk_attributes(w->walk, die)) ||
	    dwarf_hasattr(die, DW_AT_declaration) || !has_name(w->name, die))
		return;
	w->out->known = true;
	w->out->bodies += dwarf_walk_has_code(die);
}

static void begin_unit(struct dwarf_walk *walk, Dwarf_Die *unit, Dwarf_Die *lines_of, void *context)
{
	struct inlined_search *w = context;

	(void)walk;
	w->cu = *unit;
	w->lines_of = *lines_of;
	w->lines_read = false;
	w->comp_dir = string_of(unit, DW_AT_comp_dir);
}

static void see_die(struct dwarf_walk *walk, const struct dwarf_seen *seen, void *context)
{
	struct inlined_search *w = context;

	w->walk = walk;
	if (seen->tag == DW_TAG_subprogram)
		note_subprogram(w, seen->die);
	else if (seen->tag == DW_TAG_inlined_subroutine && origin_has_name(w, seen->die))
		add_copy(w, seen->die, seen->body);
}

int sym_inlined_find(const struct sym_module *m, const char *name, struct sym_inlined *out,
		     struct err *err)
{
	struct inlined_search w = { .name = name, .out = out };
	const struct dwarf_visitor visitor = { .context = &w, .see = see_die,
					       .unit_begins = begin_unit };
	int r;

	*out = (struct sym_inlined){ 0 };
	r = dwarf_walk(m, &visitor, &out->has_dwarf, &out->left_out, err);
	if (r)
		sym_inlined_free(out);
	return r;
}

void sym_inlined_free(struct sym_inlined *in)
{
	for (size_t i = 0; i < in->copies.n; i++) {
		free(in->copies.at[i].caller);
		free(in->copies.at[i].file);
	}
	vec_free(&in->copies);
	free(in->left_out);
	*in = (struct sym_inlined){ 0 };
}
