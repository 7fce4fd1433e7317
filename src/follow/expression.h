/* SPDX-License-Identifier: MIT */
/* The objects that are followed, as the user writes them:
 *
 *   EXPRESSION = [ "struct " | "class " ] TYPE [ "." CONDITION { "&&" CONDITION } ]
 *              | ( "$any" | "$arg1" | ... | "$arg6" ) "==" NUMBER
 *   CONDITION  = PATH [ "&" NUMBER ] COMPARISON NUMBER [ "/" NUMBER ]      "/": a mask, too
 *   COMPARISON = "==" | "!=" | "<" | "<=" | ">" | ">="
 *   PATH       = NAME { ( "." | "->" ) NAME | "[" NUMBER "]" }
 *   SHOWN      = PATH { "," PATH }
 *
 * Numbers are C's, and may be negative. Only the grammar is here: what names mean is known by the
 * types of the kernel or of the program. TYPE of C++ may have its namespace, NAMESPACE::NAME. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "follow/wire.h"

#define FOLLOW_NAME 64u      /* bytes of a name, its NUL too */
#define FOLLOW_ARGUMENTS 6u  /* of a function, that may be compared without a type */
#define FOLLOW_NAMES 12u     /* of a path */

struct follow_name {
	char text[FOLLOW_NAME];  /* "": an index */
	uint64_t index;
	size_t at;               /* column in the user's text */
	bool pointer;            /* `->` stands before it */
};

/* end: column behind it in the user's text. */
struct follow_path { struct follow_name names[FOLLOW_NAMES]; uint32_t n; size_t end; };

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
	/* no type, but calls with this number as an argument: the nth from 0 on, or
	 * FOLLOW_ARGUMENTS: any */
	bool by_value;
	uint32_t nth;
	uint64_t value;
};

/* 0, or -EINVAL and *err with the column. The text stays the caller's, and is to live as long as
 * *out. */
int follow_expression_parse(const char *text, struct follow_expression *out, struct err *err);

/* Makes a number what the field has for it: -1 and 0xffffffff are the same 32 bits. False: the
 * field never has it. */
bool follow_field_fit(const struct follow_field *p, uint64_t *value);

struct follow_shown {
	const char *text;        /* the caller's */
	struct follow_path paths[FOLLOW_SHOWN];
	char *labels[FOLLOW_SHOWN]; /* each path as it is written */
	uint32_t n;
};

/* Works like follow_expression_parse(), for what is shown of an object: 0, or -EINVAL and *err with
 * the column. follow_shown_free() frees the labels. */
int follow_shown_parse(const char *text, struct follow_shown *out, struct err *err);
void follow_shown_free(struct follow_shown *s);
