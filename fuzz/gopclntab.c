/* SPDX-License-Identifier: MIT */
/* Any bytes as Go's table of functions, in a program that is otherwise whole. The first byte says
 * which of the four headers is before them, and whether sections tell where the table is. */
#include "program.h"
#include "sym/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define NO_SECTIONS 4

static void check(const struct sym_module *m)
{
	for (size_t i = 0; i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];
		const char *name = sym_name(m, f);

		if (!sym_bytes(m, f->vaddr, f->size) || f->vaddr < PROGRAM_TEXT || f->vaddr + f->size > PROGRAM_DATA ||
		    (name && strlen(name) >= m->strings.n))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const uint8_t heads[4][8] = { { 0xfb, 0xff, 0xff, 0xff, 0, 0, 1, 8 }, { 0xfa, 0xff, 0xff, 0xff, 0, 0, 1, 8 },
					     { 0xf0, 0xff, 0xff, 0xff, 0, 0, 1, 8 }, { 0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8 } };
	uint8_t which = n ? data[0] : 0, *table, *program;
	size_t bytes = n ? n - 1 : 0, total;
	struct sym_module *m;
	struct err err;

	program = program_make(bytes + sizeof(heads[0]), 0, &table, &total);
	memcpy(table, heads[which & 3], sizeof(heads[0]));
	if (bytes)
		memcpy(table + sizeof(heads[0]), data + 1, bytes);
	if (which & NO_SECTIONS)
		((Elf64_Ehdr *)program)->e_shnum = 0;
	if (sym_open_bytes(program, total, "program", &m, &err) == 0) {
		check(m);
		sym_close(m);
	}
	free(program);
	return 0;
}
