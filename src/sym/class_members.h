/* SPDX-License-Identifier: MIT */
/* Data members and base classes of a structure, class or union. Private to src/sym. */
#pragma once
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* A data member, or a base class. offset: bytes in the class. */
struct class_member {
	Dwarf_Die die, type; /* without typedefs */
	uint64_t offset;
	bool bits;           /* of no whole bytes */
};

/* False ends the visits. The visitor may change *m. */
typedef bool class_member_visitor(struct class_member *m, void *context);

/* Visits all that have a location in the class, in their order, until a visitor returns false.
 * False then, or if there are too many to be told. *work grows by the children that were read. */
bool class_members_each(Dwarf_Die *type, class_member_visitor *visit, void *context,
			uint64_t *work);
