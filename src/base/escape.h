/* SPDX-License-Identifier: MIT */
/* Text of others, made fit for a terminal. A program chooses the names of its functions, threads and files; a terminal obeys some of
 * the bytes. Each byte that is not of a printable character in UTF-8 is written as ls -b, git and the kernel's seq_escape do: a
 * backslash and three octal digits. Such are controls (C0, DEL, C1), format controls (bidi overrides, zero widths), line separators,
 * and what is no UTF-8. A backslash stays: escaped text is not escaped again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ESCAPED_BYTE 4

/* False: a terminal might obey it, or lay out other text by it. */
bool escape_is_printable(uint32_t code);
/* How many of the n bytes, from the first on, can stay; of a text, newlines and tabs can, too. */
size_t escape_line_run(const char *s, size_t n);
size_t escape_text_run(const char *s, size_t n);
/* "\033", without a NUL. */
void escape_byte(char to[ESCAPED_BYTE], char byte);
/* The whole string; free() it. A line is one afterwards: no newline is in it. */
char *escape_line(const char *s);
char *escape_text(const char *s);
