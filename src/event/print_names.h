/* SPDX-License-Identifier: MIT */
/* The names of fields in a print format. Whoever writes an event by hand misspells them, and
 * libtraceevent prints nothing there, without a word. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Returns the first name in `print` that is to be a field's and for which has(arg, name, *n) is
 * false: in REC->NAME, and in __get_str(NAME) and its like. The name has *n characters and lies in
 * `print`. NULL: each is a field's. The text may be anything. Any thread. */
const char *event_print_unknown(const char *print,
				bool (*has)(const void *arg, const char *name, size_t n),
				const void *arg, size_t *n);
