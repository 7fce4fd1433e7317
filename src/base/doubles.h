/* SPDX-License-Identifier: MIT */
/* Names that come more than once. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct doubles { VEC(uint64_t) hashes; };

void doubles_add(struct doubles *d, const char *name);
/* All have been added: keeps those that came twice. */
void doubles_keep(struct doubles *d);
/* Behind doubles_keep. Two names of one hash are taken for one: this is for display. */
bool doubles_have(const struct doubles *d, const char *name);
void doubles_free(struct doubles *d);
