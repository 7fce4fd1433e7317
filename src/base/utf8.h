/* SPDX-License-Identifier: MIT */
/* UTF-8 in untrusted bytes, by RFC 3629. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at s, of n > 0 bytes: returns its length, and its code in *code. Returns 0
 * if there is none: an overlong form, a surrogate, a code above U+10FFFF, or one that n cuts
 * off. */
size_t utf8_character(const char *s, size_t n, uint32_t *code);

/* Returns n, or the bytes before a character that begins in the first n bytes of the text and does
 * not end there: where a text may be cut. */
size_t utf8_whole(const char *s, size_t n);

#define UTF8_LONGEST 4u
/* Writes a character that utf8_character() gives, without a NUL; returns its length, 1 to
 * UTF8_LONGEST. */
size_t utf8_write(uint32_t code, char *to);
