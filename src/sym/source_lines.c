/* SPDX-License-Identifier: MIT */
/* Finds the instructions of source lines in DWARF's line tables, and the functions and inlined
 * copies that they belong to, in the walk of one question. A table larger than makes sense is left
 * out (dwarf_walk_reads_lines). A struct sym_source_info belongs to the thread that asks; a line
 * without code is -ENOENT and a sentence. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/source_internal.h"

#define PLACES_MOST 256u       /* of one line */
#define ROWS_MOST (1u << 20)   /* of one file's code in one unit */

/* A row of a unit's table that is of the file; place: the function or copy around, so far. */
struct line_row {
	uint64_t vaddr;
	uint32_t line;
	const void *owner;
	bool within, fixed;       /* fixed: no table's row, but what a function says of itself */
	char name[64];
};

struct line_search {
	const char *file, *within; /* within NULL: any function */
	uint32_t line;            /* 0: all lines */
	VEC(struct line_row) rows; /* of this unit */
	sym_source_places *places; /* NULL: numbers are wanted */
	sym_source_numbers *numbers;
	char *path;               /* of the first file that matched */
	uint32_t next;            /* the next line that has code; 0: none */
	bool is_file;             /* some unit has it */
	Dwarf_Die unit;
};

/* --- rows ------------------------------------------------------------------------------------- */

/* With a function all of its lines are wanted: one of them may be the next one. */
static bool is_wanted_line(const struct line_search *s, uint32_t line)
{
	return !s->line || s->within || line == s->line;
}

/* Takes a row: begins of statements, and each line once in a run of instructions. */
static void note_row(struct line_search *s, Dwarf_Line *row, bool goes_on)
{
	bool statement = false, ends = false;
	Dwarf_Addr vaddr;
	int line;

	if (goes_on || s->rows.n >= ROWS_MOST || dwarf_linebeginstatement(row, &statement) ||
	    dwarf_lineendsequence(row, &ends) || !statement || ends ||
	    dwarf_lineno(row, &line) || line <= 0 || dwarf_lineaddr(row, &vaddr) || !vaddr)
		return;
	if (s->line && (uint32_t)line > s->line && !s->within &&
	    (!s->next || (uint32_t)line < s->next))
		s->next = (uint32_t)line;
	if (is_wanted_line(s, (uint32_t)line))
		*vec_add(&s->rows) = (struct line_row){ .vaddr = vaddr, .line = (uint32_t)line };
}

/* Relative paths are the compiler's, from its directory; for free(). */
char *source_whole_path(Dwarf_Die *unit, const char *path)
{
	Dwarf_Attribute attr;
	const char *dir = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));

	return *path == '/' || !dir ? mem_strdup(path) : mem_printf("%s/%s", dir, path);
}

/* Rows of one file lie together: its name is compared once for many. */
static void read_rows(struct line_search *s, Dwarf_Die *unit)
{
	const char *last = NULL;
	bool is = false, was = false;
	Dwarf_Lines *lines;
	size_t n;
	int before = 0;

	if (dwarf_getsrclines(unit, &lines, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i);
		const char *path = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
		int line = 0;

		if (path != last)
			is = path && source_is_file(path, s->file);
		last = path;
		if (is && !s->path)
			s->path = source_whole_path(unit, path);
		s->is_file |= is;
		if (row)
			dwarf_lineno(row, &line);
		if (is)
			note_row(s, row, was && line == before && !s->within);
		was = is;
		before = line;
	}
}

/* Rows are of one unit at a time: its functions come next, and find theirs. */
static void begin_lines_unit(struct dwarf_walk *walk, Dwarf_Die *unit, Dwarf_Die *lines_of,
			     void *context)
{
	struct line_search *s = context;

	s->unit = *unit;
	s->rows.n = 0;
	if (dwarf_walk_reads_lines(walk, lines_of))
		read_rows(s, lines_of);
}

/* --- owners ----------------------------------------------------------------------------------- */

/* The file and line of a function's name, or of the call that an inlined copy stands for; NULL: not
 * known. */
static const char *told_line(struct line_search *s, Dwarf_Die *die, bool copy, int *line)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word file, at;
	size_t n;

	if (!copy)
		return dwarf_decl_line(die, line) ? NULL : dwarf_decl_file(die);
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &at) || at > INT32_MAX ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &file) ||
	    dwarf_getsrcfiles(&s->unit, &files, &n) || file >= n)
		return NULL;
	*line = (int)at;
	return dwarf_filesrc(files, file, NULL, NULL);
}

/* A function's own line, and (copy) the line of a call that was inlined, have its first
 * instruction. */
static void note_begin(struct line_search *s, const struct dwarf_seen *seen, bool wanted, bool copy)
{
	Dwarf_Die *owner = copy ? seen->body : seen->die;
	struct line_row row = { .fixed = true, .within = wanted };
	const char *path, *name;
	Dwarf_Addr entry;
	int line = 0;

	path = told_line(s, seen->die, copy, &line);
	if (!owner || !path || line <= 0 || !is_wanted_line(s, (uint32_t)line) ||
	    !source_is_file(path, s->file) || !dwarf_walk_entry(seen->die, &entry) ||
	    s->rows.n >= ROWS_MOST)
		return;
	name = dwarf_diename(owner);
	if (copy)
		row.within = s->within && source_has_name(owner, s->within);
	row.vaddr = entry;
	row.line = (uint32_t)line;
	row.owner = owner->addr;
	snprintf(row.name, sizeof(row.name), "%s", name ? name : "");
	*vec_add(&s->rows) = row;
}

