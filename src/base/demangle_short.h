/* SPDX-License-Identifier: MIT */
/* Demangled C++ names without what nobody writes. */
#pragma once

/* "std::vector<int, std::allocator<int> >::size" -> "std::vector<int>::size". Returns it in memory
 * that the caller frees; what does not parse comes out as it is. */
char *demangle_short(const char *name);
