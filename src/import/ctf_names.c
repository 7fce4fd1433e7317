/* SPDX-License-Identifier: MIT */
/* Called by ctf_text.c, on the command's thread. A trace has addresses alone: names come of the
 * file .functions beside its streams, which brace export writes, or of the binaries that its
 * statedump names, where this computer has the very same ones (their build-ids say so). */
#include "import/ctf_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"

#define MAPPINGS_MOST (1u << 16)
#define FILES_MOST 1024

static int by_begin(const void *a, const void *b)
{
	const struct ctf_symbol *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* A trace without the file is an ordinary one. Lines of another form are passed over. */
void ctf_names_read(struct ctf_names *n, const struct import_files *files)
{
	struct import_text text, line;
	struct err err;

	if (files->get(files->of, ".functions", &text, &err))
		return;
	while (n->symbols.n < IMPORT_SYMBOLS_MOST && import_line(&text, &line)) {
		struct import_text begin = import_word(&line), bytes = import_word(&line);
		struct ctf_symbol s = { .name = line };

		if (import_number(&begin, 16, &s.begin) && import_number(&bytes, 16, &s.bytes) &&
		    line.at < line.end)
			*vec_add(&n->symbols) = s;
	}
	if (n->symbols.n)
		qsort(n->symbols.at, n->symbols.n, sizeof(*n->symbols.at), by_begin);
}

void ctf_names_map(struct ctf_names *n, const struct ctf_mapping *m, struct import_text path)
{
	struct ctf_mapping *added;

	if (n->mappings.n >= MAPPINGS_MOST)
		return;
	added = vec_add(&n->mappings);
	*added = *m;
	added->path = import_copy(path);
}

struct ctf_mapping *ctf_names_at(struct ctf_names *n, uint32_t pid, uint64_t begin)
{
	for (size_t i = n->mappings.n; i--;)
		if (n->mappings.at[i].pid == pid && n->mappings.at[i].begin == begin)
			return &n->mappings.at[i];
	return NULL;
}

/* The symbol around an address; NULL: none is. */
static const struct ctf_symbol *symbol_at(const struct ctf_names *n, uint64_t address)
{
	const size_t low = vec_bisect(&n->symbols, s, s->begin <= address);

	if (!low || address - n->symbols.at[low - 1].begin >= n->symbols.at[low - 1].bytes)
		return NULL;
	return &n->symbols.at[low - 1];
}

/* Opened once. NULL: it cannot be read, or is not the file that the program ran. */
static const struct sym_module *module_of(struct ctf_names *n, const struct ctf_mapping *m)
{
	struct ctf_file *file;
	struct err err;

	for (size_t i = 0; i < n->files.n; i++)
		if (!strcmp(n->files.at[i].path, m->path))
			return n->files.at[i].module;
	if (n->files.n >= FILES_MOST)
		return NULL;
	file = vec_add(&n->files);
	*file = (struct ctf_file){ .path = mem_strdup(m->path) };
	if (sym_open(m->path, &file->module, &err)) {
		file->module = NULL;
	} else if (m->build_id_len &&
		   (m->build_id_len != file->module->build_id_len ||
		    memcmp(m->build_id, file->module->build_id, m->build_id_len))) {
		n->strange++;
		sym_close(file->module);
		file->module = NULL;
	}
	return file->module;
}

/* The last mapping that was told around an address; NULL: none was. */
static const struct ctf_mapping *mapping_around(const struct ctf_names *n, uint32_t pid,
						uint64_t address)
{
	for (size_t i = n->mappings.n; i--;) {
		const struct ctf_mapping *m = &n->mappings.at[i];

		if (m->pid == pid && address >= m->begin && address - m->begin < m->bytes)
			return m;
	}
	return NULL;
}

void ctf_names_find(struct ctf_names *n, uint32_t pid, uint64_t address, char **file, char **name)
{
	const struct ctf_symbol *symbol = symbol_at(n, address);
	const struct ctf_mapping *m = mapping_around(n, pid, address);
	const struct sym_module *module = !symbol && m ? module_of(n, m) : NULL;
	const struct sym_function *f =
		module ? sym_around(module, m->moved ? address - m->begin : address) : NULL;

	*file = mem_strdup(m && *m->path ? path_file_name(m->path) : "ctf");
	if (symbol)
		*name = import_copy(symbol->name);
	else if (f && sym_name(module, f))
		*name = mem_strdup(sym_name(module, f));
	else
		*name = mem_printf("0x%" PRIx64, address);
}

void ctf_names_free(struct ctf_names *n)
{
	for (size_t i = 0; i < n->mappings.n; i++)
		free(n->mappings.at[i].path);
	for (size_t i = 0; i < n->files.n; i++) {
		free(n->files.at[i].path);
		if (n->files.at[i].module)
			sym_close(n->files.at[i].module);
	}
	vec_free(&n->mappings);
	vec_free(&n->symbols);
	vec_free(&n->files);
}
