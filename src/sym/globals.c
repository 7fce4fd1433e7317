/* SPDX-License-Identifier: MIT */
/* Variables from symbol tables. image/modules.c asks for each module whose functions' arguments
 * are recorded, for names beside pointers that lead to variables; instance/variables.c asks when
 * somebody reads the tree's kallsyms. Any thread, no state. Malformed symbols are passed over. */
#include "sym/globals.h"

#include <stdlib.h>
#include <string.h>

#include "sym/debug_file.h"
#include "sym/elf_file.h"
#include "sym/elf_view.h"

#define MAX_NAME 4096
#define MAX_DASHES 16
/* Linkers let names share their ends, but all of them together are not much longer than the file.
 * Variables with names beyond that are passed over. */
#define NAMES_TIMES 4

/* A symbol, before it is known whether it is the one of its address. dashes: underscores before the
 * name, as far as they are counted. */
struct named_global { struct sym_global is; const char *name; unsigned dashes; bool local; };
typedef VEC(struct named_global) global_list;

/* A thread's variables have no address in the file. */
static bool is_variable(const Elf64_Sym *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_shndx != SHN_UNDEF &&
	       s->st_shndx != SHN_ABS && s->st_size && s->st_value;
}

static unsigned dashes_before(const char *name)
{
	unsigned n = 0;

	while (n < MAX_DASHES && name[n] == '_')
		n++;
	return n;
}

/* As nm has it. A variable in code has the letter of constants, because `t` is a function to those
 * who read kallsyms. A debug file numbers its sections as its program does; v is the program's. */
static char letter_of(const struct elf_view *v, const Elf64_Sym *s)
{
	const struct elf_section *in =
		s->st_shndx < v->sections.n ? &v->sections.at[s->st_shndx] : NULL;
	unsigned bind = ELF64_ST_BIND(s->st_info);
	char letter;

	if (bind == STB_WEAK || bind == STB_GNU_UNIQUE)
		return bind == STB_WEAK ? 'V' : 'u';
	if (!in || s->st_value < in->vaddr || s->st_value - in->vaddr >= in->size)
		return '?';
	letter = !(in->flags & SHF_WRITE) ? 'r' : in->type == SHT_NOBITS ? 'b' : 'd';
	return bind == STB_LOCAL ? letter : (char)(letter - 'a' + 'A');
}

static void add_symbols(const struct elf_view *v, const struct elf_symtab *t, global_list *out)
{
	for (size_t i = 1; i < t->n; i++) {
		const Elf64_Sym s = elf_symbol(t, i);
		const char *name = is_variable(&s) ? elf_string(t, s.st_name) : NULL;

		if (!name || !*name)
			continue;
		*vec_add(out) = (struct named_global){
			.is = { .vaddr = s.st_value, .size = s.st_size,
				.letter = letter_of(v, &s) },
			.name = name,
			.dashes = dashes_before(name),
			.local = ELF64_ST_BIND(s.st_info) == STB_LOCAL,
		};
	}
}

/* The first of several names of one variable counts: one that others may use, then the one with
 * fewer underscores before it (environ, __environ). */
static int compare_global(const void *a, const void *b)
{
	const struct named_global *x = a, *y = b;

	if (x->is.vaddr != y->is.vaddr)
		return x->is.vaddr < y->is.vaddr ? -1 : 1;
	if (x->local != y->local)
		return x->local ? 1 : -1;
	if (x->dashes != y->dashes)
		return x->dashes < y->dashes ? -1 : 1;
	/* All symbols of a file may have one name, as long as the file. */
	return x->name == y->name ? 0 : strncmp(x->name, y->name, MAX_NAME);
}

/* Bytes of the name without what is no part of it: the version (stdout@GLIBC_2.2.5), and, of a name
 * as written, the number by which gcc tells static variables of functions apart (numbers.0). */
static size_t name_bytes(const char *name, enum sym_spelling spelling)
{
	size_t n = strnlen(name, MAX_NAME), digits;
	const char *version = memchr(name, '@', n);

	n = version && version > name ? (size_t)(version - name) : n;
	if (spelling == SYM_AS_LINKED)
		return n;
	for (digits = 0; digits < n && name[n - 1 - digits] >= '0' && name[n - 1 - digits] <= '9';)
		digits++;
	if (digits && digits + 1 < n && name[n - 1 - digits] == '.')
		n -= digits + 1;
	return n;
}

static uint32_t keep_name(struct sym_globals *to, const char *name, enum sym_spelling spelling)
{
	uint32_t at = (uint32_t)to->strings.n;
	size_t n = name_bytes(name, spelling);

	for (size_t i = 0; i < n; i++)
		*vec_add(&to->strings) = name[i];
	*vec_add(&to->strings) = '\0';
	return at;
}

/* bytes: of the file that the names are in. */
static void keep_globals(struct sym_globals *to, global_list *from, uint64_t bytes,
			 enum sym_spelling spelling)
{
	uint64_t most = NAMES_TIMES * bytes;

	if (most > UINT32_MAX - MAX_NAME - 1)
		most = UINT32_MAX - MAX_NAME - 1;
	if (from->n)
		qsort(from->at, from->n, sizeof(from->at[0]), compare_global);
	for (size_t i = 0; i < from->n; i++) {
		struct named_global *g = &from->at[i];

		if (to->at.n && to->at.at[to->at.n - 1].vaddr == g->is.vaddr)
			continue;
		if (to->strings.n > most)
			break;
		g->is.name = keep_name(to, g->name, spelling);
		*vec_add(&to->at) = g->is;
	}
}

/* A separate debug file has the addresses of its program. */
static void add_of_debug_file(const struct elf_view *v, const char *path, const char *root,
			      enum sym_spelling spelling, struct sym_globals *out)
{
	struct debug_file d;
	struct elf_view of = { 0 };
	struct elf_symtab t;
	struct err ignored;
	global_list list = { 0 };

	if (!debug_file_open(v, path, root, &d))
		return;
	if (elf_view_tables(&of, d.file.bytes, d.file.n, path, &ignored) == 0) {
		t = elf_symtab(&of);
		add_symbols(v, &t, &list);
		keep_globals(out, &list, d.file.n, spelling);
	}
	vec_free(&list);
	elf_view_free(&of);
	debug_file_close(&d);
}

static void find_in_view(const struct elf_view *v, const char *path, const char *root,
			 enum sym_spelling spelling, struct sym_globals *out)
{
	struct elf_symtab t = elf_symtab(v);
	global_list list = { 0 };

	if (!t.n)
		add_of_debug_file(v, path, root, spelling, out);
	if (!t.n && !out->at.n)
		t = elf_dynsym(v);
	add_symbols(v, &t, &list);
	keep_globals(out, &list, v->n, spelling);
	vec_free(&list);
}

void sym_globals_find(int fd, const char *path, const char *root, enum sym_spelling spelling,
		      struct sym_globals *out)
{
	struct elf_file file;
	struct elf_view v = { 0 };
	struct err ignored;

	*out = (struct sym_globals){ 0 };
	if (elf_file_read(fd, path, ELF_SYMBOLS, &file, &ignored) < 0)
		return;
	if (elf_view_image(&v, file.bytes, file.n, path, &ignored) == 0)
		find_in_view(&v, path, root, spelling, out);
	elf_view_free(&v);
	elf_file_free(&file);
}

void sym_globals_free(struct sym_globals *g)
{
	vec_free(&g->at);
	vec_free(&g->strings);
}
