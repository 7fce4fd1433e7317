/* SPDX-License-Identifier: MIT */
/* Symbols of languages other than C++ and Rust as their programmers write them. Results are the
 * caller's to free. */
#pragma once
#include <stdbool.h>

/* Whether the symbol looks like one of OCaml, Swift, D, or of Go with escapes. */
bool demangle_is_scheme(const char *symbol);
/* Its name; whole: with what tells overloads apart; full: types as the compiler has them. NULL: it
 * is not understood. */
char *demangle_scheme(const char *symbol, bool whole, bool full);

/* Ada's symbols look like other languages': "shop__price". Whether this one can only be Ada's, so
 * that its module is. */
bool demangle_tells_ada(const char *symbol);
/* "shop__price__2" -> "shop.price", whole: "shop.price__2", as GNAT numbers overloads. NULL: it is
 * no name of Ada. */
char *demangle_ada(const char *symbol, bool whole);
