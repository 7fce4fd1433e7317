/* SPDX-License-Identifier: MIT */
/* Allocation for the tracer's side. Running out of memory ends brace with one
 * sentence: the traced program does not need us, and no caller could do better. */
#pragma once
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* An act that precedes that end, in the thread that found no memory; it must not allocate. Returns
 * true if it has told why brace ends; then nothing is written to standard error. It must not add or
 * remove acts: they are locked meanwhile. Acts are added and removed on any thread. */
#define MEM_NONE "out of memory"
struct mem_last_act {
	bool (*act)(struct mem_last_act *self);
	struct mem_last_act *next;
};
void mem_last_act_add(struct mem_last_act *a);    /* the caller's, until it is removed */
/* Does nothing if it was not added. The act does not run any more when this returns. */
void mem_last_act_remove(struct mem_last_act *a);

/* Returns what(arg). If memory runs out in it, on this thread, comes back with -ENOMEM in place of
 * brace's end. Whatever what() had allocated is lost, and data that it was changing are half
 * changed: free and use none of them. what() must hold no lock that others wait for. */
int mem_try(int (*what)(void *arg), void *arg);

void *mem_zalloc(size_t size);                     /* zeroed; never NULL; free() it */
void *mem_realloc(void *old, size_t n, size_t size); /* n * size, overflow checked */
/* Copies of strings, formatted or not; never NULL; free() them. mem_strndup() reads at most n bytes
 * of s. */
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
/* open_memstream() that does not fail. *text holds after fflush() or mem_stream_close(); free() it
 * after that. Both stay where they are until then. */
FILE *mem_stream(char **text, size_t *n);
/* fclose() of a stream of mem_stream(); text as given there. Every one ends here: memory that ran
 * out while it was written shows only now, and ends brace as in mem_zalloc(). */
void mem_stream_close(FILE *stream, char *const *text);
