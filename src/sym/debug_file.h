/* SPDX-License-Identifier: MIT */
/* The separate debug file of a stripped program. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/elf_file.h"

struct elf_view;

struct debug_file { struct elf_file file; char *path; }; /* ELF_SYMBOLS of it */

/* Called for each place where the file may be, until it returns true. The CRC is of the file; NULL:
 * not known. */
typedef bool debug_file_path(void *context, const char *path, const uint32_t *crc);
void debug_file_paths(const struct elf_view *v, const char *program, const char *root,
		      debug_file_path *f, void *context);

/* Looks for the file below root ("" = brace's own; `program` is a path below it) in gdb's places:
 * /usr/lib/debug/.build-id, then the .gnu_debuglink name beside the program, in .debug/ there, and
 * below /usr/lib/debug. Takes only a file with the same build-id (or the CRC of the link). False
 * when there is none. debug_file_close() frees it. */
bool debug_file_open(const struct elf_view *v, const char *program, const char *root,
		     struct debug_file *out);
void debug_file_close(struct debug_file *f);
