/* SPDX-License-Identifier: MIT */
/* Where each function of a module stands in the source, by one walk. Called when a trace is
 * asked by files of the source (src/excerpt), on one thread. Work and answers are bounded as in
 * source.c. */
#include <dwarf.h>
#include <stdlib.h>

#include "sym/source_internal.h"

#define DECLARED_MOST (4u << 20)

struct declared_search {
	sym_source_declarations *out;
	Dwarf_Die unit;
};

static void begin_unit(struct dwarf_walk *walk, Dwarf_Die *unit, Dwarf_Die *lines_of,
		       void *context)
{
	struct declared_search *s = context;

	(void)walk;
	(void)lines_of;
	s->unit = *unit;
}

static void see_function(struct dwarf_walk *walk, const struct dwarf_seen *seen, void *context)
{
	struct declared_search *s = context;
	const char *path;
	Dwarf_Addr entry;
	int line = 0;

	if (seen->tag != DW_TAG_subprogram || !dwarf_walk_has_code(seen->die) ||
	    !dwarf_walk_spend(walk, 8 * dwarf_walk_attributes(walk, seen->die)) ||
	    s->out->n >= DECLARED_MOST || !dwarf_walk_entry(seen->die, &entry))
		return;
	path = dwarf_decl_file(seen->die);
	if (!path || dwarf_decl_line(seen->die, &line) || line <= 0)
		return;
	*vec_add(s->out) = (struct sym_source_declaration){
		.vaddr = entry, .line = (uint32_t)line, .path = source_whole_path(&s->unit, path) };
}

static int by_vaddr(const void *a, const void *b)
{
	const struct sym_source_declaration *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

int sym_source_declared(struct sym_source_info *s, sym_source_declarations *out, struct err *err)
{
	struct declared_search d = { .out = out };
	const struct dwarf_visitor visitor = { &d, see_function, begin_unit, NULL };
	int r;

	*out = (sym_source_declarations){ 0 };
	r = source_walk(s, &visitor, err);
	if (r < 0)
		sym_source_declarations_free(out);
	else if (out->n)
		qsort(out->at, out->n, sizeof(*out->at), by_vaddr);
	return r;
}

void sym_source_declarations_free(sym_source_declarations *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->at[i].path);
	vec_free(d);
}
