/* SPDX-License-Identifier: MIT */
/* Walks a module's debug information for the questions of inlined.c and signatures.c, on their
 * caller's thread. Work is bounded, so that a file cannot be made to take long: a walk that has
 * used it up says so. A walk that does not advance, or is too deep, is a malformed file. */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "sym/dwarf_walk.h"

#define MAX_DEPTH 256

/* Work is counted in attributes read or passed over: a DIE of a real file has ten in twelve bytes.
 * Never by a clock: the same file gives the same answer. */
#define WORK_A_BYTE 8 /* real files take one */
#define WORK_LEAST (UINT64_C(64) << 20)
#define WORK_A_UNIT 2048   /* elfutils keeps a table for each unit */
#define ATTRIBUTES_MOST 64 /* of a DIE; real ones have thirty */
#define LINES_MOST (UINT64_C(16) << 20) /* bytes of one unit's line table */

/* An entry of the cache below: the abbreviation that was asked about last, and the answer. */
struct die_shape { const Dwarf_Abbrev *abbrev; size_t attributes; };

struct dwarf_walk {
	const struct dwarf_visitor *visitor;
	const struct dwarf_file *file;
	Dwarf_Off last;            /* offset of the last DIE: a walk in order only grows */
	uint64_t left, seen;       /* work left; work that DIEs took so far */
	bool gave_up;
	Elf *lines_in;
	const Elf_Data *lines;     /* all line tables of that file */
	struct die_shape shapes[1024];
};

/* False: the work that a file of this size deserves is done. Everything that is asked of elfutils
 * is paid here first. */
bool dwarf_walk_spend(struct dwarf_walk *w, uint64_t work)
{
	w->gave_up |= work > w->left;
	w->left -= work < w->left ? work : w->left;
	return !w->gave_up;
}

/* Counted, because each look for an attribute goes through all of them. */
size_t dwarf_walk_attributes(struct dwarf_walk *w, Dwarf_Die *die)
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
	dwarf_walk_spend(w, n);
	*memo = (struct die_shape){ die->abbrev, n };
	return n;
}

bool dwarf_walk_has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

/* A function in several parts begins in the first one. */
bool dwarf_walk_entry(Dwarf_Die *die, Dwarf_Addr *entry)
{
	Dwarf_Addr base, end;

	return !dwarf_entrypc(die, entry) || dwarf_ranges(die, 0, &base, entry, &end) > 0;
}

/* elfutils reads a line table as a whole, so its size counts as work. */
bool dwarf_walk_reads_lines(struct dwarf_walk *w, Dwarf_Die *lines_of)
{
	Dwarf_Attribute attr;
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(lines_of->cu));
	Dwarf_Word at;
	uint64_t length;

	if (dwarf_formudata(dwarf_attr(lines_of, DW_AT_stmt_list, &attr), &at))
		return false;
	if (w->lines_in != elf)
		w->lines = dwarf_file_lines(elf);
	w->lines_in = elf;
	length = dwarf_file_line_bytes(w->lines, at);
	return length <= LINES_MOST && dwarf_walk_spend(w, length);
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

static int walk_children(struct dwarf_walk *w, Dwarf_Die *parent, Dwarf_Die *body, int depth);

/* Looks at a DIE and at those below it: at all of them if elfutils reads them anyway, so that they
 * are counted. */
static int visit_die(struct dwarf_walk *w, struct dwarf_seen seen, int depth)
{
	Dwarf_Die *die = seen.die, *body = seen.body;
	size_t work = 1 + dwarf_walk_attributes(w, die);

	seen.tag = dwarf_tag(die);
	if (dwarf_dieoffset(die) <= w->last || depth > MAX_DEPTH)
		return -EBADMSG;
	w->last = dwarf_dieoffset(die);
	w->seen += work;
	dwarf_walk_spend(w, work);
	w->visitor->see(w, &seen, w->visitor->context);
	if (!has_children_to_see(seen.tag) && tells_its_end(die))
		return 0;
	if (seen.tag == DW_TAG_subprogram && dwarf_walk_has_code(die))
		body = die;
	return walk_children(w, die, body, depth + 1);
}

