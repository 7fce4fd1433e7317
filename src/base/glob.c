/* SPDX-License-Identifier: MIT */
/* Matching without recursion and in at most length x length steps: when a character does not fit,
 * the last `*` takes one more, and earlier ones need never be tried again. Called for each function
 * of a module, by several threads; no state. shared/filter_glob.c does the same for strings that no
 * NUL ends. */
#include "base/glob.h"

#include <string.h>

/* Returns the character after the `]` that closes the class at p ("["), or NULL if none does. A `]`
 * directly after the `[` or `[!` is a member. */
static const char *class_end(const char *p)
{
	p += p[1] == '!' ? 2 : 1;
	p = *p ? strchr(p + 1, ']') : NULL;
	return p ? p + 1 : NULL;
}

/* p is at the opening bracket, end behind the closing one. A ! at its begin makes the complement,
 * as in the kernel's globs; ^ is a member. */
static bool class_has(const char *p, const char *end, unsigned char c)
{
	bool inverted = p[1] == '!', found = false;

	for (p += inverted ? 2 : 1; p < end - 1; p++) {
		unsigned char low = *p, high = *p;

		/* "a-]" at the end of a class is the members a, -: a range needs an end before the
		 * bracket. */
		if (p[1] == '-' && p + 2 < end - 1) {
			high = p[2];
			p += 2;
		}
		found |= low <= c && c <= high;
	}
	return found != inverted;
}

/* True if the one pattern element at p fits c; *next is the element after it. */
static bool element_fits(const char *p, char c, const char **next)
{
	const char *end = *p == '[' ? class_end(p) : NULL;

	if (end) {
		*next = end;
		return class_has(p, end, c);
	}
	if (*p == '?') {
		*next = p + 1;
		return true;
	}
	/* A backslash at the very end of the pattern stands for itself. */
	if (*p == '\\' && p[1])
		p++;
	*next = p + 1;
	return *p == c;
}

/* One place to go back to is enough: what an earlier star takes can be given to the last one. The
 * time is at most the product of the lengths, for any pattern. */
bool glob_match(const char *p, const char *s)
{
	const char *star = NULL, *retry = NULL, *next;

	while (*s) {
		if (*p == '*') {
			star = ++p;
			retry = s;
		} else if (*p && element_fits(p, *s, &next)) {
			p = next;
			s++;
		} else if (star) {
			p = star;
			s = ++retry;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

bool glob_match_any(const char *const *patterns, const char *s)
{
	for (; *patterns; patterns++)
		if (glob_match(*patterns, s))
			return true;
	return false;
}

bool glob_is_name(const char *pattern)
{
	return !pattern[strcspn(pattern, "*?[\\")];
}
