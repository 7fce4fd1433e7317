/* SPDX-License-Identifier: MIT */
/* Opens a module's debug information in elfutils, or decides that it is not to be looked at.
 * dwarf_walk.c and source.c call it, once for each question. The files are not trusted: elfutils
 * would inflate, follow and allocate whatever they say, so sizes are checked before it is let
 * loose. Debug information that is left out is no error: f->left_out says why. Any thread:
 * elfutils' handles belong to one. */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "sym/dwarf_file.h"
#include "sym/elf_view.h"

/* The section alone decides: what is in it is elfutils' to judge. */
static bool has_debug_info(const struct elf_view *v)
{
	return elf_find_section(v, ".debug_info") || elf_find_section(v, ".zdebug_info");
}

/* Finds the bytes that hold the debug information; false: there are none. */
static bool find_bytes(const struct sym_module *m, struct dwarf_file *f, const uint8_t **bytes,
		       size_t *n)
{
	struct elf_view v = { 0 }, separate = { 0 };
	bool found = false;

	*bytes = m->bytes;
	*n = m->n_bytes;
	if (!elf_view_tables(&v, m->bytes, m->n_bytes, m->path, NULL)) {
		found = has_debug_info(&v);
		if (!found && m->file.bytes &&
		    debug_file_open(&v, m->path, m->root, &f->separate) &&
		    !elf_view_tables(&separate, f->separate.file.bytes, f->separate.file.n, "",
				     NULL)) {
			found = has_debug_info(&separate);
			*bytes = f->separate.file.bytes;
			*n = f->separate.file.n;
		}
	}
	elf_view_free(&v);
	elf_view_free(&separate);
	return found;
}

/* --- its size --- */

#define INFLATES 32 /* times; compilers' output inflates to ten times its size at most */
#define SMALL (UINT64_C(16) << 20)

struct sizes { uint64_t stored, inflated, largest; const char *name; /* the largest one's */ };

/* Returns the size in the header of a section that binutils compressed before there was a flag:
 * "ZLIB", then the size in big-endian. */
static uint64_t old_size(Elf_Scn *section)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	const uint8_t *p = data ? data->d_buf : NULL;
	uint64_t size = 0;

	if (!p || data->d_size < 12 || memcmp(p, "ZLIB", 4) != 0)
		return 0;
	for (unsigned i = 4; i < 12; i++)
		size = size << 8 | p[i];
	return size;
}

/* Returns the size that the section has when it is not compressed, from headers alone. */
static uint64_t inflated_size(Elf_Scn *section, const GElf_Shdr *h, const char *name)
{
	GElf_Chdr c;

	if (h->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &c) ? c.ch_size : 0;
	return name[1] == 'z' ? old_size(section) : h->sh_size;
}

