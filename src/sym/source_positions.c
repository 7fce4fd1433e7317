/* SPDX-License-Identifier: MIT */
/* Finds the source lines of instructions, in one walk over the units of the debug information
 * (dwarf_walk.h), on the caller's thread. A unit's line table is read if the unit has code around
 * one of the instructions; a table larger than makes sense is left out. image/thread_stacks.c
 * asks. */
#include <stdlib.h>

#include "sym/source_internal.h"

struct position_search {
	struct sym_source_position **at; /* by address */
	size_t n;
};

static int by_vaddr(const void *a, const void *b)
{
	const struct sym_source_position *x = *(struct sym_source_position *const *)a;
	const struct sym_source_position *y = *(struct sym_source_position *const *)b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* Index of the first instruction at `from` or behind. */
static size_t first_from(const struct position_search *s, Dwarf_Addr from)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (s->at[mid]->vaddr < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Whether an instruction that has no line yet is in one of the unit's ranges. */
static bool has_wanted(const struct position_search *s, struct dwarf_walk *walk, Dwarf_Die *unit)
{
	Dwarf_Addr base, from, to;
	ptrdiff_t at = 0;

	while (dwarf_walk_spend(walk, 1) && (at = dwarf_ranges(unit, at, &base, &from, &to)) > 0)
		for (size_t i = first_from(s, from);
		     i < s->n && s->at[i]->vaddr < to && dwarf_walk_spend(walk, 1); i++)
			if (!s->at[i]->line)
				return true;
	return false;
}

/* Gives the row's line to the instructions from it up to the next one. */
static void take_row(struct position_search *s, Dwarf_Die *unit, Dwarf_Line *row, Dwarf_Line *next)
{
	const char *path = dwarf_linesrc(row, NULL, NULL);
	Dwarf_Addr from, to;
	bool ends = false;
	int line = 0;

	if (!path || dwarf_lineendsequence(row, &ends) || ends || dwarf_lineno(row, &line) ||
	    line <= 0 || dwarf_lineaddr(row, &from) || dwarf_lineaddr(next, &to))
		return;
	for (size_t i = first_from(s, from); i < s->n && s->at[i]->vaddr < to; i++) {
		if (s->at[i]->line)
			continue;
		s->at[i]->line = (uint32_t)line;
		s->at[i]->path = source_whole_path(unit, path);
	}
}

static void begin_unit(struct dwarf_walk *walk, Dwarf_Die *unit, Dwarf_Die *lines_of,
		       void *context)
{
	struct position_search *s = context;
	Dwarf_Lines *lines;
	size_t n;

	if (!has_wanted(s, walk, lines_of) || !dwarf_walk_reads_lines(walk, lines_of) ||
	    dwarf_getsrclines(lines_of, &lines, &n))
		return;
	for (size_t i = 0; i + 1 < n; i++)
		take_row(s, lines_of, dwarf_onesrcline(lines, i), dwarf_onesrcline(lines, i + 1));
}

int sym_source_positions_find(struct sym_source_info *s, struct sym_source_position *at, size_t n,
			      struct err *err)
{
	struct position_search search = { .at = mem_zalloc((n + 1) * sizeof(*search.at)), .n = n };
	const struct dwarf_visitor visitor = { .context = &search, .unit_begins = begin_unit };
	int r;

	for (size_t i = 0; i < n; i++)
		search.at[i] = &at[i];
	qsort(search.at, n, sizeof(*search.at), by_vaddr);
	r = source_walk(s, &visitor, err);
	free(search.at);
	return r;
}
