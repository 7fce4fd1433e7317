/* SPDX-License-Identifier: MIT */
/* Allocation that does not return NULL. All of the tracer calls it, on any thread. When memory runs
 * out it runs the acts that were registered for this case (a background session removes its
 * socket), prints one sentence unless an act has told why, and ends brace with status 125: no
 * caller could do better, and the traced program lives on without us. libbrace, which must not end
 * its host, works within mem_try(). */
#include "base/mem.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whoever ends brace keeps the lock for ever, so that no act ends under it, nor is run twice. */
static pthread_mutex_t acts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mem_last_act *last_acts; /* under acts_lock */
/* The innermost mem_try() of this thread; NULL: none. */
static _Thread_local jmp_buf *way_back;

void mem_last_act_add(struct mem_last_act *a)
{
	pthread_mutex_lock(&acts_lock);
	a->next = last_acts;
	last_acts = a;
	pthread_mutex_unlock(&acts_lock);
}

void mem_last_act_remove(struct mem_last_act *a)
{
	struct mem_last_act **at = &last_acts;

	pthread_mutex_lock(&acts_lock);
	while (*at && *at != a)
		at = &(*at)->next;
	if (*at)
		*at = a->next;
	pthread_mutex_unlock(&acts_lock);
}

/* The acts leave no socket or mount behind; one of them may also tell the user, in its own
 * words. */
static void end_for_want_of_memory(void)
{
	bool told = false;

	if (way_back)
		_longjmp(*way_back, 1);
	pthread_mutex_lock(&acts_lock);
	for (struct mem_last_act *a = last_acts; a; a = a->next)
		told |= a->act(a);
	if (!told)
		fputs("brace: " MEM_NONE "\n", stderr);
	/* _Exit, not exit: handlers of atexit() might allocate. */
	_Exit(125);
}

int mem_try(int (*what)(void *arg), void *arg)
{
	jmp_buf *const outer = way_back;
	jmp_buf here;
	int r;

	if (_setjmp(here)) {
		way_back = outer;
		return -ENOMEM;
	}
	way_back = &here;
	r = what(arg);
	way_back = outer;
	return r;
}

static void *or_die(void *p)
{
	if (!p)
		end_for_want_of_memory();
	return p;
}

void *mem_zalloc(size_t size)
{
	/* calloc(0) may return NULL, which is no failure; a byte is asked for instead. */
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

char *mem_vprintf(const char *fmt, va_list ap)
{
	char *s;

	return or_die(vasprintf(&s, fmt, ap) < 0 ? NULL : s);
}

char *mem_printf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = mem_vprintf(fmt, ap);
	va_end(ap);
	return s;
}

FILE *mem_stream(char **text, size_t *n)
{
	return or_die(open_memstream(text, n));
}

void mem_stream_close(FILE *stream, char *const *text)
{
	bool whole = !ferror(stream);

	/* glibc's fclose() succeeds without a text if the last allocation failed. */
	if (fclose(stream) || !whole || !*text)
		end_for_want_of_memory();
}
