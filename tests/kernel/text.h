/* SPDX-License-Identifier: MIT */
/* The text that brace prints of pages and of the files that explain them, from a directory as
 * tests/vm/golden.sh makes it: raw0, raw1, ..., kallsyms, saved_cmdlines, and SYSTEM/EVENT for
 * formats. */
#pragma once
#include <stdint.h>

/* options: bits of enum trace_option. free() the result. Ends the test where a file is missing. */
char *kernel_text(const char *directory, uint64_t options);
