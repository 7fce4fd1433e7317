/* SPDX-License-Identifier: MIT */
/* Reads an ELF file into memory of our own: the parts that are asked for, each once. module.c,
 * debug_file.c and others call it, on any thread. There is room for all of the file, so that
 * readers find everything at its offset; parts that are not read are the kernel's zero page. Every
 * file may be hostile: it may have holes of terabytes, and tables that overlap. Errors name the
 * file and what to do. */
#include "sym/elf_file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "sym/elf_view.h"

#define HEAD UINT64_C(4096)
/* Factor by which a file system's compression shrinks blocks of an honest file at most. */
#define DENSE 16
#define SMALL (UINT64_C(256) << 20)

struct file_span { uint64_t from, to; };

/* One reading of a file: spans to be read are collected, joined, and read together. */
struct elf_reading {
	int fd;
	const char *path;
	struct elf_file *file;
	enum elf_part part;
	VEC(struct file_span) spans;
	struct err *err;
};

/* Notes a part of the file to be read, cut at the file's end. */
static void want_bytes(struct elf_reading *r, uint64_t from, uint64_t bytes)
{
	if (from < r->file->n && bytes)
		*vec_add(&r->spans) =
			(struct file_span){ from,
					    bytes < r->file->n - from ? from + bytes : r->file->n };
}

/* qsort()'s order for spans; equal begins may come in any order, since join_spans() takes the later
 * end. */