/* Functions and copies come from the outside in: the last that has a row is its owner. */
static void see_owner(struct dwarf_walk *walk, const struct dwarf_seen *seen, void *context)
{
	struct line_search *s = context;
	bool wanted;

	if ((seen->tag != DW_TAG_subprogram && seen->tag != DW_TAG_inlined_subroutine) ||
	    !s->rows.n || !dwarf_walk_has_code(seen->die) ||
	    !dwarf_walk_spend(walk, 8 * dwarf_walk_attributes(walk, seen->die)))
		return;
	wanted = s->within && source_has_name(seen->die, s->within);
	for (size_t i = 0; i < s->rows.n; i++) {
		struct line_row *row = &s->rows.at[i];
		const char *name = seen->tag == DW_TAG_subprogram ? dwarf_diename(seen->die) : NULL;

		if (row->fixed || dwarf_haspc(seen->die, row->vaddr) <= 0)
			continue;
		row->within = wanted;
		row->owner = seen->die->addr;
		if (name)
			snprintf(row->name, sizeof(row->name), "%s", name);
		if (!dwarf_walk_spend(walk, 1))
			return;
	}
	note_begin(s, seen, wanted, false);
	if (seen->tag == DW_TAG_inlined_subroutine)
		note_begin(s, seen, wanted, true);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Keeps the lowest address of each owner. */
static void add_place(struct line_search *s, const struct line_row *row)
{
	for (size_t i = 0; i < s->rows.n; i++) {
		const struct line_row *other = &s->rows.at[i];

		if (other->line == row->line && other->owner == row->owner &&
		    (other->vaddr < row->vaddr || (other->vaddr == row->vaddr && other < row)))
			return;
	}
	for (size_t i = 0; i < s->places->n; i++)
		if (s->places->at[i].vaddr == row->vaddr)
			return;
	if (s->places->n < PLACES_MOST) {
		struct sym_source_place *p = vec_add(s->places);

		p->vaddr = row->vaddr;
		memcpy(p->function, row->name, sizeof(p->function));
	}
}

/* Rows without an owner are no function's: code that the linker dropped, or assembler. */
static void end_lines_unit(struct dwarf_walk *walk, void *context)
{
	struct line_search *s = context;

	for (size_t i = 0; i < s->rows.n; i++) {
		const struct line_row *row = &s->rows.at[i];

		if ((s->within && !row->within) || !row->owner)
			continue;
		if (!s->places)
			*vec_add(s->numbers) = (struct sym_source_number){ row->line, row->vaddr };
		else if (row->line == s->line && dwarf_walk_spend(walk, s->rows.n))
			add_place(s, row);
		else if (row->line > s->line && (!s->next || row->line < s->next))
			s->next = row->line;
	}
}

/* 0, or -errno and *err. What was found before a fault is the caller's to free. */
static int search_lines(struct sym_source_info *source, struct line_search *s, struct err *err)
{
	const struct dwarf_visitor visitor = { s, see_owner, begin_lines_unit, end_lines_unit };
	int r = source_walk(source, &visitor, err);

	vec_free(&s->rows);
	if (r == 0 && !s->is_file)
		r = err_set(err, ENOENT, "no code of %s is of a source file %s", source->m->path,
			    s->file);
	return r;
}

/* By address. */
static int place_order(const void *a, const void *b)
{
	const struct sym_source_place *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* Gives one place for each function or inlined copy, by address. Without code at the line the
 * sentence names the next one that has some. */
int sym_source_line(struct sym_source_info *s, const char *file, uint32_t line, const char *within,
		    sym_source_places *out, struct err *err)
{
	struct line_search l = { .file = file, .line = line, .within = within, .places = out };
	int r;

	*out = (sym_source_places){ 0 };
	r = search_lines(s, &l, err);
	if (r == 0 && !out->n && l.next)
		r = err_set(err, ENOENT, "there is no code at %s:%u; the next line that has some is %u",
			    file, line, l.next);
	else if (r == 0 && !out->n)
		r = err_set(err, ENOENT, "there is no code at %s:%u, nor behind it", file, line);
	if (r == 0)
		qsort(out->at, out->n, sizeof(out->at[0]), place_order);
	else
		vec_free(out);
	free(l.path);
	return r;
}

/* By line, then by address: the first of each line is kept. */
static int number_order(const void *a, const void *b)
{
	const struct sym_source_number *x = a, *y = b;

	return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
				  : (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* Each line once, with its lowest address. *path is the caller's, if 0 is returned. */
int sym_source_lines(struct sym_source_info *s, const char *file, const char *within,
		     sym_source_numbers *out, char **path, struct err *err)
{
	struct line_search l = { .file = file, .within = within, .numbers = out };
	size_t kept = 0;
	int r;

	*out = (sym_source_numbers){ 0 };
	r = search_lines(s, &l, err);
	if (r < 0) {
		vec_free(out);
		free(l.path);
		return r;
	}
	if (out->n)
		qsort(out->at, out->n, sizeof(out->at[0]), number_order);
	for (size_t i = 0; i < out->n; i++)
		if (!kept || out->at[kept - 1].line != out->at[i].line)
			out->at[kept++] = out->at[i];
	out->n = kept;
	*path = l.path;
	return 0;
}
