/* SPDX-License-Identifier: MIT */
/* Called on the command's thread. A program's file is untrusted: every offset is compared with its
 * size. To attach, the section, its name and a new table of sections are written behind the file's
 * end; the header then points there. The section begins with the file's old size and table, by
 * which detaching undoes that. */
#include "config/attached.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/new_file.h"
#include "base/write_all.h"

#define NAME ".brace.config"
#define MAGIC "BRACECF1"
#define NAMES_MAX (UINT64_C(1) << 26) /* bytes of names of sections */

/* The section's first bytes. */
struct attached_origin { char magic[8]; uint64_t bytes, table; };

struct program {
	const char *path;
	int fd;
	uint64_t bytes;
	Elf64_Ehdr header;
	Elf64_Shdr *table;       /* header.e_shnum of them */
	char *names;             /* NUL behind its end */
	unsigned at;             /* the configuration's section; 0: none */
	struct attached_origin origin;    /* of it */
};

/* Any other file is read as the text of a configuration. */
bool attached_is_program(const char *bytes, size_t n)
{
	return n >= SELFMAG && !memcmp(bytes, ELFMAG, SELFMAG);
}

/* Returns -EINVAL: `what` of the file cannot be what it says. */
static int damaged(const struct program *p, const char *what, struct err *err)
{
	return err_set(err, EINVAL, "%s: its %s cannot be read: no configuration can be attached to it "
		       "or found in it", p->path, what);
}

/* Reads n bytes at `at`, all or none. False: they are not all in the file, as it was when it was
 * opened. */
static bool read_at(const struct program *p, uint64_t at, void *to, uint64_t n)
{
	return at <= p->bytes && n <= p->bytes - at &&
	       pread(p->fd, to, n, (off_t)at) == (ssize_t)n;
}

/* --- reading --------------------------------------------------------------------------------- */

/* The header, the table of sections and their names. A file without sections cannot have a
 * configuration attached: there is no table to grow. */
static int read_tables(struct program *p, struct err *err)
{
	const Elf64_Ehdr *h = &p->header;
	const Elf64_Shdr *names;
	uint64_t n;

	if (!read_at(p, 0, &p->header, sizeof(p->header)) || !h->e_shnum ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    h->e_shentsize != sizeof(*p->table) || h->e_shstrndx >= h->e_shnum)
		return damaged(p, "64-bit ELF header with sections", err);
	n = h->e_shnum * sizeof(*p->table);
	p->table = mem_zalloc(n);
	if (!read_at(p, h->e_shoff, p->table, n))
		return damaged(p, "table of sections", err);
	names = &p->table[h->e_shstrndx];
	if (names->sh_size > NAMES_MAX)
		return damaged(p, "names of sections", err);
	p->names = mem_zalloc(names->sh_size + 1);
	if (!read_at(p, names->sh_offset, p->names, names->sh_size))
		return damaged(p, "names of sections", err);
	return 0;
}

/* Finds the configuration by the section's name, and by the magic that its bytes begin with: the
 * name alone may be anybody's. A section that is cut short is none. */
static void find_section(struct program *p)
{
	const uint64_t size = p->table[p->header.e_shstrndx].sh_size;

	for (unsigned i = 1; i < p->header.e_shnum && !p->at; i++) {
		const Elf64_Shdr *s = &p->table[i];

		if (s->sh_name < size && !strcmp(p->names + s->sh_name, NAME) &&
		    s->sh_size >= sizeof(p->origin) &&
		    read_at(p, s->sh_offset, &p->origin, sizeof(p->origin)) &&
		    !memcmp(p->origin.magic, MAGIC, sizeof(p->origin.magic)))
			p->at = i;
	}
}

/* 0, or -EINVAL and *err; free_program() in any case. */
static int read_program(struct program *p, struct err *err)
{
	struct stat st;
	int e;

	if (fstat(p->fd, &st))
		return err_set(err, errno, "%s: %s", p->path, strerror(errno));
	p->bytes = (uint64_t)st.st_size;
	e = read_tables(p, err);
	if (!e)
		find_section(p);
	return e;
}

static void free_program(struct program *p)
{
	free(p->table);
	free(p->names);
}

/* Returns the number of bytes. The program's file stays as it is. */
int attached_read(int fd, const char *path, char *bytes, size_t size, struct err *err)
{
	struct program p = { .path = path, .fd = fd };
	int e = read_program(&p, err);
	uint64_t n = 0;

	if (!e && !p.at)
		e = err_set(err, ENOENT, "%s is a program without a configuration; `brace config --attach FILE "
			    "%s` attaches one", path, path);
	if (!e) {
		n = p.table[p.at].sh_size - sizeof(p.origin);
		if (n > size || !read_at(&p, p.table[p.at].sh_offset + sizeof(p.origin), bytes, n))
			e = damaged(&p, "section " NAME, err);
	}
	free_program(&p);
	return e ? e : (int)n;
}

/* --- writing --------------------------------------------------------------------------------- */

