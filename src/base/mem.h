/* SPDX-License-Identifier: MIT */
/* Allocation for the tracer's side. Running out of memory ends brace with one
 * sentence: the traced program does not need us, and no caller could do better. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* An act that precedes that end, in the thread that found no memory; it must not allocate. Returns
 * true if it has told why brace ends; then nothing is written to standard error. Add and remove
 * acts while the process has one thread. */
#define MEM_NONE "out of memory"
struct mem_last_act {
	bool (*act)(struct mem_last_act *self);
	struct mem_last_act *next;
};
void mem_last_act_add(struct mem_last_act *a);    /* the caller's, until it is removed */
void mem_last_act_remove(struct mem_last_act *a); /* does nothing if it was not added */

void *mem_zalloc(size_t size);                     /* zeroed; never NULL; free() it */
void *mem_realloc(void *old, size_t n, size_t size); /* n * size, overflow checked */
/* Copies of strings, formatted or not; never NULL; free() them. mem_strndup() reads at most n bytes
 * of s. */
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
/* open_memstream() that does not fail. *text holds after fflush() or fclose(); free() it after
 * fclose(). */
FILE *mem_stream(char **text, size_t *n);
