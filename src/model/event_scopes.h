/* SPDX-License-Identifier: MIT */
/* Scopes of events: set_event_scope, brace's own (--within). An event is recorded only while a call
 * of a scope's functions is open on its thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "model/function_list.h"
#include "shared/memory.h"

struct event_scope {
	char *text;                     /* as written: FUNCTION[:DEPTH] */
	struct function_list functions; /* FUNCTION */
	/* levels of calls that it reaches down: 1: the function itself; 0: all */
	uint8_t depth;
};

struct event_scopes { VEC(struct event_scope) at; }; /* at most MEMORY_SCOPES */

/* Replaces the scopes by the words of text, or appends them: each a word of a function list
 * (function_list.h) without `!` and `if`, and :DEPTH, 1 to 255. 0, or -errno and *err with the
 * column; then nothing is changed. -E2BIG: there are too many. */
int event_scopes_write(struct event_scopes *s, const char *text, bool append, struct err *err);
char *event_scopes_read(const struct event_scopes *s); /* one a line; free() it */

/* The scopes that a call of the function opens, a bit each, by their places. */
uint8_t event_scopes_of(const struct event_scopes *s, const char *symbol, uint64_t address,
			const char *module);
/* All of them, a bit each. */
uint8_t event_scopes_all(const struct event_scopes *s);
/* Whether some scope counts levels of calls. */
bool event_scopes_count(const struct event_scopes *s);
/* Adds the scopes of another list that are not there yet. Returns the bits of all of its scopes in
 * this list; 0: there is no room for them, or it has none. */
uint8_t event_scopes_unite(struct event_scopes *to, const struct event_scopes *from);
bool event_scopes_are_same(const struct event_scopes *a, const struct event_scopes *b);
/* A deep copy. What *to had is not freed; event_scopes_free() frees the copy. */
void event_scopes_copy(struct event_scopes *to, const struct event_scopes *from);
void event_scopes_free(struct event_scopes *s);
