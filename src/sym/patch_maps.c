/* SPDX-License-Identifier: MIT */
/* Reads compilers' tables of patchable places: __patchable_function_entries, __mcount_loc and
 * xray_instr_map. module.c calls it. In a position-independent file their words may be 0 until
 * relocated, so the relocations are applied to a copy. Addresses that are no code are dropped. Any
 * thread: a module belongs to one while it is opened. */
#include "sym/patch_maps.h"

#include "arch/elf.h"

/* LLVM's XRaySledEntry: address, function, kind, always, version, and padding. Sleds at entries are
 * of kinds 0 and 3. */
#define XRAY_ENTRY_SIZE 32
/* With one name: linkers leave one, and each takes a look at all relocations. */
#define SECTIONS_MOST 64
enum { XRAY_ENTER = 0, XRAY_LOG_ARGS_ENTER = 3 };

/* Returns a copy of the section's bytes as the loader leaves them (at bias 0); free() it. */
static uint8_t *copy_relocated(const struct elf_view *v, const struct elf_section *s)
{
	uint8_t *copy = mem_zalloc(s->size + 1);

	memcpy(copy, s->bytes, s->size);
	for (size_t i = 0; i < v->relocs.n; i++) {
		const Elf64_Rela *r = &v->relocs.at[i];
		uint64_t into = r->r_offset - s->vaddr;

		if (elf_reloc(r) == ELF_RELOC_RELATIVE && into < s->size &&
		    s->size - into >= 8)
			memcpy(copy + into, &r->r_addend, 8);
	}
	return copy;
}

typedef VEC(uint64_t) addresses;

/* A section of plain addresses. */
static void read_words(const struct elf_view *v, const struct elf_section *s, addresses *out)
{
	uint8_t *bytes = copy_relocated(v, s);
	struct cursor c = cursor_of(bytes, s->size);

	while (cursor_left(&c) >= 8) {
		uint64_t word = cursor_u64(&c);

		if (elf_is_code(v, word))
			*vec_add(out) = word;
	}
	free(bytes);
}

/* Since version 2 the addresses are relative to the words that hold them. */
static void read_sleds(const struct elf_view *v, const struct elf_section *s, addresses *out)
{
	uint8_t *bytes = copy_relocated(v, s);

	for (uint64_t at = 0; at + XRAY_ENTRY_SIZE <= s->size; at += XRAY_ENTRY_SIZE) {
		struct cursor c = cursor_of(bytes + at, XRAY_ENTRY_SIZE);
		uint64_t address = cursor_u64(&c);
		uint8_t kind, version;

		cursor_u64(&c); /* its function */
		kind = cursor_u8(&c);
		cursor_u8(&c);  /* always instrument */
		version = cursor_u8(&c);
		if (version >= 2)
			address += s->vaddr + at;
		if ((kind == XRAY_ENTER || kind == XRAY_LOG_ARGS_ENTER) && elf_is_code(v, address))
			*vec_add(out) = address;
	}
	free(bytes);
}

/* qsort()'s order. */
static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sections that compilers write, by which reader, and the module's list that they fill. */
struct patch_map {
	const char *section;
	void (*read)(const struct elf_view *v, const struct elf_section *s, addresses *out);
	size_t field; /* in struct sym_module */
};
static const struct patch_map maps[] = {
	{ "__patchable_function_entries", read_words, offsetof(struct sym_module, patchable) },
	{ "__mcount_loc", read_words, offsetof(struct sym_module, mcount_loc) },
	{ "xray_instr_map", read_sleds, offsetof(struct sym_module, xray_sleds) },
};

void patch_maps_read(struct sym_module *m, const struct elf_view *v)
{
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		addresses *out = (addresses *)((char *)m + maps[i].field);
		unsigned n = 0;

		for (size_t k = 0; k < v->sections.n && n < SECTIONS_MOST; k++)
			if (!strcmp(v->sections.at[k].name, maps[i].section) &&
			    v->sections.at[k].bytes) {
				maps[i].read(v, &v->sections.at[k], out);
				n++;
			}
		if (out->n)
			qsort(out->at, out->n, sizeof(*out->at), by_value);
	}
	m->xray = elf_find_section(v, "xray_instr_map") != NULL;
}
