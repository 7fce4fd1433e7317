/* SPDX-License-Identifier: MIT */
/* Reads USDT markers, systemtap's notes. image/probes.c calls it for each module of a session, on
 * any thread. Malformed notes, and markers that are not in code, are skipped.
 *
 * Notes of type 3 and name "stapsdt" hold three addresses and three strings. The addresses are the
 * linker's; prelink moves a program without touching its notes, so each note also has the address
 * of the section .stapsdt.base at link time, and everything has moved by as much as that section
 * has. */
#include "sym/usdt.h"

#include <string.h>

#include "sym/elf_view.h"

#define NT_STAPSDT 3

struct notes { const struct elf_view *v; uint64_t base; usdt_markers *out; };

/* Adds one marker, moved as prelink moved the file. Its strings stay in the file's bytes. */
static void read_marker(const struct notes *n, const uint8_t *bytes, size_t size)
{
	struct cursor c = cursor_of(bytes, size);
	struct usdt_marker m = { .vaddr = cursor_u64(&c) };
	uint64_t linked = cursor_u64(&c), moved = n->base ? n->base - linked : 0;

	m.semaphore = cursor_u64(&c);
	m.provider = cursor_str(&c);
	m.name = cursor_str(&c);
	m.arguments = cursor_str(&c);
	m.vaddr += moved;
	if (m.semaphore)
		m.semaphore += moved;
	if (!c.bad && *m.provider && *m.name && elf_is_code(n->v, m.vaddr))
		*vec_add(n->out) = m;
}

/* Names and descriptors of notes are padded to 4 bytes. */
static size_t padded_size(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

/* Reads all markers of a section. */
static void read_notes(const struct notes *n, const uint8_t *bytes, size_t size)
{
	struct cursor c = cursor_of(bytes, size);

	while (cursor_left(&c) >= 12 && !c.bad) {
		uint32_t name_size = cursor_u32(&c), size_here = cursor_u32(&c),
			 type = cursor_u32(&c);
		const char *name = cursor_bytes(&c, padded_size(name_size));
		const uint8_t *here = cursor_bytes(&c, size_here);

		if (cursor_left(&c))
			cursor_bytes(&c, padded_size(size_here) - size_here);
		if (name && here && type == NT_STAPSDT && name_size == 8 &&
		    memcmp(name, "stapsdt", 8) == 0)
			read_marker(n, here, size_here);
	}
}

/* Most files have none, and need not be read further. */
static bool has_notes(const uint8_t *bytes, size_t n)
{
	struct elf_view v;
	struct err ignored;
	bool has = elf_view_tables(&v, bytes, n, "", &ignored) == 0 &&
		   elf_find_section(&v, ".note.stapsdt");

	elf_view_free(&v);
	return has;
}

void sym_usdt_bytes(const uint8_t *bytes, size_t n_bytes, usdt_markers *out)
{
	struct notes n = { .out = out };
	const struct elf_section *base;
	struct elf_view v;
	struct err ignored;

	if (!has_notes(bytes, n_bytes))
		return;
	if (elf_view_image(&v, bytes, n_bytes, "", &ignored) == 0) {
		base = elf_find_section(&v, ".stapsdt.base");
		n.v = &v;
		n.base = base ? base->vaddr : 0;
		for (size_t i = 0; i < v.sections.n; i++) {
			const struct elf_section *s = &v.sections.at[i];

			if (s->type == SHT_NOTE && s->bytes &&
			    strcmp(s->name, ".note.stapsdt") == 0)
				read_notes(&n, s->bytes, s->size);
		}
	}
	elf_view_free(&v);
}

void sym_usdt(const struct sym_module *m, usdt_markers *out)
{
	sym_usdt_bytes(m->bytes, m->n_bytes, out);
}

/* Finds an object or function by its name, n characters. Thread-local ones have no address. */
static bool find_in(const struct elf_symtab *t, const char *name, size_t n, uint64_t *vaddr)
{
	for (size_t i = 0; i < t->n; i++) {
		Elf64_Sym s = elf_symbol(t, i);
		const char *at = s.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s.st_info) != STT_TLS
					 ? elf_string(t, s.st_name)
					 : NULL;

		if (!at || strncmp(at, name, n) != 0 || at[n])
			continue;
		*vaddr = s.st_value;
		return true;
	}
	return false;
}

bool sym_object(const struct sym_module *m, const char *name, size_t n, uint64_t *vaddr)
{
	struct elf_symtab all, exported;
	struct elf_view v;
	struct err ignored;
	bool found = false;

	if (elf_view_image(&v, m->bytes, m->n_bytes, m->path, &ignored) == 0) {
		all = elf_symtab(&v);
		exported = elf_dynsym(&v);
		found = find_in(&all, name, n, vaddr) || find_in(&exported, name, n, vaddr);
	}
	elf_view_free(&v);
	return found;
}
