/* SPDX-License-Identifier: MIT */
/* Makes text of others fit for a terminal. A program chooses the names of its functions, threads
 * and files, and a terminal obeys some bytes. Each byte that is not part of a printable character
 * in UTF-8 is written as ls -b, git and the kernel's seq_escape do: a backslash and three octal
 * digits. Not printable are controls (C0, DEL, C1), format controls (bidi overrides, zero widths),
 * line separators, and bytes that are no UTF-8. A backslash stays, so escaped text is not escaped
 * again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that escape_byte() writes. */
#define ESCAPED_BYTE 4

/* Returns false for a character that a terminal might obey, or lay out other text by. */
bool escape_is_printable(uint32_t code);
/* Returns how many of the n bytes, from the first on, need no escape. In a text newlines and tabs
 * need none; in a line they do. */
size_t escape_line_run(const char *s, size_t n);
size_t escape_text_run(const char *s, size_t n);
/* Writes a backslash and three octal digits, "\033" for ESC; no NUL. */
void escape_byte(char to[ESCAPED_BYTE], char byte);
/* Returns an escaped copy of the whole string, newlines and tabs escaped, too; free() it. */
char *escape_line(const char *s);
/* Returns how many columns of a terminal escape_line(s) takes: two for a wide letter, none for one
 * that is combined with the letter before. */
size_t escape_line_width(const char *s);
/* escape_line() without newlines and tabs, which stay as they are. */
char *escape_text(const char *s);
