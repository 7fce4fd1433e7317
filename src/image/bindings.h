/* SPDX-License-Identifier: MIT */
/* Which library a call through a PLT leads to. The loader takes the first module of its search order that defines the symbol; brace knows the
 * order but for its head, the executable. So: the executable if it defines the symbol, else the only module that does. Where several do
 * (an allocator that is preloaded before libc's), and where none does yet, nothing is said. */
#pragma once
#include "image/modules.h"

/* Sets `bound` of all opened modules' PLT entries. maps: of the whole process; exe, agent: paths. */
void bindings_find(const struct maps *maps, const char *exe, const char *agent, struct modules *m);
/* The name of the file that function i of the module leads to; NULL: it is no PLT entry, or nobody knows. Valid until modules_free. */
const char *bindings_library(const struct modules *m, const struct module *mod, uint32_t i);
