/* SPDX-License-Identifier: MIT */
/* A set of strings that live elsewhere: open addressing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct string_set {
	const char **slots; /* a power of two of them; NULL = free */
	size_t size, n;
};

/* Keeps the pointer: the string must outlive the set. */
void string_set_add(struct string_set *s, const char *string);
bool string_set_has(const struct string_set *s, const char *string);
void string_set_free(struct string_set *s);
