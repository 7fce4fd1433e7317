/* SPDX-License-Identifier: MIT */
/* Types of the debug information. Private to src/sym. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

/* Finds the type of a DIE without typedefs and qualifiers. False: it has none, which is void, or
 * the chain is longer than makes sense. */
bool dwarf_type_plain(Dwarf_Die *die, Dwarf_Die *type);
/* Its size in bytes; 0: the debug information does not say. */
uint64_t dwarf_type_bytes(Dwarf_Die *type);
/* True for `char` alone: int8_t is a signed char. */
bool dwarf_type_is_char(Dwarf_Die *type);
/* True for structures, classes and unions. */
bool dwarf_type_is_class(Dwarf_Die *type);
/* True for pointers and references of both kinds. */
bool dwarf_type_is_pointer(Dwarf_Die *type);
/* Whether a DIE's type is a pointer or a reference to the structure or typedef of this name, or to
 * a class derived from it. *at: bytes from what is pointed to, to the structure in it. */
bool dwarf_type_leads_to(Dwarf_Die *die, const char *name, int32_t *at);
/* dwarf_type_leads_to() without the classes that are derived from it. */
bool dwarf_type_points_to(Dwarf_Die *die, const char *name);
/* Calls see() for each base of a class, and for the bases of bases: with its name, and its distance
 * in bytes from the beginning of the class. Virtual bases are left out. */
typedef void dwarf_base_seen(void *context, const char *name, int32_t at);
void dwarf_type_bases(Dwarf_Die *class, dwarf_base_seen *see, void *context);
/* DW_ATE_...; 0: not known. */
unsigned dwarf_type_encoding(Dwarf_Die *type);
/* Number of elements of an array's dimension, 0 the outermost. False: it has no such dimension.
 * *n 0: it is not a constant. */
bool dwarf_type_dimension(Dwarf_Die *array, unsigned dimension, uint64_t *n);
/* The number that the compiler knows of an enumerator or a variable. False: there is none, or it is
 * no number of at most 8 bytes. */
bool dwarf_type_constant(Dwarf_Die *die, int64_t *number);
