/* SPDX-License-Identifier: MIT */
/* Opens an ELF file and runs every reader of this folder over it. hook, ui and image call it, on
 * any thread; a module does not change afterwards. Everything in the file may be hostile: the
 * result is a module or an error with a sentence, never a crash. */
#include <errno.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/file.h"
#include "sym/coverage.h"
#include "sym/code_refs.h"
#include "sym/debug_file.h"
#include "sym/functions.h"
#include "sym/patch_maps.h"

/* Copies what callers want to know of the loadable segments. */
static void read_segments(struct sym_module *m, const struct elf_view *v)
{
	for (size_t i = 0; i < v->phdrs.n; i++) {
		const Elf64_Phdr *p = &v->phdrs.at[i];

		if (p->p_type == PT_LOAD)
			*vec_add(&m->segments) = (struct sym_segment){ .vaddr = p->p_vaddr,
								       .size = p->p_memsz,
								       .offset = p->p_offset,
								       .filesz = p->p_filesz,
								       .exec = p->p_flags & PF_X,
								       .write = p->p_flags & PF_W };
	}
}

/* Copies the loader's path. mem_strndup() ends it at its NUL, or at the segment's end. */
static void read_interp(struct sym_module *m, const struct elf_view *v)
{
	const Elf64_Phdr *p = elf_find_phdr(v, PT_INTERP);

	if (p && p->p_filesz && p->p_offset < v->n && p->p_filesz <= v->n - p->p_offset)
		m->interp = mem_strndup((const char *)v->bytes + p->p_offset, p->p_filesz);
}

#define NEEDED_MOST 4096 /* libraries; chromium's largest build has some five hundred */

/* Copies the names of the libraries that the loader loads with this file. Each is bounded by
 * PATH_MAX, and so is their number: entries of 16 bytes may all name the same 4 KiB. */
static void read_needed(struct sym_module *m, const struct elf_view *v)
{
	const Elf64_Phdr *p = elf_find_phdr(v, PT_DYNAMIC);
	struct cursor c = elf_from(v, p ? p->p_vaddr : 0), strings = elf_from(v, v->dynamic.strtab);
	uint64_t left = p ? p->p_filesz : 0;

	for (; left >= 16 && !c.bad && m->needed.n < NEEDED_MOST; left -= 16) {
		uint64_t tag = cursor_u64(&c), value = cursor_u64(&c);
		struct cursor name = strings;

		if (tag == DT_NULL)
			break;
		if (tag != DT_NEEDED || !cursor_bytes(&name, value))
			continue;
		if (memchr(name.at, 0, cursor_left(&name) < 4096 ? cursor_left(&name) : 4096))
			*vec_add(&m->needed) = mem_strdup((const char *)name.at);
	}
}

/* A debug file must stay until its names are copied by the merge. */
static void read_functions(struct sym_module *m, const struct elf_view *v,
			   const struct eh_frame *frame)
{
	struct elf_symtab symtab = elf_symtab(v), dynsym = elf_dynsym(v);
	struct debug_file debug = { 0 };
	struct elf_view debug_view = { 0 };
	struct found_list found = { 0 };

	found_symbols(v, &symtab, SYM_SYMTAB, &found);
	/* Only a stripped file needs the debug file's symbols. */
	if (!symtab.n && m->root && debug_file_open(v, m->path, m->root, &debug) &&
	    !elf_view_tables(&debug_view, debug.file.bytes, debug.file.n, debug.path, NULL)) {
		symtab = elf_symtab(&debug_view);
		found.debug_bytes = debug.file.n;
		found_symbols(v, &symtab, SYM_DEBUGFILE, &found);
	}
	found_symbols(v, &dynsym, SYM_DYNSYM, &found);
	found_fdes(v, frame, m->patchable.n > 0, &found);
	if (gopclntab_find(v, &found))
		m->language = SYM_LANG_GO;
	found_entries(v, &found);
	plt_find(v, &found);
	found.symtab = symtab;
	found.dynsym = dynsym;
	functions_merge(m, v, frame, &found);
	vec_free(&found.list);
	vec_free(&found.resolvers);
	elf_view_free(&debug_view);
	debug_file_close(&debug);
}

/* Keeps the references as a sorted list, which is much smaller than the bitmaps. */
static void list_refs(struct sym_module *m, const struct code_set *refs)
{
	size_t n = code_set_count(refs);

	vec_reserve(&m->code_refs, n);
	code_set_list(refs, m->code_refs.at);
	m->code_refs.n = n;
}

/* Finds the functions. The order matters: unwind tables, functions, references, and then the cold
 * fragments, which need all of them. */
static void read_code(struct sym_module *m, const struct elf_view *v)
{
	struct elf_symtab dynsym = elf_dynsym(v);
	struct code_set refs = code_set_new(v), pads = code_set_new(v);
	struct eh_frame frame;

	eh_frame_read(v, &frame);
	read_functions(m, v, &frame);
	code_refs_find(v, &dynsym, &refs);
	eh_frame_landing_pads(v, &frame, &pads);
	functions_mark_cold(m, v, &frame, &refs, &pads);
	/* Landing pads count as references only after the cold fragments are marked, which they
	 * prove. */
	code_set_join(&refs, &pads);
	list_refs(m, &refs);
	eh_frame_free(&frame);
	code_set_free(&refs);
	code_set_free(&pads);
}

