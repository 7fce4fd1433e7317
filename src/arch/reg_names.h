/* SPDX-License-Identifier: MIT */
/* Names of registers, and their numbers in struct probe_regs: 0 to FETCH_FLAGS_REG - 1 are general
 * ones. No state; any thread. */
#pragma once
#include <stddef.h>

/* The number of a register by the kernel's name for it, as in kprobe events (n characters);
 * FETCH_REGS: the pc. -1: none. */
int reg_names_kernel(const char *name, size_t n);
/* The kernel's name of a register by its number; NULL: there is none. */
const char *reg_names_of(unsigned number);
/* The number by the assembler's name, of any width; *shift: bits of it below the named part. -1:
 * none, or a vector register. */
int reg_names_assembler(const char *name, size_t n, unsigned *shift);
/* Returns the kernel's name of the register in which a function gets its n-th integer argument,
 * from 1 on, when it begins; NULL: it comes on the stack. */
const char *reg_names_argument(unsigned n);
