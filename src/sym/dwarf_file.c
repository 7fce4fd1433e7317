/* See dwarf_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sym/dwarf_file.h"
#include "sym/elf_view.h"

static bool has_debug_info(const struct elf_view *v)
{
	return elf_find_section(v, ".debug_info") || elf_find_section(v, ".zdebug_info");
}

/* Puts the bytes that hold the debug information into *bytes, *n; false: there are none. */
static bool find_bytes(const struct sym_module *m, struct dwarf_file *f, const uint8_t **bytes, size_t *n)
{
	struct elf_view v = { 0 }, separate = { 0 };
	bool found = false;

	*bytes = m->bytes;
	*n = m->n_bytes;
	if (!elf_view_tables(&v, m->bytes, m->n_bytes, m->path, NULL)) {
		found = has_debug_info(&v);
		if (!found && m->file.bytes && debug_file_open(&v, m->path, "", &f->separate) &&
		    !elf_view_tables(&separate, f->separate.file.bytes, f->separate.file.n, "", NULL)) {
			found = has_debug_info(&separate);
			*bytes = f->separate.file.bytes;
			*n = f->separate.file.n;
		}
	}
	elf_view_free(&v);
	elf_view_free(&separate);
	return found;
}

/* From a descriptor, not from memory, where there is one: elfutils then finds what
 * .gnu_debugaltlink and split units name, relative to the file. */
static Elf *open_elf(struct dwarf_file *f, const struct sym_module *m, const uint8_t *bytes, size_t n)
{
	if (!m->file.bytes)
		return elf_memory((char *)bytes, n);
	f->fd = open(f->separate.path ? f->separate.path : m->path, O_RDONLY | O_CLOEXEC);
	return f->fd < 0 ? NULL : elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
}

int dwarf_file_open(const struct sym_module *m, struct dwarf_file *out, struct err *err)
{
	const uint8_t *bytes;
	size_t n;

	*out = (struct dwarf_file){ .fd = -1 };
	if (!find_bytes(m, out, &bytes, &n)) {
		dwarf_file_close(out);
		return 0;
	}
	elf_version(EV_CURRENT);
	out->elf = open_elf(out, m, bytes, n);
	out->dwarf = out->elf ? dwarf_begin_elf(out->elf, DWARF_C_READ, NULL) : NULL;
	if (out->dwarf)
		return 0;
	err_set(err, EBADMSG, "the debug information of %s cannot be read: %s",
		out->separate.path ? out->separate.path : m->path, dwarf_errmsg(-1));
	dwarf_file_close(out);
	return -EBADMSG;
}

void dwarf_file_close(struct dwarf_file *f)
{
	if (f->dwarf)
		dwarf_end(f->dwarf);
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	debug_file_close(&f->separate);
	*f = (struct dwarf_file){ .fd = -1 };
}
