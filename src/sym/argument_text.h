/* SPDX-License-Identifier: MIT */
/* TYPEs of base/prototype.h for types of debug information, however a value of them is passed.
 * Texts are the caller's to free. Private to src/sym. */
#pragma once
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether one register, or one store of a fetch program, can hold the bytes. */
bool argument_is_recorded_size(uint64_t bytes);
/* The letter of a class of GNU's C++ library that is shown as what it holds; 0: it is none. *work
 * grows by the children that were read. */
char argument_library_letter(Dwarf_Die *type, uint64_t *work);
/* A type that is told by itself; NULL: it cannot be recorded. */
char *argument_scalar_text(Dwarf_Die *type);
/* A base type that rax or xmm0 alone does not hold, behind R and its classes; constant. NULL: it is
 * none of the known ones. */
const char *argument_wide_text(Dwarf_Die *type);
/* A base type of that sort as a structure's member; NULL: it is none. */
char *argument_wide_member(Dwarf_Die *type);
/* The array's text of a vector that one vector register holds, and its bytes; NULL: it is none. */
char *argument_vector_text(Dwarf_Die *type, uint64_t *bytes);
/* A structure's text behind its letter, of members within the first `most` bytes; NULL: nothing of
 * it can be told. addresses: of strings the addresses are told. *work grows by the children that
 * were read. */
char *argument_struct_text(Dwarf_Die *type, uint64_t most, bool addresses, uint64_t *work);
