/* SPDX-License-Identifier: MIT */
/* Demangles all names of a module once to find those that occur twice. Reports call it when they
 * print a name. A name that several functions have is told with ever more: parameters, what the
 * compiler has of them, the symbol, the address. Only names that occurred twice are looked at
 * again, so that C costs a hash each. */
#include "trace/overloads.h"

#include <inttypes.h>
#include <string.h>

#include "base/demangle.h"
#include "base/demangle_schemes.h"
#include "base/mem.h"

/* "": the function has no name. */
static const char *symbol_of(const struct trace_module *m, const struct trace_function *f)
{
	return f->name && f->name < m->strings.n ? m->strings.at + f->name : "";
}

/* The text of one level, for the caller to free. */
static char *text_at(const struct overloads_of *o, const char *symbol, unsigned level)
{
	static int (*const by_level[OVERLOADS_LEVELS])(const char *, char *, size_t) = {
		demangle_plain, demangle_whole, demangle_full, NULL,
	};
	bool ada = o->ada && level % 2 == 0 && !demangle_is_mangled(symbol);
	char *text = ada ? demangle_ada(symbol) : NULL;
	size_t n;

	if (text || !by_level[level])
		return text ? text : mem_strdup(symbol);
	n = (size_t)by_level[level](symbol, NULL, 0) + 1;
	text = mem_zalloc(n);
	by_level[level](symbol, text, n);
	return text;
}

/* Adds the names that occurred twice on all levels before to this level's. */
static void collect_level(struct overloads_of *o, const struct trace_module *m, unsigned level)
{
	for (size_t i = 0; i < m->functions.n; i++) {
		const struct trace_function *f = &m->functions.at[i];
		const char *symbol = symbol_of(m, f);
		bool met = *symbol && !(f->flags & TRACE_FUNCTION_PLT);

		for (unsigned before = 0; met && before < level; before++) {
			char *text = text_at(o, symbol, before);

			met = doubles_have(&o->at[before], text);
			free(text);
		}
		if (met) {
			char *text = text_at(o, symbol, level);

			doubles_add(&o->at[level], text);
			free(text);
		}
	}
	doubles_keep(&o->at[level]);
}

/* PLT entries are told by the file that they lead to. */
static void collect_names(struct overloads_of *o, const struct trace_module *m)
{
	o->functions = m->functions.at;
	o->n = m->functions.n;
	for (size_t i = 0; i < m->functions.n && !o->ada; i++)
		o->ada = demangle_tells_ada(symbol_of(m, &m->functions.at[i]));
	for (unsigned level = 0; level < OVERLOADS_LEVELS; level++) {
		collect_level(o, m, level);
		if (!o->at[level].hashes.n)
			break;
	}
}

/* The module's entry, made anew if functions were added (the array moved or grew). */
static const struct overloads_of *of_module(struct overloads *o, const struct trace_module *m)
{
	for (size_t i = 0; i < o->modules.n; i++)
		if (o->modules.at[i].functions == m->functions.at &&
		    o->modules.at[i].n == m->functions.n)
			return &o->modules.at[i];
	*vec_add(&o->modules) = (struct overloads_of){ 0 };
	collect_names(&o->modules.at[o->modules.n - 1], m);
	return &o->modules.at[o->modules.n - 1];
}

/* The level that the user wants at least. */
static unsigned first_level(void)
{
	static const unsigned levels[] = {
		[NAMES_SHORT] = 0, [NAMES_FULL] = 2, [NAMES_MANGLED] = OVERLOADS_LEVELS - 1,
	};

	return levels[demangle_chosen()];
}

/* Several functions of one symbol (C's static ones) are told by their addresses. */
char *overloads_text(struct overloads *o, const struct trace_module *m,
		     const struct trace_function *f, bool *whole)
{
	const char *symbol = symbol_of(m, f);
	bool plt = f->flags & TRACE_FUNCTION_PLT;
	const struct overloads_of *of;
	char *text, *longer;

	*whole = false;
	if (!*symbol)
		return mem_printf("%s+0x%" PRIx64, m->name, f->vaddr);
	of = of_module(o, m);
	for (unsigned level = first_level(); level < OVERLOADS_LEVELS; level++) {
		text = text_at(of, symbol, level);
		*whole = (level == 1 || level == 2) && demangle_is_mangled(symbol) &&
			 strchr(text, ')');
		if (plt || !doubles_have(&of->at[level], text))
			return text;
		free(text);
	}
	*whole = false;
	text = text_at(of, symbol, demangle_chosen() == NAMES_MANGLED ? OVERLOADS_LEVELS - 1 : 0);
	longer = mem_printf("%s@0x%" PRIx64, text, f->vaddr);
	free(text);
	return longer;
}

char *overloads_row_text(struct overloads *o, const struct trace_module *m,
			 const struct trace_function *f, const char **file)
{
	bool known = true, whole;
	char *text, *longer;

	*file = f ? trace_function_file(m, f, &known) : "";
	text = f ? overloads_text(o, m, f, &whole) : mem_strdup("[unknown]");
	if (known || !f->name)
		return text;
	longer = mem_printf("%s@plt", text);
	free(text);
	return longer;
}

void overloads_free(struct overloads *o)
{
	for (size_t i = 0; i < o->modules.n; i++)
		for (unsigned level = 0; level < OVERLOADS_LEVELS; level++)
			doubles_free(&o->modules.at[i].at[level]);
	vec_free(&o->modules);
}
