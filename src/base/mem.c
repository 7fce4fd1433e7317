#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_die(void *p)
{
	if (!p) {
		fputs("brace: out of memory\n", stderr);
		_Exit(125);
	}
	return p;
}

void *mem_zalloc(size_t size)
{
	return or_die(calloc(1, size ? size : 1));
}

void *mem_realloc(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return or_die(NULL);
	return or_die(realloc(old, bytes ? bytes : 1));
}

char *mem_strdup(const char *s)
{
	return or_die(strdup(s));
}

char *mem_strndup(const char *s, size_t n)
{
	/* Not strndup: sanitizers may want its argument to end with a NUL, however small n is. */
	size_t length = strnlen(s, n);
	char *copy = or_die(malloc(length + 1));

	memcpy(copy, s, length);
	copy[length] = '\0';
	return copy;
}

char *mem_printf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return or_die(s);
}
