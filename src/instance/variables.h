/* SPDX-License-Identifier: MIT */
/* The lines of kallsyms for variables, as the kernel's kallsyms has them beside functions: probes
 * read them by `@NAME`. */
#pragma once
#include "base/out.h"
#include "instance/addresses.h"

/* Prints a line "ADDRESS LETTER NAME" for each global and static variable of the files, in
 * libraries with "\t[MODULE]" behind it. LETTER is nm's: d, b, r, or D, B, R. The names are the
 * linker's. A line "[unknown]" ends the last variable of a file. Files that cannot be read have
 * none. Reads files, which takes a second if they are large: call it without locks. */
void variables_print(const address_module_list *files, struct out *out);
