/* SPDX-License-Identifier: MIT */
/* Demangling by libiberty's cplus_demangle(). Lists of functions, filters and reports call it, on
 * any thread: no state is kept but the user's choice of a style. libiberty's own allocation may
 * fail; the name then comes out mangled, which is always a truthful answer. */
#include "base/demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle_schemes.h"
#include "base/demangle_short.h"
#include "base/mem.h"

/* Set while the command line is read, before threads begin: so it is no atomic. */
static enum demangle_style chosen = NAMES_SHORT;

void demangle_choose(enum demangle_style style)
{
	chosen = style;
}

enum demangle_style demangle_chosen(void)
{
	return chosen;
}

/* _Z begins the Itanium C++ ABI's names, and Rust's legacy ones; _R begins Rust's v0 names. */
static bool is_libibertys(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

int demangle_is_mangled(const char *name)
{
	return is_libibertys(name) || demangle_is_scheme(name);
}

/* Where a legacy name of Rust ends, "17h", sixteen hexadecimal digits and "E"; NULL: it is none. In
 * front of that dots belong to the name: "_ZN42_$LT$alloc..vec..Vec$LT$T$GT$$GT$4push17h...E". */
static const char *rust_legacy_end(const char *name)
{
	const char *at = strncmp(name, "_ZN", 3) ? NULL : name;

	while (at && (at = strstr(at, "17h"))) {
		const char *end = at + 3 + 16;

		if (strspn(at + 3, "0123456789abcdef") >= 16 && *end == 'E' &&
		    (!end[1] || end[1] == '.'))
			return end + 1;
		at++;
	}
	return NULL;
}

/* GCC's copies of a function (".part.0", ".isra.1") stay distinct: the suffix is kept. */
static const char *symbol_suffix(const char *name)
{
	const char *end = rust_legacy_end(name);
	const char *dot = end ? end : strchr(name, '.');

	return dot ? dot : "";
}

/* The part of a name that is wanted. A template function's mangled name carries its result type,
 * which would stand before the name: DMGL_RET_DROP. */
enum extent { PLAIN, WHOLE, VARIANT, FULL_PLAIN, FULL };
#define PARAMETERS (DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP)

static const int options[FULL + 1] = {
	[PLAIN] = DMGL_NO_OPTS, [WHOLE] = PARAMETERS, [VARIANT] = PARAMETERS,
	[FULL_PLAIN] = DMGL_NO_OPTS, [FULL] = PARAMETERS | DMGL_VERBOSE,
};

/* C++'s are shortened; Rust's have no such arguments. Rust's legacy names are valid names of C++,
 * too, whose hash would be shown: so DMGL_RUST is tried first, and refuses those of C++. */
static char *by_libiberty(const char *core, enum extent extent)
{
	char *name = NULL, *shortened;

	if (core[1] == 'Z')
		name = cplus_demangle(core, DMGL_RUST | (options[extent] & DMGL_VERBOSE));
	if (name || core[1] == 'R')
		return name ? name : cplus_demangle(core, DMGL_RUST | options[extent]);
	name = cplus_demangle(core, DMGL_GNU_V3 | options[extent]);
	if (!name || extent >= FULL_PLAIN)
		return name;
	shortened = demangle_short(name);
	free(name);
	return shortened;
}

/* A compiler makes several functions of one constructor or destructor: that of a complete object,
 * that of a base class, and the one that a delete of a virtual destructor calls. */
static const char *variant_of(const char *core)
{
	const enum gnu_v3_dtor_kinds end = is_gnu_v3_mangled_dtor(core);

	if (end == gnu_v3_deleting_dtor)
		return ".deleting";
	return end == gnu_v3_base_object_dtor ||
			       is_gnu_v3_mangled_ctor(core) == gnu_v3_base_object_ctor
		       ? ".base"
		       : "";
}

/* The text in memory that the caller frees; NULL: it is not a mangled name, or not understood. The
 * core alone is demangled: libiberty would print the suffix as " [clone .part.0]". */
static char *text_of(const char *name, enum extent extent)
{
	char *plain, *core, *text;
	const char *tail = symbol_suffix(name);

	if (demangle_is_scheme(name))
		return demangle_scheme(name, extent != PLAIN && extent != FULL_PLAIN,
				       extent >= FULL_PLAIN);
	if (!is_libibertys(name))
		return NULL;
	core = mem_printf("%.*s", (int)(tail - name), name);
	plain = by_libiberty(core, extent);
	text = plain ? mem_printf("%s%s%s", plain, extent == VARIANT ? variant_of(core) : "", tail)
		     : NULL;
	free(plain);
	free(core);
	return text;
}

static int demangle_as(const char *name, enum extent extent, char *out, size_t n)
{
	char *text = text_of(name, extent);
	int len = snprintf(out, n, "%s", text ? text : name);

	free(text);
	return len;
}

int demangle(const char *name, char *out, size_t n)
{
	if (chosen == NAMES_MANGLED)
		return snprintf(out, n, "%s", name);
	return demangle_as(name, chosen == NAMES_FULL ? FULL : PLAIN, out, n);
}

int demangle_plain(const char *name, char *out, size_t n)
{
	return demangle_as(name, PLAIN, out, n);
}

int demangle_whole(const char *name, char *out, size_t n)
{
	return demangle_as(name, WHOLE, out, n);
}

int demangle_full(const char *name, char *out, size_t n)
{
	return demangle_as(name, FULL, out, n);
}

char *demangle_text(const char *name, unsigned level)
{
	static const enum extent extents[] = { PLAIN, WHOLE, FULL, VARIANT };
	char *text = level < sizeof(extents) / sizeof(*extents) ? text_of(name, extents[level])
								: NULL;

	return text ? text : mem_strdup(name);
}

static void add_spelling(struct demangle_spellings *s, char *text)
{
	for (unsigned i = 0; text && i < s->n; i++) {
		if (!strcmp(s->at[i], text)) {
			free(text);
			return;
		}
	}
	if (text)
		s->at[s->n++] = text;
}

/* Ada's names are not marked as mangled: two underlines may be C's own. */
void demangle_spell(const char *symbol, struct demangle_spellings *s)
{
	static const enum extent extents[] = { PLAIN, WHOLE, VARIANT, FULL_PLAIN, FULL };
	bool ada = strstr(symbol, "__") || !strncmp(symbol, "_ada_", 5);

	*s = (struct demangle_spellings){ 0 };
	if (demangle_is_mangled(symbol)) {
		for (size_t i = 0; i < sizeof(extents) / sizeof(*extents); i++)
			add_spelling(s, text_of(symbol, extents[i]));
		return;
	}
	for (int whole = 0; ada && whole <= 1; whole++)
		add_spelling(s, demangle_ada(symbol, whole));
}

void demangle_spellings_free(struct demangle_spellings *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->at[i]);
	s->n = 0;
}

int demangle_cut(char *name)
{
	/* From the last ')' back to the '(' that matches it: parameters may have parentheses of
	 * their own. */
	char *at = strrchr(name, ')');
	int open = 0;

	for (; at && at > name; at--) {
		open += *at == ')' ? 1 : *at == '(' ? -1 : 0;
		if (open)
			continue;
		*at = 0;
		return 1;
	}
	return 0;
}
