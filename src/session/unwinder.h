/* Finds GCC's unwinder in a process. */
#pragma once
#include "session/held_stacks.h"

void unwinder_find(const struct maps *maps, struct held_unwinder *out);
