/* SPDX-License-Identifier: MIT */
/* Which objects are followed, as the user writes it:
 *
 *   EXPRESSION = [ "struct " ] TYPE [ "." CONDITION { "&&" CONDITION } ]
 *   CONDITION  = PATH [ "&" NUMBER ] COMPARISON NUMBER [ "/" NUMBER ]      "/": a mask, too
 *   COMPARISON = "==" | "!=" | "<" | "<=" | ">" | ">="
 *   PATH       = NAME { ( "." | "->" ) NAME | "[" NUMBER "]" }
 *   SHOWN      = PATH { "," PATH }
 *
 * Numbers are C's, and may be negative. Only the grammar is here: what names mean is known by the
 * types of the kernel or of the program. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "follow/wire.h"

#define FOLLOW_NAME 64u      /* bytes of a name, its NUL too */
#define FOLLOW_NAMES 12u     /* of a path */

struct follow_name {
	char text[FOLLOW_NAME];  /* "": an index */
	uint64_t index;
	size_t at;               /* column in the user's text */
	bool pointer;            /* `->` stands before it */
};

struct follow_path { struct follow_name names[FOLLOW_NAMES]; uint32_t n; };

struct follow_condition {
	struct follow_path path;
	enum follow_compare compare;
	uint64_t mask, value;    /* the mask is of all bits if none is written */
};

struct follow_expression {
	const char *text;        /* the caller's */
	char type[FOLLOW_NAME];
	size_t type_at;
	struct follow_condition conditions[FOLLOW_CONDITIONS];
	uint32_t n;              /* 0: every object of the type */
};

/* 0, or -EINVAL and *err with the column. The text stays the caller's, and is to live as long as
 * *out. */
int follow_expression_parse(const char *text, struct follow_expression *out, struct err *err);

struct follow_shown {
	const char *text;        /* the caller's */
	struct follow_path paths[FOLLOW_SHOWN];
	char *labels[FOLLOW_SHOWN]; /* each path as it is written */
	uint32_t n;
};

/* Works like follow_expression_parse(). follow_shown_free() frees the labels. */
int follow_shown_parse(const char *text, struct follow_shown *out, struct err *err);
void follow_shown_free(struct follow_shown *s);
