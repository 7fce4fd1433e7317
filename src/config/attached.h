/* SPDX-License-Identifier: MIT */
/* A boot configuration inside of a program's file: the section .brace.config, which no program sees
 * and strip(1) keeps. It is obeyed only where a user names the program as a configuration. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Whether the file begins as an ELF file. */
bool attached_is_program(const char *bytes, size_t n);
/* Reads the program's configuration into bytes, at most `size` of them. Returns their number, or
 * -errno and *err: the file is damaged, or has none (ENOENT). */
int attached_read(int fd, const char *path, char *bytes, size_t size, struct err *err);
/* Makes the program's file anew, with n bytes as its configuration instead of one that it had, or
 * with none (n 0). What is loaded of it is not changed; without a configuration it is byte for byte
 * what it was before one was attached, if nobody has changed it since. 0, or -errno and *err; then
 * the file is as it was. */
int attached_write(const char *path, const char *bytes, size_t n, struct err *err);
