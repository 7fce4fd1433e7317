/* SPDX-License-Identifier: MIT */
/* Finds a structure by its name, in one walk over the debug information (dwarf_walk.h), on the
 * caller's thread; what its members are is source_expression.c's. Of C++ classes with one name in
 * several namespaces the first is taken, unless the name has its namespace. A structure that the
 * debug information does not have is -ENOENT and a sentence. */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "sym/dwarf_type.h"
#include "sym/source_internal.h"

struct structure_search {
	const char *name, *scope; /* scope: n characters; none: any */
	size_t n;
	Dwarf_Die found;          /* addr NULL: not yet */
	struct nearest near;
};

/* Whether the structure's members are told here, not only that there is one. */
static bool is_whole(Dwarf_Die *die)
{
	return dwarf_type_is_class(die) && !dwarf_hasattr(die, DW_AT_declaration);
}

static bool is_in_scope(const struct structure_search *s, Dwarf_Die *parent)
{
	const char *is = s->n ? dwarf_diename(parent) : NULL;

	return !s->n || (is && strlen(is) == s->n && !memcmp(is, s->scope, s->n));
}

/* dwarf_visitor. A typedef of a nameless structure is its name. */
static void see_structure(struct dwarf_walk *walk, const struct dwarf_seen *seen, void *context)
{
	struct structure_search *s = context;
	Dwarf_Die type = *seen->die;
	const char *name;

	if (s->found.addr || (seen->tag != DW_TAG_typedef && !is_whole(seen->die)) ||
	    !dwarf_walk_spend(walk, dwarf_walk_attributes(walk, seen->die)))
		return;
	name = dwarf_diename(seen->die);
	if (!name)
		return;
	if (seen->tag == DW_TAG_typedef &&
	    (!dwarf_type_plain(seen->die, &type) || !is_whole(&type)))
		return;
	if (!strcmp(name, s->name) && is_in_scope(s, seen->parent))
		s->found = type;
	else
		nearest_offer(&s->near, name);
}

/* The part of the name behind its last `::`. */
static const char *plain_name(const char *name)
{
	const char *next;

	while ((next = strstr(name, "::")))
		name = next + 2;
	return name;
}

static struct structure_search search_for(const char *name)
{
	struct structure_search s = { .name = plain_name(name) };
	const char *end = s.name > name ? s.name - 2 : name, *from = end;

	while (from > name && from[-1] != ':')
		from--;
	s.scope = from;
	s.n = (size_t)(end - from);
	s.near.word = s.name;
	return s;
}

int sym_structure_find(struct sym_source_info *s, const char *name, struct sym_structure **out,
		       struct err *err)
{
	struct structure_search search = search_for(name);
	const struct dwarf_visitor visitor = { .context = &search, .see = see_structure };
	int r = source_walk(s, &visitor, err);

	if (r < 0 && !search.found.addr)
		return r;
	if (!search.found.addr)
		return err_set(err, ENOENT, "%s has no structure %s%s%s%s", s->m->path, name,
			       search.near.best ? "; did you mean " : "",
			       search.near.best ? search.near.best : "",
			       search.near.best ? "?" : "");
	*out = mem_zalloc(sizeof(**out));
	(*out)->die = search.found;
	return 0;
}

const char *sym_structure_name(struct sym_structure *st)
{
	return dwarf_diename(&st->die);
}

/* dwarf_base_seen */
static void add_base(void *context, const char *name, int32_t at)
{
	struct sym_bases *all = context;

	*vec_add(&all->at) = (struct sym_base){ mem_strdup(name), at };
}

void sym_structure_bases(struct sym_structure *st, struct sym_bases *out)
{
	*out = (struct sym_bases){ 0 };
	dwarf_type_bases(&st->die, add_base, out);
}

void sym_structure_free(struct sym_structure *st)
{
	free(st);
}
