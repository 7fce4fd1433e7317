/* Allocation for the tracer's side. Running out of memory ends brace with one
 * sentence: the traced program does not need us, and no caller could do better. */
#pragma once
#include <stddef.h>

void *mem_zalloc(size_t size);                     /* zeroed; never NULL; free() it */
void *mem_realloc(void *old, size_t n, size_t size); /* n * size, overflow checked */
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
