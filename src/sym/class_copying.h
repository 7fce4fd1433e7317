/* SPDX-License-Identifier: MIT */
/* Whether C++ copies a class as its bytes. Private to src/sym. */
#pragma once
#include <elfutils/libdw.h>

/* BY_CODE: by a constructor, or destroyed by code: the class is passed and returned by its address.
 * IN_MEMORY: as bytes, but never in registers. UNKNOWN: the debug information does not tell. */
enum class_copying { CLASS_AS_BYTES, CLASS_IN_MEMORY, CLASS_BY_CODE, CLASS_COPYING_UNKNOWN };

/* type: a structure, a class or a union of any language; bounded, whatever the file says. */
enum class_copying class_copying(Dwarf_Die *type);