/* Runs all readers. Only elf_view_image() can fail: a reader above it that finds nonsense finds
 * less. Nor is what they found of use when the caller's wait is over (aside_until): some have then
 * stopped early. */
static int read_module(struct sym_module *m, struct err *err)
{
	struct elf_view v = { 0 };
	int r = elf_view_image(&v, m->bytes, m->n_bytes, m->path, err);

	if (!r) {
		m->e_type = v.header.e_type;
		m->entry = v.header.e_entry;
		/* Offset 0 of the strings means no name. */
		*vec_add(&m->strings) = 0;
		read_segments(m, &v);
		read_interp(m, &v);
		m->build_id_len = elf_build_id(&v, m->build_id, sizeof(m->build_id));
		read_needed(m, &v);
		patch_maps_read(m, &v);
		read_code(m, &v);
		coverage_read(m, &v);
	}
	elf_view_free(&v);
	if (!r && aside_is_over())
		r = err_set(err, ECANCELED, "interrupted while %s was read", m->path);
	return r;
}

/* Gives the module out, or closes it if r is an error. */
static int finish_module(struct sym_module *m, int r, struct sym_module **out)
{
	if (r) {
		sym_close(m);
		m = NULL;
	}
	*out = m;
	return r;
}

int sym_open_fd(int fd, const char *path, const char *root, struct sym_module **out,
		struct err *err)
{
	struct sym_module *m = mem_zalloc(sizeof(*m));
	int r;

	m->path = mem_strdup(path);
	m->root = mem_strdup(root);
	r = elf_file_read(fd, path, ELF_CONTENTS, &m->file, err);
	m->bytes = m->file.bytes;
	m->n_bytes = m->file.n;
	return finish_module(m, r ? r : read_module(m, err), out);
}

int sym_open(const char *path, struct sym_module **out, struct err *err)
{
	int fd = file_open(path, err), r;

	if (fd < 0)
		return finish_module(NULL, fd, out);
	r = sym_open_fd(fd, path, "", out, err);
	close(fd);
	return r;
}

/* The bytes stay the caller's, and must outlive the module: there is no file to free. */
int sym_open_bytes(const uint8_t *bytes, size_t n, const char *name, struct sym_module **out,
		   struct err *err)
{
	struct sym_module *m = mem_zalloc(sizeof(*m));

	m->path = mem_strdup(name);
	m->bytes = bytes;
	m->n_bytes = n;
	return finish_module(m, read_module(m, err), out);
}

void sym_close(struct sym_module *m)
{
	if (!m)
		return;
	elf_file_free(&m->file);
	for (size_t i = 0; i < m->needed.n; i++)
		free(m->needed.at[i]);
	free(m->path);
	free(m->root);
	free(m->interp);
	vec_free(&m->segments);
	vec_free(&m->functions);
	vec_free(&m->strings);
	vec_free(&m->needed);
	vec_free(&m->patchable);
	vec_free(&m->mcount_loc);
	vec_free(&m->xray_sleds);
	vec_free(&m->code_refs);
	free(m);
}

const char *sym_name(const struct sym_module *m, const struct sym_function *f)
{
	return f->name ? m->strings.at + f->name : NULL;
}

/* Returns how many functions begin at or before vaddr. */
static size_t count_until(const struct sym_module *m, uint64_t vaddr)
{
	return vec_bisect(&m->functions, f, f->vaddr <= vaddr);
}

const struct sym_function *sym_at(const struct sym_module *m, uint64_t vaddr)
{
	size_t n = count_until(m, vaddr);

	return n && m->functions.at[n - 1].vaddr == vaddr ? &m->functions.at[n - 1] : NULL;
}

/* Assembly has functions inside of functions: the nearest one that reaches so far. */
const struct sym_function *sym_around(const struct sym_module *m, uint64_t vaddr)
{
	size_t n = count_until(m, vaddr);

	for (size_t back = 1; back <= 8 && back <= n; back++) {
		const struct sym_function *f = &m->functions.at[n - back];

		if (vaddr - f->vaddr < f->size)
			return f;
	}
	return NULL;
}

bool sym_code_offset(const struct sym_module *m, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < m->segments.n; i++) {
		const struct sym_segment *s = &m->segments.at[i];

		if (s->exec && vaddr - s->vaddr < s->filesz) {
			*offset = vaddr - s->vaddr + s->offset;
			return true;
		}
	}
	return false;
}

bool sym_code_vaddr(const struct sym_module *m, uint64_t offset, uint64_t *vaddr)
{
	for (size_t i = 0; i < m->segments.n; i++) {
		const struct sym_segment *s = &m->segments.at[i];

		if (s->exec && offset >= s->offset && offset - s->offset < s->filesz) {
			*vaddr = s->vaddr + (offset - s->offset);
			return true;
		}
	}
	return false;
}

/* NULL also for bytes that only the memory has (.bss): they are beyond filesz. */
const uint8_t *sym_bytes(const struct sym_module *m, uint64_t vaddr, size_t n)
{
	for (size_t i = 0; i < m->segments.n; i++) {
		const struct sym_segment *s = &m->segments.at[i];
		uint64_t into = vaddr - s->vaddr;

		if (into < s->filesz && n <= s->filesz - into)
			return m->bytes + s->offset + into;
	}
	return NULL;
}
