/* SPDX-License-Identifier: MIT */
/* Reads PT_DYNAMIC: the dynamic linker's knowledge of a file, which is all there is without section
 * headers. elf_view.c calls it. Relocations of every kind become one list; symbols are counted by
 * the hash table, since no tag holds their number. Offsets that leave the file end a table early.
 * Any thread. */
#include "arch/elf.h"
#include "sym/elf_view.h"

/* Tags that are read, and where in struct elf_dynamic their value goes. */
struct dynamic_tag { int64_t tag; size_t field; };
#define TAG(tag, field) { tag, offsetof(struct elf_dynamic, field) }
static const struct dynamic_tag dynamic_tags[] = {
	TAG(DT_SYMTAB, symtab),
	TAG(DT_STRTAB, strtab),
	TAG(DT_STRSZ, strsz),
	TAG(DT_HASH, hash),
	TAG(DT_GNU_HASH, gnu_hash),
	TAG(DT_RELA, rela),
	TAG(DT_RELASZ, relasz),
	TAG(DT_JMPREL, jmprel),
	TAG(DT_PLTRELSZ, pltrelsz),
	TAG(DT_RELR, relr),
	TAG(DT_RELRSZ, relrsz),
	TAG(DT_INIT, init),
	TAG(DT_FINI, fini),
	TAG(DT_INIT_ARRAY, init_array),
	TAG(DT_INIT_ARRAYSZ, init_arraysz),
	TAG(DT_FINI_ARRAY, fini_array),
	TAG(DT_FINI_ARRAYSZ, fini_arraysz),
	TAG(DT_PREINIT_ARRAY, preinit_array),
	TAG(DT_PREINIT_ARRAYSZ, preinit_arraysz),
};

/* Read by its place in the file, since nothing is mapped. A tag that comes twice counts as the last
 * one says. */
static void read_dynamic(struct elf_view *v)
{
	const Elf64_Phdr *p = elf_find_phdr(v, PT_DYNAMIC);
	const uint8_t *at = p ? elf_file_part(v, p->p_offset, p->p_filesz) : NULL;
	struct cursor c = elf_cursor(v, at, p ? p->p_filesz : 0);

	while (cursor_left(&c) >= sizeof(Elf64_Dyn)) {
		int64_t tag = (int64_t)cursor_u64(&c);
		uint64_t value = cursor_u64(&c);

		if (tag == DT_NULL)
			break;
		for (size_t i = 0; i < sizeof(dynamic_tags) / sizeof(*dynamic_tags); i++)
			if (dynamic_tags[i].tag == tag)
				memcpy((char *)&v->dynamic + dynamic_tags[i].field, &value,
				       sizeof(value));
	}
}

/* Adds a table of Elf64_Rela, which may be unaligned in the file. */
static void add_relocs(struct elf_view *v, struct cursor c)
{
	Elf64_Rela r;

	vec_reserve(&v->relocs, v->relocs.n + cursor_left(&c) / sizeof(r) + 1);
	while (cursor_left(&c) >= sizeof(r)) {
		memcpy(&r, cursor_bytes(&c, sizeof(r)), sizeof(r));
		*vec_add(&v->relocs) = r;
	}
}

/* Adds one relocation of RELR, whose addend is the word in the file. */
static void add_relative(struct elf_view *v, uint64_t at)
{
	const uint8_t *word = elf_at(v, at, 8);
	Elf64_Rela r = { .r_offset = at, .r_info = ELF64_R_INFO(0, ELF_RELATIVE) };

	if (!word || v->relocs.n > v->n) /* more relocations than bytes: nonsense */
		return;
	memcpy(&r.r_addend, word, 8);
	*vec_add(&v->relocs) = r;
}

/* RELR: an even word is an address, an odd one is a bitmap of the next 63 words. */
static void add_relr(struct elf_view *v, struct cursor c)
{
	uint64_t next = 0;

	while (cursor_left(&c) >= 8) {
		uint64_t word = cursor_u64(&c);

		if (!(word & 1)) {
			add_relative(v, word);
			next = word + 8;
			continue;
		}
		for (unsigned bit = 1; bit < 64; bit++)
			if (word >> bit & 1)
				add_relative(v, next + 8 * (bit - 1));
		next += 8 * 63;
	}
}

