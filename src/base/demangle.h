/* SPDX-License-Identifier: MIT */
/* C++ and Rust symbols as their programmers wrote them, by libiberty. */
#pragma once
#include <stddef.h>

/* "_ZN4node5StartEiPPc" -> "node::Start", without parameters; another name, or one that does not
 * demangle, comes out as it is. Returns the length as snprintf does. */
int demangle(const char *name, char *out, size_t n);
/* demangle() with parameters, as they tell overloads apart: "node::Start(int, char**)". */
int demangle_whole(const char *name, char *out, size_t n);
/* Cuts the parameters off a name of demangle_whole(), in place. Returns 0 if it has none. */
int demangle_cut(char *name);
/* True if the name looks mangled. Looks at two characters only. */
int demangle_is_mangled(const char *name);
