/* SPDX-License-Identifier: MIT */
/* Reads Go's own function table, which stripping leaves in place. There are four layouts so far,
 * told apart by the magic at the table's start. module.c asks for each file. A table that makes no
 * sense gives no functions, but the file still counts as Go's. Any thread. */
#include "sym/functions.h"

#define MAX_NAME 4096
#define TRIES 64 /* places that look like the table: each may search all relocations */

/* Go's releases that changed the layout; 1.20 changed the magic only. The source is
 * debug/gosym/pclntab.go. */
enum { GO_1_2, GO_1_16, GO_1_18 };

struct pclntab_layout { uint32_t magic; int version; };
static const struct pclntab_layout layouts[] = {
	{ 0xfffffffb, GO_1_2 },
	{ 0xfffffffa, GO_1_16 },
	{ 0xfffffff0, GO_1_18 },
	{ 0xfffffff1, GO_1_18 },
};

struct pclntab {
	struct cursor whole;
	int version;
	uint64_t n;            /* functions */
	uint64_t text;         /* base of the entries' addresses */
	uint64_t names, functions; /* offsets of the two tables */
};

/* Returns the begin of the text. In a position-independent file the word may be 0, and a relocation
 * has the value. */
static uint64_t text_start(const struct elf_view *v, uint64_t at, uint64_t word)
{
	const struct elf_section *s;

	if (word && elf_is_code(v, word))
		return word;
	for (size_t i = 0; i < v->relocs.n; i++)
		if (v->relocs.at[i].r_offset == at)
			return (uint64_t)v->relocs.at[i].r_addend;
	s = elf_find_section(v, ".text");
	return s ? s->vaddr : word;
}

/* Reads the table's header: magic, two zero bytes, 1 (the step between instructions on x86), 8
 * (bytes of a pointer), then counts and offsets that depend on the version. */
static bool read_header(const struct elf_view *v, uint64_t vaddr, struct cursor c,
			struct pclntab *out)
{
	uint32_t magic;
	uint64_t word;

	*out = (struct pclntab){ .whole = c, .version = -1 };
	magic = cursor_u32(&c);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].magic == magic)
			out->version = layouts[i].version;
	if (cursor_u16(&c) || cursor_u8(&c) != 1 || cursor_u8(&c) != 8 || out->version < 0)
		return false;
	out->n = cursor_u64(&c);
	out->functions = 16;
	if (out->version == GO_1_2)
		return !c.bad;
	cursor_u64(&c); /* number of files */
	if (out->version == GO_1_18) {
		word = cursor_u64(&c);
		out->text = text_start(v, vaddr + 24, word);
	}
	out->names = cursor_u64(&c);
	cursor_bytes(&c, 3 * 8); /* compilation units, files, pc tables */
	out->functions = cursor_u64(&c);
	return !c.bad;
}

/* A cursor at the offset; a bad one if that lies outside. */
static struct cursor bytes_at(const struct pclntab *t, uint64_t offset)
{
	struct cursor c = t->whole;

	cursor_bytes(&c, offset);
	return c;
}

/* Returns word i of the functions' table: an entry address, then the offset of its description, by
 * turns. A bad offset gives 0. */
static uint64_t table_word(const struct pclntab *t, uint64_t i)
{
	uint64_t width = t->version == GO_1_18 ? 4 : 8;
	struct cursor c = bytes_at(t, t->functions);

	cursor_bytes(&c, i * width);
	return width == 4 ? cursor_u32(&c) : cursor_u64(&c);
}

/* Returns the function's name; NULL: it lies outside of the table, or does not end. */
static const char *go_function_name(const struct pclntab *t, uint64_t function)
{
	struct cursor f = bytes_at(t, (t->version == GO_1_2 ? 0 : t->functions) + function), name;

	cursor_bytes(&f, t->version == GO_1_18 ? 4 : 8); /* entry */
	name = bytes_at(t, t->names + cursor_u32(&f));
	if (f.bad ||
	    !memchr(name.at, 0, cursor_left(&name) < MAX_NAME ? cursor_left(&name) : MAX_NAME))
		return NULL;
	return (const char *)name.at;
}

/* The table also names its own end marks, and the build id that lies before the code. */
static bool is_function(const char *name)
{
	static const char *const marks[] = { "go.buildid", "go:buildid", "runtime.text",
					     "runtime.etext" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (name && !strcmp(name, marks[i]))
			return false;
	return true;
}

/* A function ends where the next entry begins; the table has one entry more than functions. */
static void read_functions(const struct elf_view *v, const struct pclntab *t,
			   struct found_list *out)
{
	uint64_t width = t->version == GO_1_18 ? 4 : 8;
	/* Not more functions than there are bytes for their entries. */
	uint64_t fit = cursor_left(&t->whole) / (2 * width);
	uint64_t n = t->n < fit ? t->n : fit;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = table_word(t, 2 * i), end = table_word(t, 2 * i + 2);
		const char *name = go_function_name(t, table_word(t, 2 * i + 1));
		struct found f = { .vaddr = t->text + start, .size = end - start,
				   .source = SYM_GOPCLNTAB };

		if (end <= start || !elf_is_code(v, f.vaddr) || !is_function(name))
			continue;
		found_set_name(&f, name);
		*vec_add(&out->list) = f;
	}
}

static const struct elf_section *find_table(const struct elf_view *v)
{
	const struct elf_section *s = elf_find_section(v, ".gopclntab");

	return s ? s : elf_find_section(v, ".data.rel.ro.gopclntab");
}

/* Without sections: looks for the header's fixed bytes in the data. */
static bool search_table(const struct elf_view *v, struct pclntab *out)
{
	unsigned tries = 0;

	for (size_t i = 0; i < v->data.n; i++) {
		const struct elf_area *a = &v->data.at[i];

		/* The table is aligned to 32 bytes. */
		for (uint64_t offset = -a->vaddr & 31; offset + 64 <= a->size; offset += 32) {
			const uint8_t *p = a->bytes + offset;

			if (p[3] == 0xff && p[2] == 0xff && p[1] == 0xff && p[7] == 8 &&
			    p[6] == 1 && tries++ < TRIES &&
			    read_header(v, a->vaddr + offset, cursor_of(p, a->size - offset),
					out) &&
			    /* Chance bytes hardly ever lead to code, too. */
			    elf_is_code(v, out->text + table_word(out, 0)))
				return true;
		}
	}
	return false;
}

bool gopclntab_find(const struct elf_view *v, struct found_list *out)
{
	const struct elf_section *s = find_table(v);
	struct pclntab t;

	if (s && s->bytes && read_header(v, s->vaddr, cursor_of(s->bytes, s->size), &t)) {
		read_functions(v, &t, out);
		return true;
	}
	if (!v->sections.n && search_table(v, &t)) {
		read_functions(v, &t, out);
		return true;
	}
	return s || elf_find_section(v, ".go.buildinfo") || elf_find_section(v, ".note.go.buildid");
}