/* Cuts the cursor to n bytes: sizes in the file may reach over the segment's end. */
static struct cursor at_most(struct cursor c, uint64_t n)
{
	if (n < cursor_left(&c))
		c.end = c.at + n;
	return c;
}

/* The order is that of the tables: DT_RELA, the PLT's, RELR. */
static void read_relocs(struct elf_view *v)
{
	const struct elf_dynamic *d = &v->dynamic;

	if (d->rela)
		add_relocs(v, at_most(elf_from(v, d->rela), d->relasz));
	/* DT_JMPREL is inside of DT_RELA in some files: not twice. */
	if (d->jmprel && (d->jmprel < d->rela || d->jmprel >= d->rela + d->relasz))
		add_relocs(v, at_most(elf_from(v, d->jmprel), d->pltrelsz));
	if (d->relr)
		add_relr(v, at_most(elf_from(v, d->relr), d->relrsz));
	if (d->symtab)
		return;
	/* A static program has its IRELATIVE relocations without a dynamic section. */
	for (size_t i = 0; i < v->sections.n; i++) {
		const struct elf_section *s = &v->sections.at[i];

		if (s->type == SHT_RELA && s->flags & SHF_ALLOC && s->bytes)
			add_relocs(v, cursor_of(s->bytes, s->size));
	}
}

void elf_dynamic_read(struct elf_view *v)
{
	read_dynamic(v);
	read_relocs(v);
}

/* ---- symbols ---- */

/* Counts by the highest symbol of the longest chain, as the dynamic linker would walk them. */
static size_t gnu_hash_symbols(const struct elf_view *v, uint64_t vaddr)
{
	struct cursor c = elf_from(v, vaddr);
	uint32_t buckets = cursor_u32(&c), first = cursor_u32(&c), bloom = cursor_u32(&c), last = 0;
	uint64_t seen = 0;

	cursor_u32(&c);
	cursor_bytes(&c, (size_t)bloom * 8);
	for (uint32_t i = 0; i < buckets && !c.bad; i++) {
		uint32_t bucket = cursor_u32(&c);

		last = bucket > last ? bucket : last;
	}
	if (c.bad || last < first)
		return first;
	cursor_bytes(&c, (size_t)(last - first) * 4);
	while (!c.bad && !(cursor_u32(&c) & 1))
		seen++;
	return c.bad ? 0 : last + seen + 1;
}

/* DT_HASH's second word is the number of its chains, which is that of the symbols. */
static size_t dynsym_count(const struct elf_view *v)
{
	const struct elf_dynamic *d = &v->dynamic;
	struct cursor c = elf_from(v, d->hash);

	if (d->gnu_hash)
		return gnu_hash_symbols(v, d->gnu_hash);
	cursor_u32(&c);
	return d->hash ? cursor_u32(&c) : 0;
}

/* The section is preferred, because it has a size. Strings end at DT_STRSZ. */
struct elf_symtab elf_dynsym(const struct elf_view *v)
{
	struct elf_symtab t = elf_symtab_of(v, SHT_DYNSYM);
	struct cursor symbols = elf_from(v, v->dynamic.symtab), strings;
	size_t n;

	if (t.n || !v->dynamic.symtab || !v->dynamic.strtab)
		return t;
	strings = at_most(elf_from(v, v->dynamic.strtab), v->dynamic.strsz);
	t = elf_strings(strings.at, cursor_left(&strings));
	n = dynsym_count(v);
	t.symbols = symbols.at;
	t.n = cursor_left(&symbols) / sizeof(Elf64_Sym);
	/* The table's size is not known: up to the segment's end, at most as many as the hash table
	 * knows. */
	t.n = n < t.n ? n : t.n;
	return t;
}
