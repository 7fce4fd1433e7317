#include "base/demangle.h"

#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int demangle_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* GCC's copies of a function (".part.0", ".isra.1") stay distinct: the suffix is kept. */
static const char *suffix(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? dot : "";
}

int demangle(const char *name, char *out, size_t n)
{
	char *plain = NULL, *core;
	const char *tail = suffix(name);
	int len;

	if (!demangle_is_mangled(name))
		return snprintf(out, n, "%s", name);
	core = strndup(name, (size_t)(tail - name));
	if (core)
		plain = cplus_demangle(core, DMGL_AUTO);
	len = plain ? snprintf(out, n, "%s%s", plain, tail) : snprintf(out, n, "%s", name);
	free(plain);
	free(core);
	return len;
}
