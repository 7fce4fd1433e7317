/* SPDX-License-Identifier: MIT */
/* Looks functions up by names with parameters, templates or operators. Every mangled symbol of the
 * module is demangled, some microseconds each. Called for probes and histograms, on the thread that
 * has the text. A name that several functions have is -ENOTUNIQ with all of them. */
#include "sym/named.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "sym/usdt.h"

#define SHOWN_MOST 3u /* overloads that an error names */

static bool is_spelled(const char *symbol, const char *name)
{
	struct demangle_spellings s;
	bool is = false;

	demangle_spell(symbol, &s);
	for (unsigned i = 0; i < s.n; i++)
		is |= !strcmp(s.at[i], name);
	demangle_spellings_free(&s);
	return is;
}

/* Writes "a, b and 3 more" of the functions that bear the name. */
static int refuse(const struct sym_module *m, const char *name, const char *const *symbols,
		  unsigned n, struct err *err)
{
	unsigned shown = n < SHOWN_MOST ? n : SHOWN_MOST;
	char *text, more[32] = "";
	size_t bytes;
	FILE *to = mem_stream(&text, &bytes);

	for (unsigned i = 0; i < shown; i++) {
		char *whole = demangle_text(symbols[i], 1);

		fprintf(to, "%s%s", i ? ", " : "", whole);
		free(whole);
	}
	mem_stream_close(to, &text);
	if (n > shown)
		snprintf(more, sizeof(more), " and %u more", n - shown);
	err_set(err, ENOTUNIQ, "%s has %u functions of the name %s: write one with its parameters: "
		"%s%s", m->path, n, name, text, more);
	free(text);
	return -ENOTUNIQ;
}

int sym_named_find(const struct sym_module *m, const char *name, struct sym_named *out,
		   struct err *err)
{
	const char *symbols[SHOWN_MOST];
	unsigned n = 0;

	*out = (struct sym_named){ .symbol = name };
	if (sym_object(m, name, strlen(name), &out->vaddr))
		return 1;
	for (size_t i = 0; i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];
		const char *symbol = f->plt || f->cold ? NULL : sym_name(m, f);

		if (!symbol || !is_spelled(symbol, name))
			continue;
		if (n < SHOWN_MOST)
			symbols[n] = symbol;
		if (!n++)
			*out = (struct sym_named){ f->vaddr, symbol };
	}
	return n < 2 ? (int)n : refuse(m, name, symbols, n, err);
}
