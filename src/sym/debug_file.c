/* SPDX-License-Identifier: MIT */
/* Finds the separate debug file of a stripped program. module.c takes symbols from it, dwarf_file.c
 * the debug information, file_key.c watches the places. A debug file that is absent or of another
 * build is passed over in silence: most programs have none. Any thread. */
#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "sym/debug_file.h"
#include "sym/elf_view.h"

#define DEBUG_ROOT "/usr/lib/debug"

/* The checksum of .gnu_debuglink: zlib's CRC-32. */
static uint32_t crc32(const uint8_t *p, size_t n)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (size_t i = 0; i < n; i++)
		crc = crc >> 8 ^ table[(crc ^ p[i]) & 0xff];
	return ~crc;
}

/* The checksum covers all of the file. */
static bool has_crc(const char *path, uint32_t crc)
{
	struct elf_file whole;
	bool has;

	if (elf_file_read_path(path, ELF_WHOLE, &whole, NULL))
		return false;
	has = crc32(whole.bytes, whole.n) == crc;
	elf_file_free(&whole);
	return has;
}

/* True if f is the debug file of v. Without a build-id in v the link's checksum decides. */
static bool belongs_to(const struct elf_view *v, const struct debug_file *f, const uint32_t *crc)
{
	struct elf_view other = { 0 };
	size_t n = 0, other_n = 0;
	const uint8_t *id = elf_gnu_note(v, NT_GNU_BUILD_ID, &n), *other_id;
	bool same = false;

	if (!elf_view_tables(&other, f->file.bytes, f->file.n, f->path, NULL)) {
		other_id = elf_gnu_note(&other, NT_GNU_BUILD_ID, &other_n);
		if (id)
			same = other_id && n == other_n && !memcmp(id, other_id, n);
		else
			same = crc && has_crc(f->path, *crc);
	}
	elf_view_free(&other);
	return same;
}

/* --- the places --- */

/* A build-id is the same everywhere, so a file below brace's own root is as good as one below the
 * program's. */
static bool by_build_id(const struct elf_view *v, const char *root, debug_file_path *f,
			void *context)
{
	size_t n = 0;
	const uint8_t *id = elf_gnu_note(v, NT_GNU_BUILD_ID, &n);
	char hex[2 * 64 + 1] = "", path[PATH_MAX];
	bool found;

	if (!id || n < 2 || n > 64)
		return false;
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	snprintf(path, sizeof(path), "%s" DEBUG_ROOT "/.build-id/%.2s/%s.debug", root, hex,
		 hex + 2);
	found = f(context, path, NULL);
	return found || !*root ? found : f(context, path + strlen(root), NULL);
}

/* Below another root links cannot be resolved from here, and the kernel told the path without links
 * already. */
static bool real_path(const char *program, const char *root, char *out)
{
	if (!*root)
		return file_real_path(program, out);
	return snprintf(out, PATH_MAX, "%s", program) < PATH_MAX && strchr(out, '/');
}

/* Offers the places where gdb, too, looks for the name in .gnu_debuglink: beside the program, in
 * .debug, below /usr/lib/debug. */
static bool by_link(const struct elf_view *v, const char *program, const char *root,
		    debug_file_path *f, void *context)
{
	static const char *const places[][2] = { { "", "/" },
						 { "", "/.debug/" },
						 { DEBUG_ROOT, "/" } };
	const struct elf_section *s = elf_find_section(v, ".gnu_debuglink");
	struct cursor c = elf_cursor(v, s ? s->bytes : NULL, s ? s->size : 0);
	const char *name = cursor_str(&c);
	char real[PATH_MAX];
	bool found = false;
	uint32_t crc;

	if (!name || !*name || strchr(name, '/') || !real_path(program, root, real))
		return false;
	/* The checksum is aligned to 4 bytes. */
	cursor_bytes(&c, cursor_left(&c) & 3);
	crc = cursor_u32(&c);
	*strrchr(real, '/') = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !c.bad && !found; i++) {
		char *path = mem_printf("%s%s%s%s%s", root, places[i][0], real, places[i][1], name);

		found = f(context, path, &crc);
		free(path);
	}
	return found;
}

/* By the build-id first, since a name may lead to another build. */
void debug_file_paths(const struct elf_view *v, const char *program, const char *root,
		      debug_file_path *f, void *context)
{
	if (!by_build_id(v, root, f, context))
		by_link(v, program, root, f, context);
}

/* --- the file that is taken --- */

struct debug_search { const struct elf_view *v; struct debug_file *out; };

/* Takes the file at the place if it is the debug file; else the search goes on. */
static bool try_file(void *context, const char *path, const uint32_t *crc)
{
	const struct debug_search *s = context;
	const struct elf_view *v = s->v;
	struct debug_file *out = s->out;

	*out = (struct debug_file){ 0 };
	if (elf_file_read_path(path, ELF_SYMBOLS, &out->file, NULL))
		return false;
	out->path = mem_strdup(path);
	/* A debuglink may name the program itself: equal size and begin rule that out. */
	if ((out->file.n != v->n || memcmp(out->file.bytes, v->bytes, v->n < 4096 ? v->n : 4096)) &&
	    belongs_to(v, out, crc))
		return true;
	debug_file_close(out);
	return false;
}

/* False: no such file fits. */
bool debug_file_open(const struct elf_view *v, const char *program, const char *root,
		     struct debug_file *out)
{
	struct debug_search s = { v, out };

	*out = (struct debug_file){ 0 };
	debug_file_paths(v, program, root, try_file, &s);
	return out->path != NULL;
}

void debug_file_close(struct debug_file *f)
{
	elf_file_free(&f->file);
	free(f->path);
	*f = (struct debug_file){ 0 };
}
