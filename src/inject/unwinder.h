/* SPDX-License-Identifier: MIT */
/* Finds GCC's unwinder, and libunwind, in a process. */
#pragma once
#include "inject/stopped_stacks.h"

/* *out is empty if there is none: then nothing unwinds through stubs. */
void unwinder_find(pid_t pid, const struct maps *maps, struct stopped_unwinder *out);
