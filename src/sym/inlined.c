/* One walk over all of the debug information, in the order of the file: every subprogram
 * with code may be a body of the name, every inlined subroutine a copy. Whether an abstract
 * instance has the name is asked once and remembered, as one is inlined many times. */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "sym/dwarf_file.h"
#include "sym/inlined.h"

#define MAX_DEPTH 256

struct origin { const void *die; bool has_name; };

struct walk {
	const char *name;
	struct sym_inlined *out;
	Dwarf_Die cu;
	const char *comp_dir;      /* NULL = unknown */
	Dwarf_Off last;            /* of the DIE visited last: a walk in order only grows */
	struct origin origins[1024];
};

static const char *string_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, attribute, &attr));
}

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

static bool origin_has_name(struct walk *w, Dwarf_Die *inlined)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	struct origin *memo;

	if (!dwarf_formref_die(dwarf_attr(inlined, DW_AT_abstract_origin, &attr), &origin))
		return false;
	memo = &w->origins[(uintptr_t)origin.addr / 4 % (sizeof(w->origins) / sizeof(*w->origins))];
	if (memo->die != origin.addr)
		*memo = (struct origin){ origin.addr, has_name(w->name, &origin) };
	return memo->has_name;
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (dwarf_formudata(dwarf_attr(die, attribute, &attr), &value))
		value = 0;
	return value;
}

/* As the compiler was called: without the directory it stood in. */
static const char *call_file(struct walk *w, Dwarf_Die *inlined)
{
	Dwarf_Word index = number_of(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n, dir = w->comp_dir ? strlen(w->comp_dir) : 0;
	const char *path;

	if (dwarf_getsrcfiles(&w->cu, &files, &n) || index >= n)
		return NULL;
	path = dwarf_filesrc(files, index, NULL, NULL);
	if (path && dir && !strncmp(path, w->comp_dir, dir) && path[dir] == '/')
		path += dir + 1;
	return path;
}

static uint64_t first_pc(Dwarf_Die *die)
{
	Dwarf_Addr base, start = 0, end;

	if (dwarf_entrypc(die, &start) && dwarf_ranges(die, 0, &base, &start, &end) <= 0)
		return 0;
	return start;
}

static void add_copy(struct walk *w, Dwarf_Die *inlined, Dwarf_Die *body)
{
	const char *file = call_file(w, inlined), *caller = body ? dwarf_diename(body) : NULL;

	*vec_add(&w->out->copies) = (struct sym_inline_copy){
		.caller = caller ? mem_strdup(caller) : NULL,
		.file = file ? mem_strdup(file) : NULL,
		.line = (uint32_t)number_of(inlined, DW_AT_call_line),
		.vaddr = first_pc(inlined),
	};
}

static bool has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

static void note_subprogram(struct walk *w, Dwarf_Die *die)
{
	if (dwarf_hasattr(die, DW_AT_declaration) || !has_name(w->name, die))
		return;
	w->out->known = true;
	w->out->bodies += has_code(die);
}

/* Which DIEs can have subprograms or inlined copies below them. */
static bool has_children_to_see(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram: case DW_TAG_inlined_subroutine: case DW_TAG_lexical_block:
	case DW_TAG_namespace: case DW_TAG_module: case DW_TAG_try_block: case DW_TAG_catch_block:
	case DW_TAG_class_type: case DW_TAG_structure_type: case DW_TAG_union_type:
	case DW_TAG_enumeration_type: /* Rust has methods there */
		return true;
	}
	return false;
}

static int walk_children(struct walk *w, Dwarf_Die *parent, Dwarf_Die *body, int depth)
{
	Dwarf_Die die;
	int r = dwarf_child(parent, &die);

	for (; r == 0; r = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);
		Dwarf_Die *inside = tag == DW_TAG_subprogram && has_code(&die) ? &die : body;

		if (dwarf_dieoffset(&die) <= w->last || depth > MAX_DEPTH)
			return -EBADMSG;
		w->last = dwarf_dieoffset(&die);
		if (tag == DW_TAG_subprogram)
			note_subprogram(w, &die);
		else if (tag == DW_TAG_inlined_subroutine && origin_has_name(w, &die))
			add_copy(w, &die, body);
		if (has_children_to_see(tag) && walk_children(w, &die, inside, depth + 1))
			return -EBADMSG;
	}
	return r < 0 ? -EBADMSG : 0;
}

static int walk_unit(struct walk *w, Dwarf_Die *unit)
{
	w->cu = *unit;
	w->comp_dir = string_of(unit, DW_AT_comp_dir);
	w->last = dwarf_dieoffset(unit);
	return walk_children(w, unit, NULL, 0);
}

/* All units of one file of debug information; the alternate file of dwz is another. */
static int walk_units(struct walk *w, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, split;
	uint8_t type;
	int r;

	while (!(r = dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, &split)))
		if (walk_unit(w, type == DW_UT_skeleton && split.addr ? &split : &unit))
			return -EBADMSG;
	return r < 0 ? -EBADMSG : 0;
}

int sym_inlined_find(const struct sym_module *m, const char *name, struct sym_inlined *out,
		     struct err *err)
{
	struct dwarf_file file;
	struct walk w = { .name = name, .out = out };
	Dwarf *alt;
	int r = dwarf_file_open(m, &file, err);

	*out = (struct sym_inlined){ 0 };
	if (r || !file.dwarf)
		return r;
	out->has_dwarf = true;
	alt = dwarf_getalt(file.dwarf);
	r = walk_units(&w, file.dwarf);
	if (!r && alt)
		r = walk_units(&w, alt);
	if (r) {
		sym_inlined_free(out);
		err_set(err, EBADMSG, "the debug information of %s is malformed%s%s",
			file.separate.path ? file.separate.path : m->path,
			dwarf_errno() ? ": " : "", dwarf_errno() ? dwarf_errmsg(-1) : "");
	}
	dwarf_file_close(&file);
	return r;
}

void sym_inlined_free(struct sym_inlined *in)
{
	for (size_t i = 0; i < in->copies.n; i++) {
		free(in->copies.at[i].caller);
		free(in->copies.at[i].file);
	}
	vec_free(&in->copies);
	*in = (struct sym_inlined){ 0 };
}
