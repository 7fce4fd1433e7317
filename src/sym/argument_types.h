/* SPDX-License-Identifier: MIT */
/* Types of parameters as a prototype has them. Private to src/sym. */
#pragma once
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

struct sym_location;

/* A name is part of the prototype's text: only C's own characters may be. */
bool argument_is_plain_name(const char *name);

/* Where a returned value is. IN_MEMORY: the caller passes an address for it as the first argument.
 * UNKNOWN: then the convention does not tell where the arguments are. */
enum argument_way { ARGUMENT_IN_REGISTERS, ARGUMENT_IN_MEMORY, ARGUMENT_WAY_UNKNOWN };
enum argument_way argument_returned_way(Dwarf_Die *type);

/* The way to read a parameter's type. depth: 1: structures are followed that are passed by their
 * address. *passed gets how one is passed by value. work: grows by the children that were read. */
struct argument_reading {
	unsigned depth;
	struct sym_location *passed;
	uint64_t work;
};
/* A parameter's TYPE of base/prototype.h, which the caller frees; NULL: it cannot be recorded. */
char *argument_type_text(Dwarf_Die *type, struct argument_reading *r);
/* The `returned` of base/prototype.h for a type; NULL: it cannot be recorded. */
char *argument_returned_text(Dwarf_Die *type);
