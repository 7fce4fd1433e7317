/* SPDX-License-Identifier: MIT */
/* Any bytes as an ELF file: its functions, and what its DWARF says of an inlined name, and of
 * functions. */
#include <stdlib.h>

#include "sym/inlined.h"
#include "sym/arguments.h"
#include "sym/signatures.h"

static bool is_wanted(void *context, uint64_t vaddr)
{
	(void)context, (void)vaddr;
	return true;
}

/* Parses each prototype made of the debug information: prototype_parse() takes them all. */
static void check_arguments(const struct sym_arguments_list *l)
{
	for (size_t i = 0; i < l->at.n; i++) {
		const struct sym_arguments *a = &l->at.at[i];
		char *text = mem_printf("%s(%s)", a->returns, a->takes);
		struct prototype p;

		if (!prototype_parse(text, &p) || p.taken != a->locations.n)
			abort();
		free(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(const struct sym_module *m)
{
	for (size_t i = 0; i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];

		sym_name(m, f);
		if (sym_at(m, f->vaddr) != f || !sym_bytes(m, f->vaddr, f->size) ||
		    (i && f[-1].vaddr >= f->vaddr))
			abort();
	}
	for (size_t i = 1; i < m->code_refs.n; i++)
		if (m->code_refs.at[i - 1] >= m->code_refs.at[i])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct sym_module *m;
	struct sym_inlined in;
	struct sym_signatures signatures;
	struct sym_arguments_list arguments;
	struct err err = { 0 };
	const struct sym_base bases[] = { { (char[]){ "base" }, 8 } };
	const char *near[4];

	if (sym_open_bytes(bytes, n, "input", &m, &err))
		return 0;
	check(m);
	sym_nearest(m, "main", near, 4);
	if (!sym_inlined_find(m, "f", &in, &err))
		sym_inlined_free(&in);
	if (!sym_signatures_read(m, &signatures, &err))
		sym_signatures_free(&signatures);
	if (!sym_arguments_read(m, is_wanted, NULL, 1, &arguments, &err)) {
		check_arguments(&arguments);
		sym_arguments_free(&arguments);
	}
	if (!sym_arguments_taking(m, "node", bases, 1, &arguments, &err)) {
		check_arguments(&arguments);
		sym_arguments_free(&arguments);
	}
	sym_close(m);
	return 0;
}
