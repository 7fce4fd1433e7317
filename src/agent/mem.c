/* SPDX-License-Identifier: MIT */
/* Functions on memory and strings. The compiler may call memset and memcpy in any C code, and the
 * agent is linked without libc. Any thread; cannot fail. */
#include "agent/agent.h"
#include "arch/inside.h"

void *memset(void *to, int byte, size_t n)
{
	inside_fill(to, byte, n);
	return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
	inside_copy(to, from, n);
	return to;
}

bool agent_string_contains(const char *s, const char *word)
{
	for (; *s; s++) {
		const char *a = s, *b = word;

		while (*b && *a == *b)
			a++, b++;
		if (!*b)
			return true;
	}
	return false;
}
