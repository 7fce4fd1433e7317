/* SPDX-License-Identifier: MIT */
/* The files of the kernel's own tracing directory, read and written as text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define KERNEL_TRACEFS_DIR "/sys/kernel/tracing"

/* Finds the directory: *out is to be freed. 0, or -errno and *err with the reason that it cannot be
 * had: no root (EACCES), no tracefs (ENOENT), a locked-down kernel (EPERM). */
int kernel_tracefs_find(char **out, struct err *err);
/* The text of dir/file; free() it. NULL: there is no such file, or it cannot be read. */
char *kernel_tracefs_read(const char *dir, const char *file);
/* The bytes of dir/file, which is no text; *n: how many. free() them. NULL: as for a text. */
char *kernel_tracefs_bytes(const char *dir, const char *file, size_t *n);
/* `echo text > dir/file` (append: `>>`), one write. 0 or -errno, without a sentence. */
int kernel_tracefs_write(const char *dir, const char *file, const char *text, bool append);
bool kernel_tracefs_has(const char *dir, const char *file);
/* The kernel's last sentence about a command that it refused, from dir/error_log; free() it.
 * *column: in the command; SIZE_MAX: none. NULL: it says nothing. */
char *kernel_tracefs_error(const char *dir, size_t *column);
/* kernel_tracefs_error() of a command that is `text` or a part of it: *column is in text. */
char *kernel_tracefs_error_in(const char *dir, const char *text, size_t *column);
/* Calls `each` with every line of dir/file, without its newline, until it returns false. */
void kernel_tracefs_lines(const char *dir, const char *file,
			  bool (*each)(void *context, const char *line), void *context);
