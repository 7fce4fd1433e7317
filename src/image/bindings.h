/* SPDX-License-Identifier: MIT */
/* Finds which library a call through a PLT leads to. The loader takes the first module of its
 * search order that defines the symbol; brace knows only the order's head, the executable. So the
 * answer is the executable if it defines the symbol, else the only module that does. Where several
 * do (an allocator that is preloaded before libc's), or none does yet, there is no answer. */
#pragma once
#include "image/modules.h"

/* Sets `bound` of all opened modules' PLT entries. maps: the whole process; exe, agent: paths. A
 * file that cannot be read defines nothing. */
void bindings_find(const struct maps *maps, const char *exe, const char *agent, struct modules *m);
/* The name of the file that function i of the module leads to; NULL: it is no PLT entry, or there
 * is no answer. Valid until modules_free. */
const char *bindings_library(const struct modules *m, const struct module *mod, uint32_t i);
