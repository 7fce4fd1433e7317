/* SPDX-License-Identifier: MIT */
/* Finds GCC's unwinder in a process, and libunwind. */
#pragma once
#include "inject/held_stacks.h"

void unwinder_find(pid_t pid, const struct maps *maps, struct held_unwinder *out);