/* The first n bytes of the program's file, a part at a time. 0, or -errno. */
static int copy_bytes(const struct program *p, int to, uint64_t n)
{
	char bytes[1 << 16];
	uint64_t at = 0;

	while (at < n) {
		uint64_t part = n - at < sizeof(bytes) ? n - at : sizeof(bytes);

		if (!read_at(p, at, bytes, part))
			return -EIO;
		if (write_all(to, bytes, part))
			return -errno;
		at += part;
	}
	return 0;
}

/* Whether the file is as attached_write() left it: the section is the last one, and its bytes begin
 * behind the old file. */
static bool can_undo(const struct program *p)
{
	const struct attached_origin *o = &p->origin;
	const uint64_t n = (uint64_t)(p->header.e_shnum - 1) * sizeof(*p->table);

	return p->at && p->at + 1u == p->header.e_shnum && o->bytes < p->bytes &&
	       p->table[p->at].sh_offset == o->bytes && o->table <= o->bytes &&
	       n <= o->bytes - o->table;
}

/* The file as it was before: p is then of that file's contents. */
static int undo_attaching(struct program *p, struct err *err)
{
	p->bytes = p->origin.bytes;
	p->header.e_shoff = p->origin.table;
	p->header.e_shnum--;
	if (p->header.e_shstrndx >= p->header.e_shnum ||
	    !read_at(p, p->header.e_shoff, p->table, p->header.e_shnum * sizeof(*p->table)))
		return damaged(p, "table of sections", err);
	p->at = 0;
	return 0;
}

/* Writes the section's bytes, the names and the table behind the file's end. */
static int append_section(struct program *p, int to, const char *bytes, size_t n)
{
	struct attached_origin origin = { MAGIC, p->bytes, p->header.e_shoff };
	const unsigned count = p->header.e_shnum + !p->at;
	Elf64_Shdr *table = mem_zalloc(count * sizeof(*table)), *names, *own;
	uint64_t at = p->bytes, size;
	int e;

	memcpy(table, p->table, p->header.e_shnum * sizeof(*table));
	names = &table[p->header.e_shstrndx];
	size = names->sh_size;
	own = &table[p->at ? p->at : count - 1];
	*own = (Elf64_Shdr){ .sh_name = p->at ? own->sh_name : (Elf64_Word)size,
			     .sh_type = SHT_PROGBITS, .sh_offset = at,
			     .sh_size = sizeof(origin) + n, .sh_addralign = 1 };
	at += own->sh_size;
	e = write_all(to, &origin, sizeof(origin));
	e = e ? e : write_all(to, bytes, n);
	if (!p->at) {
		names->sh_offset = at;
		names->sh_size = size + sizeof(NAME);
		e = e ? e : write_all(to, p->names, size);
		e = e ? e : write_all(to, NAME, sizeof(NAME));
		at += names->sh_size;
	}
	e = e ? e : write_all(to, "\0\0\0\0\0\0\0", -at % 8);
	e = e ? e : write_all(to, table, count * sizeof(*table));
	p->header.e_shoff = at + -at % 8;
	p->header.e_shnum = (Elf64_Half)count;
	free(table);
	return e;
}

/* Behind a strip(1), say, the section stays, without bytes and without a meaning. */
static int forget_section(struct program *p, int to)
{
	const Elf64_Shdr none = { .sh_type = SHT_NULL };
	const uint64_t at = p->header.e_shoff + p->at * sizeof(none);

	return pwrite(to, &none, sizeof(none), (off_t)at) == sizeof(none) ? 0 : -errno;
}

/* The file without the section that it had, then with the new one, if there are bytes (n). Its
 * mode stays; owner and times are new. */
static int write_program(struct program *p, int to, const char *bytes, size_t n, struct err *err)
{
	const bool undone = can_undo(p);
	struct stat st;
	int e = undone ? undo_attaching(p, err) : 0;

	if (e)
		return e;
	e = copy_bytes(p, to, p->bytes);
	if (!e && n)
		e = append_section(p, to, bytes, n);
	else if (!e && !undone)
		e = forget_section(p, to);
	if (!e && pwrite(to, &p->header, sizeof(p->header), 0) != sizeof(p->header))
		e = -errno;
	if (!e && (fstat(p->fd, &st) || fchmod(to, st.st_mode & 0777)))
		e = -errno;
	return e ? err_set(err, -e, "%s cannot be written: %s", p->path, strerror(-e)) : 0;
}

/* n 0: detaches. The new file takes the old one's place when it is whole. */
int attached_write(const char *path, const char *bytes, size_t n, struct err *err)
{
	struct program p = { .path = path, .fd = file_open(path, err) };
	struct whole_file file;
	struct err ignored;
	int e, to;

	if (p.fd < 0)
		return p.fd;
	e = read_program(&p, err);
	if (!e && !n && !p.at)
		e = err_set(err, ENOENT, "%s is a program without a configuration", path);
	if (!e) {
		to = new_file_begin(&file, path, "program", err);
		e = to < 0 ? to : write_program(&p, to, bytes, n, err);
		if (to >= 0 && new_file_end(&file, !e, e ? &ignored : err))
			e = e ? e : -err->code;
	}
	free_program(&p);
	close(p.fd);
	return e;
}