static int by_start(const void *a, const void *b)
{
	const struct file_span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* -ESTALE: a plan must not come from a mix of two versions. */
static int file_changed(const struct elf_reading *r)
{
	return err_set(r->err, ESTALE,
		       "%s changed while brace read it: try again when nobody writes to it",
		       r->path);
}

/* Reads the span to its own place in the file's memory. 0, or -errno and *r->err. */
static int read_span(struct elf_reading *r, struct file_span s)
{
	while (s.from < s.to) {
		ssize_t n = pread(r->fd, r->file->bytes + s.from, s.to - s.from, (off_t)s.from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(r->err, errno, "cannot read %s: %s", r->path,
				       strerror(errno));
		/* The file ends before its size: somebody shortened it. */
		if (n == 0)
			return file_changed(r);
		s.from += (uint64_t)n;
	}
	return 0;
}

/* Some file systems (FUSE) do not say how many blocks a file takes: 0 there means nothing. */
bool elf_file_has(const struct stat *is, uint64_t bytes)
{
	return is->st_blocks == 0 || bytes <= SMALL ||
	       bytes / DENSE <= (uint64_t)is->st_blocks * 512;
}

/* Joins overlapping spans, so that no byte is read twice. */
static void join_spans(struct elf_reading *r)
{
	size_t kept = 0;

	if (r->spans.n)
		qsort(r->spans.at, r->spans.n, sizeof(r->spans.at[0]), by_start);
	for (size_t i = 0; i < r->spans.n; i++) {
		struct file_span s = r->spans.at[i], *last = kept ? &r->spans.at[kept - 1] : NULL;

		if (last && s.from <= last->to)
			last->to = s.to > last->to ? s.to : last->to;
		else
			r->spans.at[kept++] = s;
	}
	r->spans.n = kept;
}

/* Reads what was noted and forgets the notes. The limits are on what is really read: a file may be
 * larger. */
static int read_spans(struct elf_reading *r)
{
	uint64_t total = 0;
	int e = 0;

	join_spans(r);
	for (size_t i = 0; i < r->spans.n; i++)
		total += r->spans.at[i].to - r->spans.at[i].from;
	if (total > ELF_READ_MOST)
		e = err_set(r->err, EFBIG,
			    "%s has %llu MiB of code and tables: brace reads %llu MiB at most",
			    r->path, (unsigned long long)total >> 20,
			    (unsigned long long)ELF_READ_MOST >> 20);
	else if (!elf_file_has(&r->file->is, total))
		e = err_set(
			r->err, EFBIG,
			"%s has %llu MiB of code and tables, nearly all of them holes: brace does not read it",
			r->path, (unsigned long long)total >> 20);
	for (size_t i = 0; i < r->spans.n && !e; i++)
		e = read_span(r, r->spans.at[i]);
	r->spans.n = 0;
	return e;
}

/* --- the parts of the file --- */

/* True if the bytes begin with a 64-bit ELF header. Of other files the first page is all that is
 * read. */
static bool read_elf_header(const struct elf_reading *r, Elf64_Ehdr *h)
{
	if (r->file->n < sizeof(*h))
		return false;
	memcpy(h, r->file->bytes, sizeof(*h));
	return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64;
}

/* Returns section i's header, if the table is where the file says. */
static bool section_of(const struct elf_reading *r, const Elf64_Ehdr *h, uint64_t i,
		       Elf64_Shdr *out)
{
	if (h->e_shoff > r->file->n || r->file->n - h->e_shoff < sizeof(*out) ||
	    (r->file->n - h->e_shoff) / sizeof(*out) <= i)
		return false;
	memcpy(out, r->file->bytes + h->e_shoff + i * sizeof(*out), sizeof(*out));
	return true;
}

/* Reads the program and section headers and the sections' names, in three steps, since each tells
 * where the next is. */
static int read_tables(struct elf_reading *r, const Elf64_Ehdr *h)
{
	Elf64_Shdr first, names;
	uint64_t n = h->e_shnum;
	int e;

	want_bytes(r, h->e_phoff, (uint64_t)h->e_phnum * h->e_phentsize);
	want_bytes(r, h->e_shoff, sizeof(Elf64_Shdr));
	e = read_spans(r);
	if (e || !section_of(r, h, 0, &first))
		return e;
	/* More than 65,279 of them: the first one has the number. */
	if (!n && first.sh_size < r->file->n / sizeof(first))
		n = first.sh_size;
	want_bytes(r, h->e_shoff, n * sizeof(first));
	e = read_spans(r);
	if (!e &&
	    section_of(r, h, h->e_shstrndx == SHN_XINDEX ? first.sh_link : h->e_shstrndx, &names)) {
		want_bytes(r, names.sh_offset, names.sh_size);
		e = read_spans(r);
	}
	return e;
}

/* Debug information is most of a large file, and elfutils reads it by itself (dwarf_file.c). */
static bool is_debug(const struct elf_section *s)
{
	return !(s->flags & SHF_ALLOC) &&
	       (strncmp(s->name, ".debug", 6) == 0 || strncmp(s->name, ".zdebug", 7) == 0);
}

/* True if the section belongs to the part that is asked for. */
static bool is_in_part(const struct elf_reading *r, const struct elf_section *s)
{
	const bool note = s->type == SHT_NOTE || strcmp(s->name, ".gnu_debuglink") == 0;

	switch (r->part) {
	case ELF_NOTES:
		return note;
	case ELF_SYMBOLS:
		return note || s->type == SHT_SYMTAB || s->type == SHT_DYNSYM ||
		       s->type == SHT_STRTAB;
	default:
		return !is_debug(s);
	}
}

/* Notes the segments to be read: all of them for ELF_CONTENTS, since a file may have no section
 * headers; else those of notes. */
static void want_segments(struct elf_reading *r, const Elf64_Ehdr *h)
{
	for (uint64_t i = 0; i < h->e_phnum && h->e_phentsize == sizeof(Elf64_Phdr); i++) {
		uint64_t at = h->e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr p;

		if (at > r->file->n || r->file->n - at < sizeof(p))
			return;
		memcpy(&p, r->file->bytes + at, sizeof(p));
		if (r->part == ELF_CONTENTS || p.p_type == PT_NOTE)
			want_bytes(r, p.p_offset, p.p_filesz);
	}
}

/* The view's own bounds are those that sym uses afterwards. */
static void want_sections(struct elf_reading *r)
{
	struct elf_view v;
	struct err ignored;

	if (elf_view_tables(&v, r->file->bytes, r->file->n, r->path, &ignored) == 0)
		for (size_t i = 0; i < v.sections.n; i++)
			if (v.sections.at[i].bytes && is_in_part(r, &v.sections.at[i]))
				want_bytes(r, (uint64_t)(v.sections.at[i].bytes - r->file->bytes),
					   v.sections.at[i].size);
	elf_view_free(&v);
}

/* Reads what `part` asks for, first the tables that say where it lies. */
static int read_parts(struct elf_reading *r)
{
	Elf64_Ehdr h;
	int e;

	want_bytes(r, 0, r->part == ELF_WHOLE ? r->file->n : HEAD);
	e = read_spans(r);
	if (e || r->part == ELF_WHOLE || !read_elf_header(r, &h))
		return e;
	e = read_tables(r, &h);
	if (e)
		return e;
	want_segments(r, &h);
	want_sections(r);
	return read_spans(r);
}

/* --- the file ------------------------------------------------------------------------------- */

/* Huge pages only for large parts: notes and symbols are a few pages here and there, and clearing 2
 * MiB for each would take longer than all the rest. */
static int allocate_part(struct elf_file *f, enum elf_part part, const char *path, struct err *err)
{
	void *at;

	f->n = (size_t)f->is.st_size;
	at = mmap(NULL, f->n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		  -1, 0);
	if (at == MAP_FAILED)
		return err_set(err, errno, "there is no room for the %zu bytes of %s: %s", f->n,
			       path, strerror(errno));
	f->bytes = at;
	if (part >= ELF_CONTENTS)
		madvise(at, f->n, MADV_HUGEPAGE); /* one fault for 2 MiB, not for each 4 KiB */
	return 0;
}

/* A copy of the file, not a mapping: one that is changed meanwhile would change under the reader,
 * or end it by SIGBUS. */
int elf_file_read(int fd, const char *path, enum elf_part part, struct elf_file *out,
		  struct err *err)
{
	struct elf_reading r = { .fd = fd, .path = path, .file = out, .part = part, .err = err };
	struct stat now;
	int e;

	*out = (struct elf_file){ 0 };
	if (file_stat(fd, &out->is))
		return err_set(err, errno, "cannot examine %s: %s", path, strerror(errno));
	if (!S_ISREG(out->is.st_mode))
		return err_set(err, ENOEXEC, "%s is not a regular file, not a program", path);
	if (out->is.st_size <= 0)
		return 0;
	e = allocate_part(out, part, path, err);
	if (!e)
		e = read_parts(&r);
	/* Size, mtime or ctime differ: the bytes may be a mix. */
	if (!e && file_stat(fd, &now))
		e = err_set(err, errno, "cannot examine %s: %s", path, strerror(errno));
	else if (!e && !file_is_same(&out->is, &now))
		e = file_changed(&r);
	vec_free(&r.spans);
	if (e)
		elf_file_free(out);
	else
		/* From here on a stray write is a fault, not another plan. */
		mprotect(out->bytes, out->n, PROT_READ);
	return e;
}

/* file_open() does not wait for a FIFO or a dead server. */
int elf_file_read_path(const char *path, enum elf_part part, struct elf_file *out, struct err *err)
{
	int fd = file_open(path, err), e;

	*out = (struct elf_file){ 0 };
	if (fd < 0)
		return fd;
	e = elf_file_read(fd, path, part, out, err);
	close(fd);
	return e;
}

void elf_file_free(struct elf_file *f)
{
	if (f->bytes)
		munmap(f->bytes, f->n);
	*f = (struct elf_file){ 0 };
}
