/* SPDX-License-Identifier: MIT */
/* Where the compiler put a kernel function that is not there: by the DWARF of the kernel's own
 * file, which distributions have in a package of debug information. BTF does not tell: it has
 * functions that are there. */
#pragma once
#include <stddef.h>

/* The kernel's file with debug information, of the kernel that runs (their build ids are equal);
 * free() it. NULL: it is not installed. */
char *kernel_inlined_file(void);
/* A sentence's end: "inlined into vfs_read (fs/read_write.c:450) and, in 3 more places, others";
 * free() it. NULL: the file cannot be read, or says nothing of the name. Takes as long as
 * sym_inlined_find(): seconds. */
char *kernel_inlined_into(const char *file, const char *name);
