/* SPDX-License-Identifier: MIT */
/* Any text as a symbol: the name that brace makes of it is no longer than C++'s was. Also as a name
 * that libiberty has made. libiberty's own code is not fuzzed here.
 * links: base */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle_schemes.h"
#include "base/demangle_short.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = mem_strndup((const char *)data, n), *name = demangle_short(text);

	if (strlen(name) > strlen(text))
		abort();
	free(name);
	demangle_tells_ada(text);
	if (demangle_is_scheme(text) && strncmp(text, "_D", 2)) {
		free(demangle_scheme(text, false, false));
		free(demangle_scheme(text, true, true));
	}
	free(text);
	return 0;
}
