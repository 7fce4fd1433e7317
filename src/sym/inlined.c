/* SPDX-License-Identifier: MIT */
/* Asks the debug information for one function name: where it was inlined, and whether it has code
 * of its own. hook/why.c calls it when a user names a function that is not there. One walk over all
 * units in the file's order: every subprogram with code may be a body of the name, every inlined
 * subroutine a copy. Work is bounded, so that a file cannot be made to take long; out->left_out
 * then says so. */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "sym/dwarf_file.h"
#include "sym/inlined.h"

#define MAX_DEPTH 256

/* Work is counted in attributes read or passed over: a DIE of a real file has ten in twelve bytes.
 * Never by a clock: the same file gives the same answer. */
#define WORK_A_BYTE 8 /* real files take one */
#define WORK_LEAST (UINT64_C(64) << 20)
#define WORK_A_UNIT 2048   /* elfutils keeps a table for each unit */
#define ATTRIBUTES_MOST 64 /* of a DIE; real ones have thirty */
#define NAME_LOOKS 8       /* attributes looked up to know a name, along a chain of origins */
#define LINES_MOST (UINT64_C(16) << 20) /* bytes of one unit's line table */

/* Entries of the caches below: the DIE or the abbreviation that was asked about last, and the
 * answer. */
struct origin { const void *die; bool has_name; };
struct die_shape { const Dwarf_Abbrev *abbrev; size_t attributes; };

struct die_walk {
	const char *name;
	struct sym_inlined *out;
	const struct dwarf_file *file;
	Dwarf_Die cu;
	const char *comp_dir;      /* NULL = unknown */
	Dwarf_Die lines_of;        /* cu, or the skeleton unit that it was split from */
	bool lines_read;           /* the table of lines_of has been read */
	Elf *lines_in;
	const Elf_Data *lines;     /* all tables of that file */
	Dwarf_Off last;            /* offset of the last DIE: a walk in order only grows */
	uint64_t left, seen;       /* work left; work that DIEs took so far */
	bool gave_up;
	struct origin origins[1024];
	struct die_shape shapes[1024];
};

/* Takes work off what is left; false: it is used up. */
static bool spend_work(struct die_walk *w, uint64_t work)
{
	w->gave_up |= work > w->left;
	w->left -= work < w->left ? work : w->left;
	return !w->gave_up;
}

/* Returns the number of a DIE's attributes, in which work is counted. */
static size_t attributes_of(struct die_walk *w, Dwarf_Die *die)
{
	/* Else elfutils has no abbreviation to look at. */
	bool known = dwarf_tag(die) != DW_TAG_invalid;
	/* A small cache by address: few shapes make up a file. */
	struct die_shape *memo =
		&w->shapes[(uintptr_t)die->abbrev / 8 % (sizeof(w->shapes) / sizeof(*w->shapes))];
	size_t n = 0;

	if (!known)
		return 0;
	if (memo->abbrev == die->abbrev)
		return memo->attributes;
	if (dwarf_getattrcnt(die->abbrev, &n))
		n = 0;
	spend_work(w, n);
	*memo = (struct die_shape){ die->abbrev, n };
	return n;
}

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
static bool origin_has_name(struct die_walk *w, Dwarf_Die *inlined)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	struct origin *memo;

	if (!dwarf_formref_die(dwarf_attr(inlined, DW_AT_abstract_origin, &attr), &origin))
		return false;
	/* Whether an abstract instance has the name is asked once and remembered: it is inlined
	 * many times. */
	memo = &w->origins[(uintptr_t)origin.addr / 4 % (sizeof(w->origins) / sizeof(*w->origins))];
	if (memo->die != origin.addr && spend_work(w, NAME_LOOKS * attributes_of(w, &origin)))
		*memo = (struct origin){ origin.addr, has_name(w->name, &origin) };
	return memo->die == origin.addr && memo->has_name;
}

/* Returns a number attribute; 0: there is none, or none that can be read. */
static Dwarf_Word number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (dwarf_formudata(dwarf_attr(die, attribute, &attr), &value))
		value = 0;
	return value;
}

