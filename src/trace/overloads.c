/* SPDX-License-Identifier: MIT */
/* Demangles all names of a module once to find those that occur twice. Reports call it when they
 * print a name. A name that several functions have is told with ever more: parameters, what the
 * compiler has of them, the symbol, the address. Only names that occurred twice are looked at
 * again, so that C costs a hash each. Its owner's thread calls; nothing fails. */
#include "trace/overloads.h"

#include <inttypes.h>
#include <string.h>

#include "base/demangle.h"
#include "base/demangle_schemes.h"
#include "base/mem.h"
#include "base/string_set.h"

/* "": the function has no name. */
static const char *symbol_of(const struct trace_module *m, const struct trace_function *f)
{
	return f->name && f->name < m->strings.n ? m->strings.at + f->name : "";
}

/* The text of one level, for the caller to free. */
static char *text_at(const struct overloads_of *o, const char *symbol, unsigned level)
{
	bool ada = o->ada && level < OVERLOADS_LEVELS - 1 && !demangle_is_mangled(symbol);
	char *text = ada ? demangle_ada(symbol, level > 0) : NULL;

	return text ? text : demangle_text(symbol, level);
}

/* Functions that have one name on all levels before: indices in the module. */
typedef VEC(uint32_t) candidates;

static void collect_level(struct overloads_of *o, const struct trace_module *m, unsigned level,
			  struct doubles *names, candidates *left)
{
	char **texts = mem_realloc(NULL, left->n + 1, sizeof(*texts));
	size_t kept = 0;

	for (size_t i = 0; i < left->n; i++) {
		texts[i] = text_at(o, symbol_of(m, &m->functions.at[left->at[i]]), level);
		doubles_add(names, texts[i]);
	}
	doubles_keep(names);
	for (size_t i = 0; i < left->n; i++) {
		if (doubles_have(names, texts[i]))
			left->at[kept++] = left->at[i];
		free(texts[i]);
	}
	left->n = kept;
	free(texts);
}

static bool is_plt(const struct trace_function *f)
{
	return f->flags & TRACE_FUNCTION_PLT;
}

/* Several PLT entries may lead to one function: they count once. */
static void collect_kind(struct overloads_of *o, const struct trace_module *m, bool plt)
{
	candidates left = { 0 };
	struct string_set symbols = { 0 };

	for (size_t i = 0; i < m->functions.n; i++) {
		const struct trace_function *f = &m->functions.at[i];
		const char *symbol = symbol_of(m, f);

		if (!*symbol || is_plt(f) != plt || (plt && string_set_has(&symbols, symbol)))
			continue;
		*vec_add(&left) = (uint32_t)i;
		if (plt)
			string_set_add(&symbols, symbol);
	}
	for (unsigned level = 0; level < OVERLOADS_LEVELS && left.n; level++)
		collect_level(o, m, level, &o->at[plt][level], &left);
	string_set_free(&symbols);
	vec_free(&left);
}

static void collect_names(struct overloads_of *o, const struct trace_module *m)
{
	o->functions = m->functions.at;
	o->n = m->functions.n;
	for (size_t i = 0; i < m->functions.n && !o->ada; i++)
		o->ada = demangle_tells_ada(symbol_of(m, &m->functions.at[i]));
	collect_kind(o, m, false);
	collect_kind(o, m, true);
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
	static const unsigned levels[NAMES_MANGLED + 1] = {
		[NAMES_SHORT] = 0, [NAMES_FULL] = 2, [NAMES_MANGLED] = OVERLOADS_LEVELS - 1,
	};

	return levels[demangle_chosen()];
}

/* Several functions of one symbol (C's static ones) are told by their addresses. */
char *overloads_text(struct overloads *o, const struct trace_module *m,
		     const struct trace_function *f, bool *whole)
{
	const char *symbol = symbol_of(m, f);
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
		if (!doubles_have(&of->at[is_plt(f)][level], text))
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
			for (unsigned plt = 0; plt < 2; plt++)
				doubles_free(&o->modules.at[i].at[plt][level]);
	vec_free(&o->modules);
}
