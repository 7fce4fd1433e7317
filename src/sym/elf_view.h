/* SPDX-License-Identifier: MIT */
/* The tables of an ELF file, checked once against its size, so that the readers above (symbols,
 * unwind tables, PLT, Go) never meet an offset that leaves the file. Private to src/sym. */
#pragma once
#include "base/cursor.h"
#include "sym/module.h"

struct elf_section {
	const char *name;      /* never NULL */
	uint32_t type, link;
	uint64_t flags, vaddr, size, entsize;
	const uint8_t *bytes;  /* NULL: not in the file (NOBITS, or it overruns the file) */
};

/* A part of memory that the file fills: a section, or a segment when there are no sections. */
struct elf_area { uint64_t vaddr, size; const uint8_t *bytes; };

struct elf_symtab {
	const uint8_t *symbols;
	size_t n;
	const char *strings;   /* ends with NUL, or n_strings is 0 */
	size_t n_strings;
};

struct elf_dynamic { /* values of PT_DYNAMIC; 0 = absent */
	uint64_t symtab, strtab, strsz, hash, gnu_hash;
	uint64_t rela, relasz, jmprel, pltrelsz, relr, relrsz;
	uint64_t init, fini, init_array, init_arraysz, fini_array, fini_arraysz;
	uint64_t preinit_array, preinit_arraysz;
};

struct elf_view {
	const uint8_t *bytes;
	size_t n;
	Elf64_Ehdr header;
	VEC(Elf64_Phdr) phdrs;
	VEC(struct elf_section) sections; /* empty: the file has none, or they are of no use */
	VEC(struct elf_area) code, data;  /* allocated contents, executable and not */
	struct elf_dynamic dynamic;
	VEC(Elf64_Rela) relocs;           /* of all dynamic relocation tables, RELR unpacked */
};

/* Reads header and sections, and nothing of the memory image: enough for a separate debug file. The
 * bytes must outlive the view. Returns 0, or -ENOEXEC and *err; elf_view_free() also after an
 * error. */
int elf_view_tables(struct elf_view *v, const uint8_t *bytes, size_t n, const char *path,
		    struct err *err);
/* elf_view_tables(), and program headers. */
int elf_view_segments(struct elf_view *v, const uint8_t *bytes, size_t n, const char *path,
		      struct err *err);
/* elf_view_segments(), and areas, dynamic section and relocations of a program or library. */
int elf_view_image(struct elf_view *v, const uint8_t *bytes, size_t n, const char *path,
		   struct err *err);
void elf_view_free(struct elf_view *v);

/* Return the first section of that name, the first segment of that type; NULL: there is none. Valid
 * as long as the view. */
const struct elf_section *elf_find_section(const struct elf_view *v, const char *name);
const Elf64_Phdr *elf_find_phdr(const struct elf_view *v, uint32_t type);
/* Returns the bytes from vaddr to the end of its segment's file part; empty when vaddr is
 * nowhere. */
struct cursor elf_from(const struct elf_view *v, uint64_t vaddr);
/* Returns a cursor over n bytes inside of the file; empty when at is NULL. */
static inline struct cursor elf_cursor(const struct elf_view *v, const uint8_t *at, size_t n)
{
	return at ? cursor_of(at, n) : cursor_of(v->bytes, 0);
}
/* Returns n bytes at vaddr, or NULL. */
const uint8_t *elf_at(const struct elf_view *v, uint64_t vaddr, size_t n);
/* True if vaddr lies in code that the file fills. */
bool elf_is_code(const struct elf_view *v, uint64_t vaddr);
/* True if vaddr lies in a segment of code, memory that the file does not fill included. */
bool elf_is_code_memory(const struct elf_view *v, uint64_t vaddr);
/* Returns the code area around vaddr, or NULL. */
const struct elf_area *elf_code_area(const struct elf_view *v, uint64_t vaddr);

/* For elf_view.c and elf_dynamic.c: size bytes of the file at offset, or NULL; a string table cut
 * after its last NUL; the symbol table of a section type; PT_DYNAMIC and relocations. */
const uint8_t *elf_file_part(const struct elf_view *v, uint64_t offset, uint64_t size);
struct elf_symtab elf_strings(const uint8_t *bytes, uint64_t n);
struct elf_symtab elf_symtab_of(const struct elf_view *v, uint32_t section_type);
void elf_dynamic_read(struct elf_view *v);

struct elf_symtab elf_symtab(const struct elf_view *v); /* .symtab; n = 0: none */
struct elf_symtab elf_dynsym(const struct elf_view *v); /* .dynsym, by section or PT_DYNAMIC */
/* Return symbol i < t->n; its name (NULL: outside of the string table). */
Elf64_Sym elf_symbol(const struct elf_symtab *t, size_t i);
const char *elf_string(const struct elf_symtab *t, uint64_t offset);

/* Returns the descriptor of the GNU note of this type (in PT_NOTE or SHT_NOTE); NULL: there is
 * none. */
const uint8_t *elf_gnu_note(const struct elf_view *v, uint32_t type, size_t *n);
/* elf_gnu_note() of notes that were found otherwise; they may end anywhere. */
const uint8_t *elf_gnu_note_in(struct cursor notes, uint32_t type, size_t *n);
/* Copies the build-id, cut to `most` bytes (the linker's own has 20), and returns its length; 0:
 * there is none. */
uint8_t elf_build_id(const struct elf_view *v, uint8_t *id, uint8_t most);
