/* SPDX-License-Identifier: MIT */
/* Merges the functions that the sources found into one list: one for each address, with the best of
 * its names, a size, and the unwind table's view of its entry. module.c calls it when a file is
 * opened. Hostile files are bounded: in the bytes of names, and in the work on unwind rules; beyond
 * that, names are missing and entries count as unusual. Any thread: a module belongs to one while
 * it is opened. */
#include "sym/functions.h"

#include "base/escape.h"
#include "sym/called.h"

static bool is_underscored(const struct found *f)
{
	return f->name[0] == '_';
}

/* True if a programmer would rather call the alias a by its name: exported, without leading
 * underscores, short. */
static bool better_name(const struct found *a, const struct found *b)
{
	if (!a->name || !b->name)
		return a->name != NULL;
	if (a->local != b->local)
		return b->local;
	if (is_underscored(a) != is_underscored(b))
		return is_underscored(b);
	if (a->name_n != b->name_n)
		return a->name_n < b->name_n;
	return memcmp(a->name, b->name, a->name_n) < 0;
}

/* At one address the best source comes first: merge_one() takes the size from there. */
static int by_vaddr_then_source(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return (int)x->source - (int)y->source;
}

/* With a NUL behind it: names are offsets of these strings. */
static void add_string(struct sym_module *m, const char *s, size_t n)
{
	vec_reserve(&m->strings, m->strings.n + n + 1);
	memcpy(m->strings.at + m->strings.n, s, n);
	m->strings.at[m->strings.n + n] = 0;
	m->strings.n += n + 1;
}

/* Escapes a name: from here on it is part of a line, and files of the tree, filters and reports
 * have it as it is shown. */
static void add_escaped(struct sym_module *m, const struct found *f)
{
	char *name = mem_strndup(f->name, f->name_n), *line = escape_line(name);

	add_string(m, line, strlen(line));
	free(line);
	free(name);
}

/* Linkers let names share their ends, but all of them together are not much longer than the files
 * that hold them. Names beyond that are dropped. */
#define NAMES_TIMES 4

static uint32_t add_name(struct sym_module *m, const struct found *f, uint64_t most)
{
	size_t at = m->strings.n;

	if (!f->name || at + f->name_n > most ||
	    at + ESCAPED_BYTE * (uint64_t)f->name_n >= UINT32_MAX)
		return 0;
	if (escape_line_run(f->name, f->name_n) == f->name_n)
		add_string(m, f->name, f->name_n);
	else
		add_escaped(m, f);
	return (uint32_t)at;
}

/* True for "f.cold", "f.cold.1", "f.isra.0.cold". */
static bool cold_name(const struct found *f)
{
	const char *at = f->name ? memmem(f->name, f->name_n, ".cold", 5) : NULL;
	size_t rest = at ? f->name_n - (size_t)(at - f->name) - 5 : 0;

	return at && (rest == 0 || at[5] == '.');
}

/* Merges the n things found at one address. names: bytes that all names may take. */
static struct sym_function merge_one(struct sym_module *m, const struct found *found, size_t n,
				     uint64_t names)
{
	struct sym_function f = { .vaddr = found->vaddr, .source = found->source };
	const struct found *name = found;

	for (size_t i = 0; i < n; i++) {
		/* A PLT entry may have symbols, too (a program's own address of an imported
		 * function): it stays an entry. */
		if (found[i].source == SYM_PLT) {
			f.plt = true;
			f.source = SYM_PLT;
			f.size = found[i].size;
			name = &found[i];
			break;
		}
		if (!f.size)
			f.size = found[i].size;
		if (better_name(&found[i], name))
			name = &found[i];
		f.ifunc |= found[i].ifunc;
	}
	f.name = add_name(m, name, names);
	f.cold = cold_name(name);
	return f;
}

/* A function without a size ends where its unwind range, the next function or its section ends. */
static void bound_size(const struct elf_view *v, const struct eh_fde *fde, struct sym_function *f,
		       uint64_t next)
{
	const struct elf_area *area = elf_code_area(v, f->vaddr);
	uint64_t end = area->vaddr + area->size;

	if (!f->size) {
		end = next < end ? next : end;
		if (fde && fde->start + fde->size < end)
			end = fde->start + fde->size;
	}
	if (!f->size || f->size > end - f->vaddr)
		f->size = end - f->vaddr;
	/* Found before the one that follows it. */
	if (f->source == SYM_CALLED && f->size > next - f->vaddr)
		f->size = next - f->vaddr;
}

