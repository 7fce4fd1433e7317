/* SPDX-License-Identifier: MIT */
/* Data that ld.so and the kernel left for the program: symbols, the auxiliary vector (ldso.c). */
#pragma once
#include <elf.h>
#include <stdint.h>

/* ldso.c. Returns the address of a symbol that ld.so exports, or NULL. envp: the one that the
 * kernel put on the first stack, after which the auxiliary vector stands. */
const void *ldso_symbol(char **envp, const char *name);
/* ldso_symbol() for the module at `base`, whose dynamic section is d. */
const void *ldso_find(uint64_t base, const Elf64_Dyn *d, const char *name);
/* ldso_find(), with its size and its value, to which `base` is to be added. */
const Elf64_Sym *ldso_find_sized(uint64_t base, const Elf64_Dyn *d, const char *name);
/* Returns the offset, in bytes, from the thread pointer to rseq's cpu_id; 0 = there is none. */
int64_t ldso_rseq_cpu_offset(char **envp);
/* AT_EXECFN: the name by which this program was executed; NULL: none. */
const char *ldso_executed(char **envp);
