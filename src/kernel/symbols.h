/* SPDX-License-Identifier: MIT */
/* The kernel's functions by address, as an image of the trace: /proc/kallsyms as a module. */
#pragma once
#include "base/err.h"
#include "trace/trace_info.h"

/* Adds the image of the kernel, whose one module has all symbols of text, in the order of their
 * addresses; of several at one address the first, as the kernel prints it. text: /proc/kallsyms.
 * Returns the module's index; or -errno and *err: no symbol has an address (ENOENT). */
int kernel_symbols_add(struct trace_info *info, const char *text, struct err *err);
/* The id of the function around an address; 0: none. */
uint32_t kernel_symbols_at(const struct trace_module *m, uint64_t address);
