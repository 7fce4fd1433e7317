/* SPDX-License-Identifier: MIT */
/* Reads an ELF file's header, sections and segments. All readers of this folder begin here, on any
 * thread; a view belongs to one. Everything is hostile until checked; what is accepted here bounds
 * the work of every reader above: segments ascend and do not overlap, and sections together are not
 * larger than twice the file. Errors say what the file is instead of a program. module.c, usdt.c
 * and the hook layer call it. */
#include <errno.h>

#include "arch/elf.h"
#include "sym/elf_view.h"

#define MAX_SEGMENTS 512
#define MAX_CODE_SECTIONS 64 /* every look-up of an address walks them */

struct elf_machine { uint16_t machine; const char *name; };
static const struct elf_machine machines[] = {
	{ EM_386, "32-bit x86" }, { EM_AARCH64, "arm64" }, { EM_ARM, "arm" },
	{ EM_RISCV, "RISC-V" }, { EM_PPC64, "ppc64" }, { EM_S390, "s390" }, { EM_MIPS, "MIPS" },
};

/* Each refusal sets *err to a sentence that says what the file is, and returns -ENOEXEC. */
static int refuse_machine(uint16_t machine, const char *path, struct err *err)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].machine == machine)
			return err_set(err, ENOEXEC,
				       "%s is a program for %s; brace traces " ELF_MACHINE_NAME
				       " only", path, machines[i].name);
	return err_set(err, ENOEXEC, "%s is a program for another processor (ELF machine %u); "
		       "brace traces " ELF_MACHINE_NAME " only", path, machine);
}

/* A file without the ELF magic: a script is told by its first two bytes, and gets the advice to
 * trace its interpreter. */
static int refuse_foreign(const uint8_t *bytes, size_t n, const char *path, struct err *err)
{
	size_t len = 2, end;

	if (n == 0)
		return err_set(err, ENOEXEC, "%s is empty", path);
	if (n < 2 || memcmp(bytes, "#!", 2))
		return err_set(err, ENOEXEC, "%s is not an ELF program", path);
	while (len < n && (bytes[len] == ' ' || bytes[len] == '\t'))
		len++;
	/* The interpreter's path goes to the first blank; of a hostile one 200 bytes are enough. */
	for (end = len; end < n && end < len + 200 && bytes[end] > ' '; end++)
		;
	return err_set(err, ENOEXEC,
		       "%s is a script, not an ELF program; trace its interpreter: %.*s %s", path,
		       (int)(end - len), (const char *)bytes + len, path);
}

/* An ELF file for this processor that is not executed or loaded as it is. */
static int refuse_type(uint16_t type, const char *path, struct err *err)
{
	const char *what = type == ET_REL ? "a relocatable object" : type == ET_CORE ? "a core dump"
			 : "an ELF file of unknown type";

	return err_set(err, ENOEXEC, "%s is %s, not a program or shared library", path, what);
}

/* Checks what makes a file a program for this processor. Nothing but the ELF header is read, so
 * that the sentence is right even for a file whose rest is damaged. */
static int read_header(struct elf_view *v, const char *path, struct err *err)
{
	if (v->n < SELFMAG || memcmp(v->bytes, ELFMAG, SELFMAG))
		return refuse_foreign(v->bytes, v->n, path, err);
	if (v->n > EI_CLASS && v->bytes[EI_CLASS] == ELFCLASS32)
		return err_set(err, ENOEXEC, "%s is a 32-bit program; brace traces " ELF_MACHINE_NAME
			       " only", path);
	if (v->n < sizeof(v->header))
		return err_set(err, ENOEXEC, "%s is truncated: its ELF header is not whole", path);
	memcpy(&v->header, v->bytes, sizeof(v->header));
	if (v->bytes[EI_CLASS] != ELFCLASS64)
		return err_set(err, ENOEXEC, "%s is malformed: ELF class %u", path,
			       v->bytes[EI_CLASS]);
	if (v->bytes[EI_DATA] != ELFDATA2LSB)
		return err_set(err, ENOEXEC, "%s is a big-endian program; brace traces "
			       ELF_MACHINE_NAME " only", path);
	if (v->header.e_machine != ELF_MACHINE)
		return refuse_machine(v->header.e_machine, path, err);
	return 0;
}

struct elf_symtab elf_strings(const uint8_t *bytes, uint64_t n)
{
	/* Bytes behind the last NUL are cut off: then every offset below n begins a string with an
	 * end. */
	while (bytes && n && bytes[n - 1])
		n--;
	return (struct elf_symtab){ .strings = (const char *)bytes, .n_strings = bytes ? n : 0 };
}

/* NULL: the file does not have it all. */
const uint8_t *elf_file_part(const struct elf_view *v, uint64_t offset, uint64_t size)
{
	if (offset > v->n || size > v->n - offset)
		return NULL;
	return v->bytes + offset;
}