/* A line table is read as a whole for its file names, so its size counts as work. */
static bool may_read_lines(struct die_walk *w)
{
	Dwarf_Attribute attr;
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(w->lines_of.cu));
	Dwarf_Word at;
	uint64_t length;

	if (dwarf_formudata(dwarf_attr(&w->lines_of, DW_AT_stmt_list, &attr), &at))
		return false;
	if (w->lines_in != elf)
		w->lines = dwarf_file_lines(elf);
	w->lines_in = elf;
	length = dwarf_file_line_bytes(w->lines, at);
	return length <= LINES_MOST && spend_work(w, length);
}

/* Returns the path as the compiler was called with it: without its working directory. */
static const char *call_file(struct die_walk *w, Dwarf_Die *inlined)
{
	Dwarf_Word index = number_of(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n, dir = w->comp_dir ? strlen(w->comp_dir) : 0;
	const char *path;

	if ((!w->lines_read && !may_read_lines(w)) || dwarf_getsrcfiles(&w->cu, &files, &n) ||
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
	Dwarf_Addr base, start = 0, end;

	if (dwarf_entrypc(die, &start) && dwarf_ranges(die, 0, &base, &start, &end) <= 0)
		return 0;
	return start;
}

/* Adds the copy to the answer. body: the function that it was inlined in; NULL: in none that has
 * code. */
static void add_copy(struct die_walk *w, Dwarf_Die *inlined, Dwarf_Die *body)
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

/* Counts the function if it is the wanted one: `known` when it exists, `bodies` when it has
 * code. */
static void note_subprogram(struct die_walk *w, Dwarf_Die *die)
{
	if (!spend_work(w, NAME_LOOKS * attributes_of(w, die)) ||
	    dwarf_hasattr(die, DW_AT_declaration) || !has_name(w->name, die))
		return;
	w->out->known = true;
	w->out->bodies += has_code(die);
}

/* True for DIEs that can have subprograms or inlined copies below them. */
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

/* True if the DIE tells where its next sibling is; else elfutils reads everything below to find
 * it. */
static bool tells_its_end(Dwarf_Die *die)
{
	return dwarf_haschildren(die) <= 0 || dwarf_hasattr(die, DW_AT_sibling);
}

static int walk_children(struct die_walk *w, Dwarf_Die *parent, Dwarf_Die *body, int depth);

/* Looks at a DIE and at those below it: at all of them if elfutils reads them anyway, so that they
 * are counted. */
static int visit_die(struct die_walk *w, Dwarf_Die *die, Dwarf_Die *body, int depth)
{
	int tag = dwarf_tag(die);
	Dwarf_Die *inside = tag == DW_TAG_subprogram && has_code(die) ? die : body;
	size_t work = 1 + attributes_of(w, die);

	/* A walk that does not advance, or is too deep, is a malformed file. */
	if (dwarf_dieoffset(die) <= w->last || depth > MAX_DEPTH)
		return -EBADMSG;
	w->last = dwarf_dieoffset(die);
	w->seen += work;
	spend_work(w, work);
	if (tag == DW_TAG_subprogram)
		note_subprogram(w, die);
	else if (tag == DW_TAG_inlined_subroutine && origin_has_name(w, die))
		add_copy(w, die, body);
	return has_children_to_see(tag) || !tells_its_end(die)
		       ? walk_children(w, die, inside, depth + 1)
		       : 0;
}

static int walk_children(struct die_walk *w, Dwarf_Die *parent, Dwarf_Die *body, int depth)
{
	Dwarf_Die die;
	int r = dwarf_child(parent, &die);

	while (r == 0) {
		/* Work below a DIE without DW_AT_sibling counts twice: dwarf_siblingof() walks over
		 * it again. */
		uint64_t seen = w->seen;

		if (visit_die(w, &die, body, depth))
			return -EBADMSG;
		if (!spend_work(w, tells_its_end(&die) ? 0 : w->seen - seen))
			return 0;
		r = dwarf_siblingof(&die, &die);
	}
	return r < 0 ? -EBADMSG : 0;
}

/* elfutils reads all of a DIE's attributes whenever it looks for one, so no shape may have more
 * than real ones have. */
static bool is_plain(struct die_walk *w, Dwarf_Die *unit)
{
	Dwarf_Abbrev *abbrev;
	Dwarf_Off at = 0;
	size_t length, n = 0;

	while ((abbrev = dwarf_getabbrev(unit, at, &length)) && abbrev != DWARF_END_ABBREV) {
		if (dwarf_getattrcnt(abbrev, &n) || n > ATTRIBUTES_MOST || !spend_work(w, n + 1))
			return false;
		at += length;
	}
	return true;
}

/* Walks one unit. lines_of: the unit with the line table; a split unit's is in the skeleton. */
static int walk_unit(struct die_walk *w, Dwarf_Die *unit, Dwarf_Die *lines_of)
{
	if (!is_plain(w, unit)) {
		w->gave_up = true;
		return 0;
	}
	w->cu = *unit;
	w->lines_of = *lines_of;
	w->lines_read = false;
	w->comp_dir = string_of(unit, DW_AT_comp_dir);
	w->last = dwarf_dieoffset(unit);
	return walk_children(w, unit, NULL, 0);
}

/* Returns false if the unit's DIEs are in another file that must not be opened. */
static bool may_split(const struct die_walk *w, Dwarf_Die *unit)
{
	const char *name = string_of(unit, DW_AT_dwo_name), *dir = string_of(unit, DW_AT_comp_dir);

	name = name ? name : string_of(unit, DW_AT_GNU_dwo_name);
	return !name || dwarf_file_may_open(w->file, dir, name);
}

/* Walks all units of one file of debug information; dwz's alternate file is another. */
static int walk_units(struct die_walk *w, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, split;
	uint8_t type;
	int r = 0;

	while (spend_work(w, WORK_A_UNIT) &&
	       !(r = dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, NULL))) {
		split = (Dwarf_Die){ 0 };
		if (type == DW_UT_skeleton && may_split(w, &unit) &&
		    dwarf_cu_info(cu, NULL, NULL, NULL, &split, NULL, NULL, NULL))
			return -EBADMSG;
		if (walk_unit(w, split.addr ? &split : &unit, &unit))
			return -EBADMSG;
	}
	return r < 0 ? -EBADMSG : 0;
}

/* Walks the file, and then dwz's alternate one, which has the functions that several files
 * share. */
static int walk_files(struct die_walk *w, Dwarf *dwarf)
{
	Dwarf *alt = dwarf_getalt(dwarf);
	int r = walk_units(w, dwarf);

	return r || !alt ? r : walk_units(w, alt);
}

int sym_inlined_find(const struct sym_module *m, const char *name, struct sym_inlined *out,
		     struct err *err)
{
	struct dwarf_file file;
	struct die_walk w = { .name = name, .out = out, .file = &file };
	int r = dwarf_file_open(m, &file, err);

	*out = (struct sym_inlined){ 0 };
	if (r)
		return r;
	out->has_dwarf = file.dwarf != NULL;
	out->left_out = file.left_out;
	/* The answer owns the sentence from here on, so dwarf_file_close() must not free it. */
	file.left_out = NULL;
	w.left = WORK_LEAST + WORK_A_BYTE * file.bytes;
	r = file.dwarf ? walk_files(&w, file.dwarf) : 0;
	if (r) {
		sym_inlined_free(out);
		err_set(err, EBADMSG, "the debug information of %s is malformed%s%s",
			file.separate.path ? file.separate.path : m->path,
			dwarf_errno() ? ": " : "", dwarf_errno() ? dwarf_errmsg(-1) : "");
	} else if (w.gave_up) {
		out->left_out = mem_strdup(
			"not all of its debug information is looked at: it would take unreasonably long");
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
	free(in->left_out);
	*in = (struct sym_inlined){ 0 };
}
