/* SPDX-License-Identifier: MIT */
/* Reads an ELF file into memory of our own: the parts that are asked for, each once. Room is made for all of it, so that the
 * readers find everything at its offset; of what is not read the kernel's page of zeros is all that there is. Every file here may
 * be hostile: it may have holes of terabytes, and tables that overlap. */
#include "sym/elf_file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "sym/elf_view.h"

#define HEAD UINT64_C(4096)
#define DENSE 16 /* times a file system's compression makes of a block at most, of what is no bomb */
#define SMALL (UINT64_C(256) << 20)

struct span { uint64_t from, to; };

struct reading {
	int fd;
	const char *path;
	struct elf_file *file;
	enum elf_part part;
	VEC(struct span) spans;
	struct err *err;
};

static void want(struct reading *r, uint64_t from, uint64_t bytes)
{
	if (from < r->file->n && bytes)
		*vec_add(&r->spans) = (struct span){ from, bytes < r->file->n - from ? from + bytes : r->file->n };
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int changed(const struct reading *r)
{
	return err_set(r->err, ESTALE, "%s changed while brace read it: try again when nobody writes to it", r->path);
}

static int read_span(struct reading *r, struct span s)
{
	while (s.from < s.to) {
		ssize_t n = pread(r->fd, r->file->bytes + s.from, s.to - s.from, (off_t)s.from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(r->err, errno, "cannot read %s: %s", r->path, strerror(errno));
		if (n == 0)
			return changed(r);
		s.from += (uint64_t)n;
	}
	return 0;
}

/* Some file systems (FUSE) do not say what a file takes. */
bool elf_file_has(const struct stat *is, uint64_t bytes)
{
	return is->st_blocks == 0 || bytes <= SMALL || bytes / DENSE <= (uint64_t)is->st_blocks * 512;
}

/* No byte twice: what overlaps is put together first. */
static void join_spans(struct reading *r)
{
	size_t kept = 0;

	if (r->spans.n)
		qsort(r->spans.at, r->spans.n, sizeof(r->spans.at[0]), by_start);
	for (size_t i = 0; i < r->spans.n; i++) {
		struct span s = r->spans.at[i], *last = kept ? &r->spans.at[kept - 1] : NULL;

		if (last && s.from <= last->to)
			last->to = s.to > last->to ? s.to : last->to;
		else
			r->spans.at[kept++] = s;
	}
	r->spans.n = kept;
}

static int read_spans(struct reading *r)
{
	uint64_t total = 0;
	int e = 0;

	join_spans(r);
	for (size_t i = 0; i < r->spans.n; i++)
		total += r->spans.at[i].to - r->spans.at[i].from;
	if (total > ELF_READ_MOST)
		e = err_set(r->err, EFBIG, "%s has %llu MiB of code and tables: brace reads %llu MiB at most", r->path,
			    (unsigned long long)total >> 20, (unsigned long long)ELF_READ_MOST >> 20);
	else if (!elf_file_has(&r->file->is, total))
		e = err_set(r->err, EFBIG, "%s has %llu MiB of code and tables, nearly all of them holes: brace does not read it",
			    r->path, (unsigned long long)total >> 20);
	for (size_t i = 0; i < r->spans.n && !e; i++)
		e = read_span(r, r->spans.at[i]);
	r->spans.n = 0;
	return e;
}

/* --- what there is -------------------------------------------------------------------------- */

static bool header_of(const struct reading *r, Elf64_Ehdr *h)
{
	if (r->file->n < sizeof(*h))
		return false;
	memcpy(h, r->file->bytes, sizeof(*h));
	return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64;
}

/* Section i's header, if the table is where the file says. */
static bool section_of(const struct reading *r, const Elf64_Ehdr *h, uint64_t i, Elf64_Shdr *out)
{
	if (h->e_shoff > r->file->n || r->file->n - h->e_shoff < sizeof(*out) ||
	    (r->file->n - h->e_shoff) / sizeof(*out) <= i)
		return false;
	memcpy(out, r->file->bytes + h->e_shoff + i * sizeof(*out), sizeof(*out));
	return true;
}

static int read_tables(struct reading *r, const Elf64_Ehdr *h)
{
	Elf64_Shdr first, names;
	uint64_t n = h->e_shnum;
	int e;

	want(r, h->e_phoff, (uint64_t)h->e_phnum * h->e_phentsize);
	want(r, h->e_shoff, sizeof(Elf64_Shdr));
	e = read_spans(r);
	if (e || !section_of(r, h, 0, &first))
		return e;
	if (!n && first.sh_size < r->file->n / sizeof(first)) /* more than 65,279 of them: the first one says it */
		n = first.sh_size;
	want(r, h->e_shoff, n * sizeof(first));
	e = read_spans(r);
	if (!e && section_of(r, h, h->e_shstrndx == SHN_XINDEX ? first.sh_link : h->e_shstrndx, &names)) {
		want(r, names.sh_offset, names.sh_size);
		e = read_spans(r);
	}
	return e;
}

static bool is_debug(const struct elf_section *s)
{
	return !(s->flags & SHF_ALLOC) && (strncmp(s->name, ".debug", 6) == 0 || strncmp(s->name, ".zdebug", 7) == 0);
}

static bool is_wanted(const struct reading *r, const struct elf_section *s)
{
	switch (r->part) {
	case ELF_NOTES:
		return s->type == SHT_NOTE || strcmp(s->name, ".gnu_debuglink") == 0;
	case ELF_SYMBOLS:
		return s->type == SHT_NOTE || s->type == SHT_SYMTAB || s->type == SHT_DYNSYM || s->type == SHT_STRTAB;
	default:
		return !is_debug(s);
	}
}

static void want_segments(struct reading *r, const Elf64_Ehdr *h)
{
	for (uint64_t i = 0; i < h->e_phnum && h->e_phentsize == sizeof(Elf64_Phdr); i++) {
		uint64_t at = h->e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr p;

		if (at > r->file->n || r->file->n - at < sizeof(p))
			return;
		memcpy(&p, r->file->bytes + at, sizeof(p));
		if (r->part == ELF_CONTENTS || p.p_type == PT_NOTE)
			want(r, p.p_offset, p.p_filesz);
	}
}

static void want_sections(struct reading *r)
{
	struct elf_view v;
	struct err ignored;

	if (elf_view_tables(&v, r->file->bytes, r->file->n, r->path, &ignored) == 0)
		for (size_t i = 0; i < v.sections.n; i++)
			if (v.sections.at[i].bytes && is_wanted(r, &v.sections.at[i]))
				want(r, (uint64_t)(v.sections.at[i].bytes - r->file->bytes), v.sections.at[i].size);
	elf_view_free(&v);
}

static int read_parts(struct reading *r)
{
	Elf64_Ehdr h;
	int e;

	want(r, 0, r->part == ELF_WHOLE ? r->file->n : HEAD);
	e = read_spans(r);
	if (e || r->part == ELF_WHOLE || !header_of(r, &h))
		return e;
	e = read_tables(r, &h);
	if (e)
		return e;
	want_segments(r, &h);
	want_sections(r);
	return read_spans(r);
}

/* --- the file ------------------------------------------------------------------------------- */

static int make_room(struct elf_file *f, const char *path, struct err *err)
{
	void *at;

	f->n = (size_t)f->is.st_size;
	at = mmap(NULL, f->n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return err_set(err, errno, "there is no room for the %zu bytes of %s: %s", f->n, path, strerror(errno));
	f->bytes = at;
	madvise(at, f->n, MADV_HUGEPAGE); /* a fault for 2 MiB, not for 4 KiB */
	return 0;
}

int elf_file_read(int fd, const char *path, enum elf_part part, struct elf_file *out, struct err *err)
{
	struct reading r = { .fd = fd, .path = path, .file = out, .part = part, .err = err };
	struct stat now;
	int e;

	*out = (struct elf_file){ 0 };
	if (fstat(fd, &out->is))
		return err_set(err, errno, "cannot examine %s: %s", path, strerror(errno));
	if (!S_ISREG(out->is.st_mode))
		return err_set(err, ENOEXEC, "%s is not a regular file, not a program", path);
	if (out->is.st_size <= 0)
		return 0;
	e = make_room(out, path, err);
	if (!e)
		e = read_parts(&r);
	if (!e && (fstat(fd, &now) || !file_is_same(&out->is, &now)))
		e = changed(&r);
	vec_free(&r.spans);
	if (e)
		elf_file_free(out);
	else
		mprotect(out->bytes, out->n, PROT_READ);
	return e;
}

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