/* Copies header number i, which may be unaligned. False: it does not lie in the file. */
static bool read_section(struct elf_view *v, uint64_t i, Elf64_Shdr *out)
{
	const uint8_t *at = elf_file_part(v, v->header.e_shoff, (i + 1) * sizeof(*out));

	if (at)
		memcpy(out, at + i * sizeof(*out), sizeof(*out));
	return at != NULL;
}

/* Returns the section's bytes. NULL also for a section that overruns the file, and for those with
 * which all sections would be more than twice the file (*total): their readers find nothing. */
static const uint8_t *section_bytes(const struct elf_view *v, const Elf64_Shdr *s, uint64_t *total)
{
	const uint8_t *bytes =
		s->sh_type == SHT_NOBITS ? NULL : elf_file_part(v, s->sh_offset, s->sh_size);

	if (!bytes || s->sh_size > 2 * v->n - *total)
		return NULL;
	*total += s->sh_size;
	return bytes;
}

/* Missing section headers, or ones that overrun the file, are no error: programs run without them,
 * and so do we. */
static void read_sections(struct elf_view *v)
{
	uint64_t n = v->header.e_shnum, names = v->header.e_shstrndx, total = 0;
	struct elf_symtab strings = { 0 };
	Elf64_Shdr s;

	if (!v->header.e_shoff || v->header.e_shentsize != sizeof(s) || !read_section(v, 0, &s))
		return;
	n = n ? n : s.sh_size; /* more than 65,279 sections */
	names = names == SHN_XINDEX ? s.sh_link : names;
	if (!n || n > v->n / sizeof(s) || !read_section(v, n - 1, &s))
		return;
	if (names < n && read_section(v, names, &s))
		strings = elf_strings(elf_file_part(v, s.sh_offset, s.sh_size), s.sh_size);
	vec_reserve(&v->sections, n);
	for (uint64_t i = 0; i < n; i++) {
		const char *name;

		read_section(v, i, &s);
		name = elf_string(&strings, s.sh_name);
		*vec_add(&v->sections) = (struct elf_section){
			.name = name ? name : "",
			.type = s.sh_type,
			.link = s.sh_link,
			.flags = s.sh_flags,
			.vaddr = s.sh_addr,
			.size = s.sh_size,
			.entsize = s.sh_entsize,
			.bytes = section_bytes(v, &s, &total),
		};
	}
}

/* bytes stay the caller's and outlive v, as those of all three forms. */
int elf_view_tables(struct elf_view *v, const uint8_t *bytes, size_t n, const char *path,
		    struct err *err)
{
	int r;

	*v = (struct elf_view){ .bytes = bytes, .n = n };
	r = read_header(v, path, err);
	if (!r)
		read_sections(v);
	return r;
}

void elf_view_free(struct elf_view *v)
{
	vec_free(&v->phdrs);
	vec_free(&v->sections);
	vec_free(&v->code);
	vec_free(&v->data);
	vec_free(&v->relocs);
}

/* ---- segments ---- */

/* Checks one loadable segment. *below is the end of the one before; *total adds up the file's bytes
 * in all of them: they may share bytes, but not without limit. */
static int check_load(const struct elf_view *v, const Elf64_Phdr *p, uint64_t *below,
		      uint64_t *total, const char *path, struct err *err)
{
	if (!elf_file_part(v, p->p_offset, p->p_filesz))
		return err_set(err, ENOEXEC,
			       "%s is truncated: it ends at byte %zu, inside a segment of "
			       "%llu bytes at %llu",
			       path, v->n, (unsigned long long)p->p_filesz,
			       (unsigned long long)p->p_offset);
	*total += p->p_filesz;
	if (p->p_vaddr < *below || p->p_filesz > p->p_memsz ||
	    /* All ends of segments stay below 2^63: sums of addresses and sizes cannot overflow. */
	    p->p_memsz > INT64_MAX - p->p_vaddr || p->p_vaddr > INT64_MAX || *total > 2 * v->n)
		return err_set(err, ENOEXEC,
			       "%s is malformed: its segments overlap or are out of order", path);
	*below = p->p_vaddr + p->p_memsz;
	return 0;
}

/* Reads all program headers. Unlike sections they decide what the kernel maps, so a damaged one is
 * an error. */
