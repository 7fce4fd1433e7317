/* SPDX-License-Identifier: MIT */
/* A set of the names that occur more than once among those that were added. Zero-initialise it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct doubles { VEC(uint64_t) hashes; };

/* Adds one occurrence of a name; the string is not kept. */
void doubles_add(struct doubles *d, const char *name);
/* Call once, after the last doubles_add(): drops the names that came only once. */
void doubles_keep(struct doubles *d);
/* True if the name came more than once. Only after doubles_keep(). Names are compared by a 64-bit
 * hash, which is good enough for display and for nothing else. */
bool doubles_have(const struct doubles *d, const char *name);
void doubles_free(struct doubles *d);
