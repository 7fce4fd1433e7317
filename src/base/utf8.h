/* SPDX-License-Identifier: MIT */
/* Characters in bytes of others: RFC 3629. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The length of the character that begins at s, of n > 0 bytes, and *code; 0 if none does: overlong forms, surrogates, what lies
 * beyond U+10FFFF, and what n cuts are none. */
size_t utf8_character(const char *s, size_t n, uint32_t *code);