static int read_phdrs(struct elf_view *v, const char *path, struct err *err)
{
	const Elf64_Ehdr *h = &v->header;
	const uint8_t *at = elf_file_part(v, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr));
	uint64_t below = 0, total = 0;
	Elf64_Phdr p;
	int r;

	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return refuse_type(h->e_type, path, err);
	if (!at)
		return err_set(err, ENOEXEC, "%s is truncated: its program headers are not whole",
			       path);
	if (h->e_phentsize != sizeof(p) || h->e_phnum > MAX_SEGMENTS)
		return err_set(err, ENOEXEC, "%s is malformed: %u program headers of %u bytes",
			       path, h->e_phnum, h->e_phentsize);
	for (size_t i = 0; i < h->e_phnum; i++) {
		memcpy(&p, at + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD) {
			r = check_load(v, &p, &below, &total, path, err);
			if (r)
				return r;
		}
		*vec_add(&v->phdrs) = p;
	}
	if (!elf_find_phdr(v, PT_LOAD))
		return err_set(err, ENOEXEC, "%s has no loadable segment: nothing of it can run",
			       path);
	return 0;
}

/* True for a debug file, whose executable segment is empty. A library of data alone has no
 * executable segment. */
static bool is_debug_file(const struct elf_view *v)
{
	bool emptied = false;

	for (size_t i = 0; i < v->phdrs.n; i++) {
		const Elf64_Phdr *p = &v->phdrs.at[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		if (p->p_filesz)
			return false;
		emptied |= p->p_memsz > 0;
	}
	return emptied;
}

/* Takes whole segments for code or data: the coarse answer, when sections give none. */
static void areas_from_segments(struct elf_view *v)
{
	for (size_t i = 0; i < v->phdrs.n; i++) {
		const Elf64_Phdr *p = &v->phdrs.at[i];
		struct elf_area area = { p->p_vaddr, p->p_filesz, NULL };

		if (p->p_type != PT_LOAD || !p->p_filesz)
			continue;
		area.bytes = v->bytes + p->p_offset;
		if (p->p_flags & PF_X)
			*vec_add(&v->code) = area;
		else
			*vec_add(&v->data) = area;
	}
}

/* Sections tell code from constants inside of one segment. If they contradict the segments, or
 * there are none, the segments are believed. */
static void read_areas(struct elf_view *v)
{
	uint64_t total = 0;

	for (size_t i = 0; i < v->sections.n; i++) {
		const struct elf_section *s = &v->sections.at[i];
		struct elf_area area = { s->vaddr, s->size, s->bytes };

		if (!(s->flags & SHF_ALLOC) || s->type == SHT_NOBITS || !s->size)
			continue;
		total += s->size;
		/* The section's bytes must be those that its address has in memory. */
		if (total > 2 * v->n || elf_at(v, s->vaddr, s->size) != s->bytes || !s->bytes) {
			vec_free(&v->sections);
			v->code.n = v->data.n = 0;
			break;
		}
		if (s->flags & SHF_EXECINSTR)
			*vec_add(&v->code) = area;
		else
			*vec_add(&v->data) = area;
	}
	if (!v->code.n || v->code.n > MAX_CODE_SECTIONS) {
		v->code.n = v->data.n = 0;
		areas_from_segments(v);
	}
}

/* Needs no section headers, which a stripped file may lack. */
int elf_view_segments(struct elf_view *v, const uint8_t *bytes, size_t n, const char *path,
		      struct err *err)
{
	int r = elf_view_tables(v, bytes, n, path, err);

	return r ? r : read_phdrs(v, path, err);
}

/* For programs and libraries; -ENOEXEC and *err for a file of debug information. */
int elf_view_image(struct elf_view *v, const uint8_t *bytes, size_t n, const char *path,
		   struct err *err)
{
	int r = elf_view_segments(v, bytes, n, path, err);

	if (r)
		return r;
	if (is_debug_file(v))
		return err_set(err, ENOEXEC,
			       "%s holds debug information, no code: name the program it is of",
			       path);
	read_areas(v);
	elf_dynamic_read(v);
	return 0;
}

/* ---- lookups ---- */

/* The first of that name; NULL: none. */
const struct elf_section *elf_find_section(const struct elf_view *v, const char *name)
{
	for (size_t i = 0; i < v->sections.n; i++)
		if (!strcmp(v->sections.at[i].name, name))
			return &v->sections.at[i];
	return NULL;
}

const Elf64_Phdr *elf_find_phdr(const struct elf_view *v, uint32_t type)
{
	for (size_t i = 0; i < v->phdrs.n; i++)
		if (v->phdrs.at[i].p_type == type)
			return &v->phdrs.at[i];
	return NULL;
}

/* The bytes of an address up to the end of its segment's file part. Zeros that only memory has are
 * not there. */
struct cursor elf_from(const struct elf_view *v, uint64_t vaddr)
{
	for (size_t i = 0; i < v->phdrs.n; i++) {
		const Elf64_Phdr *p = &v->phdrs.at[i];
		uint64_t into = vaddr - p->p_vaddr;

		if (p->p_type == PT_LOAD && into < p->p_filesz)
			return cursor_of(v->bytes + p->p_offset + into, p->p_filesz - into);
	}
	return cursor_of(v->bytes, 0);
}

const uint8_t *elf_at(const struct elf_view *v, uint64_t vaddr, size_t n)
{
	struct cursor c = elf_from(v, vaddr);

	return cursor_bytes(&c, n);
}

/* One subtraction checks both bounds: below the begin it wraps to a large number. */
const struct elf_area *elf_code_area(const struct elf_view *v, uint64_t vaddr)
{
	for (size_t i = 0; i < v->code.n; i++)
		if (vaddr - v->code.at[i].vaddr < v->code.at[i].size)
			return &v->code.at[i];
	return NULL;
}

bool elf_is_code(const struct elf_view *v, uint64_t vaddr)
{
	return elf_code_area(v, vaddr) != NULL;
}

bool elf_is_code_memory(const struct elf_view *v, uint64_t vaddr)
{
	for (size_t i = 0; i < v->phdrs.n; i++) {
		const Elf64_Phdr *p = &v->phdrs.at[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && vaddr >= p->p_vaddr &&
		    vaddr - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

/* ---- symbols ---- */

/* Returns the first table of that type whose section of strings exists. */
struct elf_symtab elf_symtab_of(const struct elf_view *v, uint32_t type)
{
	for (size_t i = 0; i < v->sections.n; i++) {
		const struct elf_section *s = &v->sections.at[i], *str;
		struct elf_symtab t;

		if (s->type != type || !s->bytes || s->link >= v->sections.n)
			continue;
		str = &v->sections.at[s->link];
		t = elf_strings(str->bytes, str->size);
		t.symbols = s->bytes;
		t.n = s->size / sizeof(Elf64_Sym);
		return t;
	}
	return (struct elf_symtab){ 0 };
}

struct elf_symtab elf_symtab(const struct elf_view *v)
{
	return elf_symtab_of(v, SHT_SYMTAB);
}

Elf64_Sym elf_symbol(const struct elf_symtab *t, size_t i)
{
	Elf64_Sym s;

	memcpy(&s, t->symbols + i * sizeof(s), sizeof(s));
	return s;
}

/* Ends with a NUL, whatever the file has (elf_strings()). NULL: beyond the table. */
const char *elf_string(const struct elf_symtab *t, uint64_t offset)
{
	return offset < t->n_strings ? t->strings + offset : NULL;
}

/* ---- notes ---- */

/* Names and descriptors are padded to 4 bytes; overruns make cursor_bytes() return NULL. */
const uint8_t *elf_gnu_note_in(struct cursor c, uint32_t type, size_t *n)
{
	while (cursor_left(&c) >= 12) {
		uint32_t namesz = cursor_u32(&c), descsz = cursor_u32(&c), kind = cursor_u32(&c);
		const uint8_t *name = cursor_bytes(&c, ((size_t)namesz + 3) & ~(size_t)3);
		const uint8_t *desc = cursor_bytes(&c, descsz);

		if (desc && kind == type && namesz == 4 && !memcmp(name, "GNU", 4)) {
			*n = descsz;
			return desc;
		}
		cursor_bytes(&c, -(size_t)descsz & 3);
	}
	return NULL;
}

/* NULL: none. *n: the bytes of its contents. */
const uint8_t *elf_gnu_note(const struct elf_view *v, uint32_t type, size_t *n)
{
	const uint8_t *found = NULL;
	uint64_t left = 2 * v->n; /* segments may share bytes, but not without limit */

	/* Segments first: they are there when the section headers are stripped. */
	for (size_t i = 0; i < v->phdrs.n && !found; i++) {
		const Elf64_Phdr *p = &v->phdrs.at[i];
		const uint8_t *at = elf_file_part(v, p->p_offset, p->p_filesz);

		if (p->p_type != PT_NOTE || !at || p->p_filesz > left)
			continue;
		left -= p->p_filesz;
		found = elf_gnu_note_in(cursor_of(at, p->p_filesz), type, n);
	}
	for (size_t i = 0; i < v->sections.n && !found; i++) {
		const struct elf_section *s = &v->sections.at[i];

		if (s->type == SHT_NOTE && s->bytes)
			found = elf_gnu_note_in(cursor_of(s->bytes, s->size), type, n);
	}
	return found;
}

/* At most `most` bytes; returns how many, 0: the file has none. */
uint8_t elf_build_id(const struct elf_view *v, uint8_t *id, uint8_t most)
{
	size_t n = 0;
	const uint8_t *at = elf_gnu_note(v, NT_GNU_BUILD_ID, &n);

	if (!at)
		return 0;
	n = n < most ? n : most;
	memcpy(id, at, n);
	return (uint8_t)n;
}
