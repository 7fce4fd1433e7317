/* SPDX-License-Identifier: MIT */
/* Demangling by libiberty's cplus_demangle(). Lists of functions, filters and reports call it, on
 * any thread: no state is kept. libiberty's own allocation may fail; the name then comes out
 * mangled, which is always a truthful answer. */
#include "base/demangle.h"

#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int demangle_is_mangled(const char *name)
{
	/* _Z begins the Itanium C++ ABI's names, and Rust's legacy ones; _R begins Rust's v0
	 * names. */
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* GCC's copies of a function (".part.0", ".isra.1") stay distinct: the suffix is kept. */
static const char *symbol_suffix(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? dot : "";
}

static int demangle_as(const char *name, int options, char *out, size_t n)
{
	char *plain = NULL, *core;
	const char *tail = symbol_suffix(name);
	int len;

	if (!demangle_is_mangled(name))
		return snprintf(out, n, "%s", name);
	/* The core alone is demangled: libiberty would print the suffix as " [clone .part.0]". */
	core = strndup(name, (size_t)(tail - name));
	if (core)
		plain = cplus_demangle(core, DMGL_AUTO | options);
	len = plain ? snprintf(out, n, "%s%s", plain, tail) : snprintf(out, n, "%s", name);
	free(plain);
	free(core);
	return len;
}

int demangle(const char *name, char *out, size_t n)
{
	return demangle_as(name, DMGL_NO_OPTS, out, n);
}

/* A template function's mangled name carries its result type, which would stand before the name:
 * DMGL_RET_DROP. */
int demangle_whole(const char *name, char *out, size_t n)
{
	return demangle_as(name, DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP, out, n);
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