/* 0, or -EBADMSG. */
static int walk_children(struct dwarf_walk *w, Dwarf_Die *parent, Dwarf_Die *body, int depth)
{
	Dwarf_Die die;
	int r = dwarf_child(parent, &die);

	while (r == 0) {
		/* Work below a DIE without DW_AT_sibling counts twice: dwarf_siblingof() walks over
		 * it again. */
		uint64_t seen = w->seen;

		if (visit_die(w, (struct dwarf_seen){ &die, parent, 0, body }, depth))
			return -EBADMSG;
		if (!dwarf_walk_spend(w, tells_its_end(&die) ? 0 : w->seen - seen))
			return 0;
		r = dwarf_siblingof(&die, &die);
	}
	return r < 0 ? -EBADMSG : 0;
}

/* elfutils reads all of a DIE's attributes whenever it looks for one, so no shape may have more
 * than real ones have. */
static bool is_plain(struct dwarf_walk *w, Dwarf_Die *unit)
{
	Dwarf_Abbrev *abbrev;
	Dwarf_Off at = 0;
	size_t length, n = 0;

	while ((abbrev = dwarf_getabbrev(unit, at, &length)) && abbrev != DWARF_END_ABBREV) {
		if (dwarf_getattrcnt(abbrev, &n) || n > ATTRIBUTES_MOST ||
		    !dwarf_walk_spend(w, n + 1))
			return false;
		at += length;
	}
	return true;
}

/* lines_of: as unit_begins() has it. */
static int walk_unit(struct dwarf_walk *w, Dwarf_Die *unit, Dwarf_Die *lines_of)
{
	const struct dwarf_visitor *v = w->visitor;
	int r;

	if (!is_plain(w, unit)) {
		w->gave_up = true;
		return 0;
	}
	w->last = dwarf_dieoffset(unit);
	if (v->unit_begins)
		v->unit_begins(w, unit, lines_of, v->context);
	r = v->see ? walk_children(w, unit, NULL, 0) : 0;
	if (v->unit_ends)
		v->unit_ends(w, v->context);
	return r;
}

static const char *string_of(Dwarf_Die *unit, unsigned attribute)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr(unit, attribute, &attr));
}

/* Returns false if the unit's DIEs are in another file that must not be opened. */
static bool may_split(const struct dwarf_walk *w, Dwarf_Die *unit)
{
	const char *name = string_of(unit, DW_AT_dwo_name), *dir = string_of(unit, DW_AT_comp_dir);

	name = name ? name : string_of(unit, DW_AT_GNU_dwo_name);
	return !name || dwarf_file_may_open(w->file, dir, name);
}

/* Walks all units of one file of debug information; dwz's alternate file is another. */
static int walk_units(struct dwarf_walk *w, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, split;
	uint8_t type;
	int r = 0;

	while (dwarf_walk_spend(w, WORK_A_UNIT) &&
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

/* *left_out, for free(): not all was looked at, and why; NULL otherwise. */
int dwarf_walk_file(const struct sym_module *m, const struct dwarf_file *file,
		    const struct dwarf_visitor *visitor, char **left_out, struct err *err)
{
	struct dwarf_walk w = { .visitor = visitor,
				.file = file,
				.left = WORK_LEAST + WORK_A_BYTE * file->bytes };
	Dwarf *alternate = dwarf_getalt(file->dwarf);
	int r = walk_units(&w, file->dwarf);

	*left_out = NULL;
	if (r == 0 && alternate)
		r = walk_units(&w, alternate);
	if (r)
		err_set(err, EBADMSG, "the debug information of %s is malformed%s%s",
			file->separate.path ? file->separate.path : m->path,
			dwarf_errno() ? ": " : "", dwarf_errno() ? dwarf_errmsg(-1) : "");
	else if (w.gave_up)
		*left_out = mem_strdup(
			"not all of its debug information is looked at: it would take unreasonably long");
	return r;
}

int dwarf_walk(const struct sym_module *m, const struct dwarf_visitor *visitor, bool *has_dwarf,
	       char **left_out, struct err *err)
{
	struct dwarf_file file;
	int r = dwarf_file_open(m, &file, err);

	*has_dwarf = false;
	*left_out = NULL;
	if (r)
		return r;
	if (file.dwarf) {
		*has_dwarf = true;
		r = dwarf_walk_file(m, &file, visitor, left_out, err);
	} else {
		/* The caller owns the sentence: dwarf_file_close() must not free it. */
		*left_out = file.left_out;
		file.left_out = NULL;
	}
	dwarf_file_close(&file);
	return r;
}
