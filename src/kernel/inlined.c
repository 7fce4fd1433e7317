/* SPDX-License-Identifier: MIT */
/* Asked by functions.c for one name that the kernel refused, on brace's one thread. A file of
 * another build would tell of other functions, so that its build id is compared. */
#include "kernel/inlined.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "kernel/tracefs.h"
#include "sym/inlined.h"

/* Where distributions have it: before and behind the release. */
static const struct { const char *before, *behind; } places[] = {
	{ "/usr/lib/debug/boot/vmlinux-", "" },
	{ "/usr/lib/debug/lib/modules/", "/vmlinux" },
	{ "/lib/modules/", "/vmlinux" },
	{ "/lib/modules/", "/build/vmlinux" },
	{ "/boot/vmlinux-", "" },
};

static size_t padded(uint32_t n) { return ((size_t)n + 3) & ~(size_t)3; }

/* The notes are those of an ELF file: name, description, type, each padded to 4 bytes. */
static bool notes_have(const uint8_t *notes, size_t n, const uint8_t *id, size_t id_n)
{
	struct cursor at = cursor_of(notes, n);

	while (cursor_left(&at) >= 12 && !at.bad) {
		const uint32_t name_n = cursor_u32(&at), bytes_n = cursor_u32(&at);
		const uint32_t type = cursor_u32(&at);
		const uint8_t *bytes;

		cursor_bytes(&at, padded(name_n));
		bytes = cursor_bytes(&at, padded(bytes_n));
		if (type == NT_GNU_BUILD_ID && bytes && bytes_n == id_n && !memcmp(bytes, id, id_n))
			return true;
	}
	return false;
}

/* A file of the same release may be of another build, and its lines be wrong: the build id
 * decides. */
static bool is_the_running(const char *path)
{
	uint8_t *notes;
	struct sym_module *m;
	struct err ignored;
	size_t n;
	bool is;

	if (sym_open(path, &m, &ignored))
		return false;
	notes = (uint8_t *)kernel_tracefs_bytes("/sys/kernel", "notes", &n);
	is = notes && m->build_id_len && notes_have(notes, n, m->build_id, m->build_id_len);
	free(notes);
	sym_close(m);
	return is;
}

char *kernel_inlined_file(void)
{
	struct utsname u;

	uname(&u);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *path = mem_printf("%s%s%s", places[i].before, u.release, places[i].behind);

		if (access(path, R_OK) == 0 && is_the_running(path))
			return path;
		free(path);
	}
	return NULL;
}

/* A function may be inlined in hundreds of places: one is named, and of others the number. For
 * free(). */
static char *describe_copies(const struct sym_inlined *in)
{
	const struct sym_inline_copy *first = NULL;
	size_t others = 0;

	for (size_t i = 0; i < in->copies.n; i++) {
		const struct sym_inline_copy *c = &in->copies.at[i];

		if (!first && c->caller)
			first = c;
		else if (first && c->caller && strcmp(c->caller, first->caller))
			others++;
	}
	if (!first)
		return NULL;
	if (!others)
		return mem_printf("inlined into %s (%s:%u)", first->caller,
				  first->file ? first->file : "?", first->line);
	return mem_printf("inlined into %s (%s:%u) and, in %zu more places, others", first->caller,
			  first->file ? first->file : "?", first->line, others);
}

/* No error is told: without an answer the caller looks for another explanation. */
char *kernel_inlined_into(const char *file, const char *name)
{
	struct sym_inlined in;
	struct sym_module *m;
	char *text = NULL;
	struct err ignored;

	if (sym_open(file, &m, &ignored))
		return NULL;
	if (!sym_inlined_find(m, name, &in, &ignored)) {
		text = describe_copies(&in);
		sym_inlined_free(&in);
	}
	sym_close(m);
	return text;
}
