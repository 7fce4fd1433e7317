/* SPDX-License-Identifier: MIT */
/* Demangles all names of a module once to find those that occur twice. Reports call it when they
 * print a name. Names without mangling cost nothing; a name longer than NAME_MOST is compared by
 * its beginning. */
#include "trace/overloads.h"

#include "base/demangle.h"
#include "base/mem.h"

#define NAME_MOST 4096

/* NULL: the function has no name, or one that is not mangled and so has no parameters. */
static const char *symbol_of(const struct trace_module *m, const struct trace_function *f)
{
	const char *s = f->name && f->name < m->strings.n ? m->strings.at + f->name : "";

	return demangle_is_mangled(s) ? s : NULL;
}

/* Collects the module's plain names; doubles_keep() leaves those that occur twice. */
static void collect_names(struct overloads_of *o, const struct trace_module *m)
{
	char plain[NAME_MOST];

	o->functions = m->functions.at;
	o->n = m->functions.n;
	for (size_t i = 0; i < m->functions.n; i++) {
		const char *symbol = symbol_of(m, &m->functions.at[i]);

		if (!symbol)
			continue;
		demangle(symbol, plain, sizeof(plain));
		doubles_add(&o->plain, plain);
	}
	doubles_keep(&o->plain);
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

int overloads_name(struct overloads *o, const struct trace_module *m,
		   const struct trace_function *f, char *out, size_t n, bool *whole)
{
	const char *symbol = symbol_of(m, f);
	const struct overloads_of *of;
	char plain[NAME_MOST];

	*whole = false;
	if (!symbol)
		return trace_function_name(m, f, out, n);
	demangle(symbol, plain, sizeof(plain));
	of = of_module(o, m);
	*whole = doubles_have(&of->plain, plain);
	return (*whole ? demangle_whole : demangle)(symbol, out, n);
}

char *overloads_text(struct overloads *o, const struct trace_module *m,
		     const struct trace_function *f, bool *whole)
{
	size_t n = (size_t)overloads_name(o, m, f, NULL, 0, whole) + 1;
	char *text = mem_zalloc(n);

	overloads_name(o, m, f, text, n, whole);
	return text;
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
		doubles_free(&o->modules.at[i].plain);
	vec_free(&o->modules);
}
