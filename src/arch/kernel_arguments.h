/* SPDX-License-Identifier: MIT */
/* The passing of arguments to the kernel's own functions, for those that look at them: brace,
 * which counts registers by types, and its BPF program, which reads them. No libc, because the
 * program has none. */
#pragma once
#include "arch/machine.h"

/* KERNEL_ARGUMENTS: arguments that are passed in registers; of others nothing is read. */

/* Returns how many of the registers a parameter of so many bytes takes; 0: it is passed in memory.
 * composite: it is a structure or a union by value. */
static inline unsigned kernel_arguments_taken(unsigned bytes, int composite);

/* For BPF programs, besides: kernel_arguments_nth(context, n), kernel_arguments_stack(context) and
 * kernel_arguments_result(context): the value of an argument, the stack pointer, and, where a
 * function has returned, its result. context: the struct pt_regs of a kprobe. */

#include MACHINE_HEADER(kernel_arguments.h)