/* Adds without overflow: sizes are the file's. */
static uint64_t add_offset(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Adds up the sizes of the debug sections; nothing is inflated for it. */
static struct sizes sizes_of(Elf *elf)
{
	struct sizes out = { .name = "" };
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return out;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr h;
		const char *name =
			gelf_getshdr(section, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
		uint64_t size;

		if (!name || h.sh_type == SHT_NOBITS ||
		    (strncmp(name, ".debug", 6) != 0 && strncmp(name, ".zdebug", 7) != 0))
			continue;
		size = inflated_size(section, &h, name);
		out.stored = add_offset(out.stored, h.sh_size);
		out.inflated = add_offset(out.inflated, size);
		if (size > out.largest) {
			out.largest = size;
			out.name = name;
		}
	}
	return out;
}

/* Returns false if the debug information is left out; f says why. */
static bool is_sensible(struct dwarf_file *f, const struct stat *is)
{
	struct sizes s = sizes_of(f->elf);
	const char *why = NULL;

	if (s.inflated > SMALL && s.inflated / INFLATES > s.stored)
		why = "compressed more than debug information can be";
	else if (!elf_file_has(is, s.stored))
		why = "nearly all of it holes";
	else if (s.inflated > ELF_READ_MOST)
		why = "more than brace reads";
	f->bytes = s.inflated;
	if (why)
		f->left_out =
			mem_printf("its debug information is not looked at: %s is %llu MiB, %s",
				   s.name, (unsigned long long)s.largest >> 20, why);
	return !why;
}

/* --- opening it ------------------------------------------------------------------------------- */

/* Opens the very file that was read, by its path: elfutils resolves the names in .gnu_debugaltlink
 * and of split units relative to a descriptor's file. ELF_C_READ reads: a mapping would end brace
 * by SIGBUS when the file is shortened. */
static int open_file(struct dwarf_file *f, const struct sym_module *m, struct stat *is,
		     struct err *err)
{
	char *path = f->separate.path ? mem_strdup(f->separate.path)
				      : mem_printf("%s%s", m->root, m->path);
	const struct stat *was = f->separate.path ? &f->separate.file.is : &m->file.is;
	int r = f->fd = file_open(path, err);

	if (r >= 0 && file_stat(r, is) < 0)
		r = err_set(err, errno, "cannot examine %s: %s", path, strerror(errno));
	else if (r >= 0 && !file_is_same(was, is))
		r = err_set(
			err, ESTALE,
			"another file stands at %s by now: its debug information is not looked at",
			path);
	free(path);
	if (r < 0)
		return r;
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	return 0;
}

/* The module was made from these bytes: in memory there is no file to look at. */
static int open_elf(struct dwarf_file *f, const struct sym_module *m, const uint8_t *bytes,
		    size_t n, struct stat *is, struct err *err)
{
	if (m->file.bytes)
		return open_file(f, m, is, err);
	*is = (struct stat){ 0 };
	f->elf = elf_memory((char *)bytes, n);
	return 0;
}

/* Sets the sentence with elfutils' reason. EIO: libelf or libdw failed without any, which is not
 * the file's fault. */
static int err_malformed(const struct dwarf_file *f, const struct sym_module *m, struct err *err)
{
	const int reason = f->elf ? dwarf_errno() : 0;

	return err_set(err, reason ? EBADMSG : EIO, "the debug information of %s cannot be read: %s",
		       f->separate.path ? f->separate.path : m->path,
		       reason ? dwarf_errmsg(reason) : strerror(EIO));
}

/* Returns the directory of the file; NULL: it lies in memory. */
static char *own_directory(const struct dwarf_file *f)
{
	char name[64], path[PATH_MAX];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", f->fd);
	n = f->fd < 0 ? -1 : readlink(name, path, sizeof(path));
	while (n > 0 && path[n - 1] != '/')
		n--;
	return n > 0 ? mem_strndup(path, (size_t)n) : NULL;
}

/* Opens another file that the debug information names. -EFBIG: larger than makes sense. *out is to
 * be closed in any case. */
static int open_other(const char *path, struct dwarf_file *out)
{
	struct stat is;

	*out = (struct dwarf_file){ .fd = file_open(path, NULL) };
	if (out->fd < 0)
		return out->fd;
	out->elf = elf_begin(out->fd, ELF_C_READ, NULL);
	return out->elf && file_stat(out->fd, &is) == 0 && is_sensible(out, &is) ? 0 : -EFBIG;
}

/* elfutils opens it itself, and would wait for a process that serves it. */
static bool may_open(const char *path)
{
	struct dwarf_file f;
	int e = open_other(path, &f);
	bool may = e == 0 ? !file_is_copy(f.fd) : e == -ENOENT && file_is_missing(path);

	dwarf_file_close(&f);
	return may;
}

/* Returns `name` as seen from a directory, NULL: brace's own; free() it. */
static char *path_from(const char *directory, const char *name)
{
	return *name == '/' || !directory ? mem_strdup(name) : mem_printf("%s/%s", directory, name);
}

/* elfutils tries two places for a split unit: beside the file, and below the compilation's
 * directory. Both are checked. */
bool dwarf_file_may_open(const struct dwarf_file *f, const char *dir, const char *name)
{
	char *own = own_directory(f), *beside = path_from(own, name),
	     *below = dir ? path_from(own, dir) : NULL;
	char *there = path_from(below, name);
	bool may = may_open(beside) && may_open(there);

	free(own);
	free(beside);
	free(below);
	free(there);
	return may;
}

/* An alternate file with another build id belongs to another version of the package. */
static bool has_build_id(Elf *elf, const void *id, size_t n)
{
	const void *own;

	return dwelf_elf_gnu_build_id(elf, &own) == (ssize_t)n && memcmp(own, id, n) == 0;
}

/* dwz moves parts that several files share to another file. If that is not where the link says,
 * elfutils looks below /usr/lib/debug. False: it is no file that can be looked at. */
static bool take_alternate(struct dwarf_file *f)
{
	const char *name;
	const void *id;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(f->dwarf, &name, &id);
	struct dwarf_file other;
	char *own, *path;
	int e;

	if (n <= 0)
		return true;
	own = own_directory(f);
	path = path_from(own, name);
	e = open_other(path, &other);
	free(path);
	free(own);
	if (e == 0 && has_build_id(other.elf, id, (size_t)n))
		other.dwarf = dwarf_begin_elf(other.elf, DWARF_C_READ, NULL);
	if (!other.dwarf) {
		dwarf_file_close(&other);
		return e == 0 || e == -ENOENT;
	}
	f->alternate = mem_zalloc(sizeof(other));
	*f->alternate = other;
	f->bytes += other.bytes;
	dwarf_setalt(f->dwarf, other.dwarf);
	return true;
}

/* 0 also if there is none: out->dwarf is NULL then, and out->left_out may say why. What elfutils
 * would choke on is looked at first (is_sensible()). */
int dwarf_file_open(const struct sym_module *m, struct dwarf_file *out, struct err *err)
{
	const uint8_t *bytes;
	struct stat is;
	size_t n;
	int r;

	*out = (struct dwarf_file){ .fd = -1 };
	if (!find_bytes(m, out, &bytes, &n)) {
		dwarf_file_close(out);
		return 0;
	}
	elf_version(EV_CURRENT);
	r = open_elf(out, m, bytes, n, &is, err);
	if (r == 0 && out->elf && !is_sensible(out, &is))
		return 0;
	if (r == 0)
		out->dwarf = out->elf ? dwarf_begin_elf(out->elf, DWARF_C_READ, NULL) : NULL;
	if (r == 0 && !out->dwarf)
		r = err_malformed(out, m, err);
	if (r == 0 && !take_alternate(out)) {
		dwarf_end(out->dwarf);
		out->dwarf = NULL;
		out->left_out = mem_strdup(
			"its debug information is not looked at: the file that it goes on in (dwz) is none, or too large");
	}
	if (r < 0)
		dwarf_file_close(out);
	return r;
}

/* The section has been inflated by now. */
const Elf_Data *dwarf_file_lines(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr h;
		const char *name =
			gelf_getshdr(section, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;

		if (name && (strcmp(name, ".debug_line") == 0 || strcmp(name, ".zdebug_line") == 0))
			return elf_getdata(section, NULL);
	}
	return NULL;
}

/* UINT64_MAX: the table lies outside of its section. For bounding the work before elfutils reads
 * it. */
uint64_t dwarf_file_line_bytes(const Elf_Data *lines, uint64_t at)
{
	struct cursor c =
		lines && lines->d_buf ? cursor_of(lines->d_buf, lines->d_size) : cursor_of("", 0);
	uint64_t bytes;

	cursor_bytes(&c, at);
	bytes = cursor_u32(&c);
	/* A length of all bits: the 64-bit format, whose length follows. */
	if (bytes == UINT32_MAX)
		bytes = cursor_u64(&c);
	return c.bad ? UINT64_MAX : bytes;
}

/* The order is elfutils': what refers to the bytes goes before them. */
void dwarf_file_close(struct dwarf_file *f)
{
	if (f->dwarf)
		dwarf_end(f->dwarf);
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	debug_file_close(&f->separate);
	if (f->alternate)
		dwarf_file_close(f->alternate);
	free(f->alternate);
	free(f->left_out);
	*f = (struct dwarf_file){ .fd = -1 };
}