/* For each function inside of an unwind range all rules before it are read anew. Limit of that
 * work, in file sizes. */
#define WORK_TIMES 4

/* When the work is used up the entry is not known, and counts as unusual. */
static bool is_unusual(const struct elf_view *v, const struct eh_frame *frame,
		       const struct eh_fde *fde, uint64_t vaddr, uint64_t *work)
{
	uint64_t bytes = vaddr == fde->start ? 0 : fde->program_n;

	if (bytes > *work)
		return true;
	*work -= bytes;
	return eh_frame_unusual(v, frame, fde, vaddr);
}

/* Hand-written code may have several unwind ranges for one function, where the rules change
 * (setcontext, clone of glibc): a range that no other source knows is a part of the symbol around
 * it. */
static bool is_inside(const struct sym_function *f, const struct eh_fde *fde,
		      const struct sym_function *symbol)
{
	return f->source == SYM_EH_FRAME && symbol->source <= SYM_DYNSYM && fde &&
	       fde->start == f->vaddr && fde->start + fde->size <= symbol->vaddr + symbol->size;
}

/* Also drops signal frames under any name: control returns into them, nobody calls them. */
static void apply_unwind(struct sym_module *m, const struct elf_view *v,
			 const struct eh_frame *frame)
{
	size_t kept = 0, n = m->functions.n, at = 0;
	uint64_t work = WORK_TIMES * (uint64_t)v->n;

	for (size_t i = 0; i < n; i++) {
		struct sym_function f = m->functions.at[i];
		const struct eh_fde *fde = eh_frame_walk(frame, f.vaddr, &at);

		if (fde &&
		    (fde->signal || (kept && is_inside(&f, fde, &m->functions.at[kept - 1]))))
			continue;
		f.cfa_unusual = fde && !f.plt && is_unusual(v, frame, fde, f.vaddr, &work);
		bound_size(v, fde, &f, i + 1 < n ? m->functions.at[i + 1].vaddr : UINT64_MAX);
		m->functions.at[kept++] = f;
	}
	m->functions.n = kept;
}

/* Names PLT entries of resolvers (IRELATIVE) after the function that the resolver is. */
static void name_resolved(struct sym_module *m, const struct found_list *found)
{
	for (size_t i = 0; i < found->resolvers.n; i++) {
		const struct found_resolver *r = &found->resolvers.at[i];
		const struct sym_function *to = sym_at(m, r->resolver);
		struct sym_function *plt = (struct sym_function *)sym_at(m, r->plt);

		if (plt && !plt->name && to)
			plt->name = to->name;
	}
}

/* qsort()'s order for functions, on which sym_at() and every other look-up relies. */
static int by_vaddr(const void *a, const void *b)
{
	const struct sym_function *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Merges what was found in the gaps between the functions so far. */
static void add_found(struct sym_module *m, const struct found_list *found, uint64_t names)
{
	for (size_t i = 0; i < found->list.n; i++)
		*vec_add(&m->functions) = merge_one(m, &found->list.at[i], 1, names);
	if (found->list.n)
		qsort(m->functions.at, m->functions.n, sizeof(*m->functions.at), by_vaddr);
}

/* found's list is merged by now, so that it is used again. */
static void add_from_gaps(struct sym_module *m, const struct elf_view *v,
			  const struct eh_frame *frame, struct found_list *found, uint64_t names)
{
	stack_switches_find(m, v, frame, found);
	add_found(m, found, names);
	called_find(m, v, frame, found);
	add_found(m, found, names);
}

void functions_merge(struct sym_module *m, const struct elf_view *v, const struct eh_frame *frame,
		     struct found_list *found)
{
	size_t n = found->list.n;
	uint64_t names = NAMES_TIMES * ((uint64_t)v->n + found->debug_bytes);

	if (!n)
		return;
	qsort(found->list.at, n, sizeof(*found->list.at), by_vaddr_then_source);
	vec_reserve(&m->functions, n);
	vec_reserve(&m->strings, 1 + 24 * n);
	for (size_t i = 0, same; i < n; i += same) {
		for (same = 1;
		     i + same < n && found->list.at[i + same].vaddr == found->list.at[i].vaddr;)
			same++;
		*vec_add(&m->functions) = merge_one(m, &found->list.at[i], same, names);
	}
	if (m->language != SYM_LANG_GO)
		add_from_gaps(m, v, frame, found, names);
	apply_unwind(m, v, frame);
	name_resolved(m, found);
}
