/* SPDX-License-Identifier: MIT */
/* ftrace's pattern language: `*`, `?`, `[a-z]`, `[!a-z]` and `\` before a character that
 * shall stand for itself. A `[` that is never closed stands for itself, as in the kernel. */
#pragma once
#include <stdbool.h>

/* True if the whole of s matches. Time is at most proportional to both lengths multiplied. */
bool glob_match(const char *pattern, const char *s);
/* True if one of the patterns, which a NULL ends, matches. */
bool glob_match_any(const char *const *patterns, const char *s);
/* True if the pattern is a plain name: it can match one string only. */
bool glob_is_name(const char *pattern);
