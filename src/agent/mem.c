/* SPDX-License-Identifier: MIT */
/* Functions on memory and strings. The compiler may call memset and memcpy in any C code, and the
 * agent is linked without libc; `rep` uses no vector register. Any thread; cannot fail. */
#include "agent/agent.h"

void *memset(void *to, int byte, size_t n)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(byte) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
	return to;
}

bool string_contains(const char *s, const char *word)
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
