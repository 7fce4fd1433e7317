/* SPDX-License-Identifier: MIT */
/* Shared by the files of src/sql: words of a statement (token.c), the parts of the grammar that
 * both kinds of statements have (parse.c), and those of their translation (translate.c). */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "sql/sql.h"

/* Sets *err: the sentence, the text's line at fault, and the column in it. Returns -EINVAL. */
int sql_fault(const char *text, size_t at, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* --- words ------------------------------------------------------------------------------------ */

enum token {
	TOKEN_END,
	TOKEN_FIELD,
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_SYMBOL,             /* one or two characters */
	TOKEN_BAD,
};

/* A statement that is being parsed, at one of its words. */
struct sql_scan {
	struct sql_statement *s;
	struct err *err;
	enum token token;
	struct sql_word word;     /* of the token */
	unsigned depth;
};

/* Goes on to the next word. A backslash makes a name of a keyword. */
void token_next(struct sql_scan *p);
/* Whether it is this symbol; this keyword, in capitals or not. */
bool token_is(const struct sql_scan *p, const char *symbol);
bool token_is_word(const struct sql_scan *p, const char *keyword);
/* token_is() and token_is_word(), and goes on behind it if it is. */
bool token_takes(struct sql_scan *p, const char *symbol);
bool token_takes_word(struct sql_scan *p, const char *keyword);
/* Goes on behind the symbol; a name, which is kept; "[AS] NAME", if it is there. 0, or the
 * fault. */
int token_take(struct sql_scan *p, const char *symbol, const char *expected);
int token_name(struct sql_scan *p, struct sql_word *out, const char *expected);
int token_label(struct sql_scan *p, struct sql_word *out);
/* Whether a selected value may stand here: there is room for it, and it is no `*`. */
int token_item(const struct sql_scan *p);
/* Refuses the word where something else is expected. Returns -EINVAL. */
int token_refuse(const struct sql_scan *p, const char *expected);

/* --- grammar ---------------------------------------------------------------------------------- */

/* Parse "FIELD = FIELD" of ON; what stands behind WHERE; the type of a CAST with its `)`; the end.
 * 0, or the fault. */
int parse_match(struct sql_scan *p);
int parse_where(struct sql_scan *p);
int parse_cast_type(struct sql_scan *p, struct sql_item *i);
int parse_end(struct sql_scan *p);
/* Whether the statement has what sqlhist's grammar does not. */
bool parse_wide_is(const char *text);
/* Parses such a statement. */
int parse_wide(struct sql_scan *p);

/* --- translation ------------------------------------------------------------------------------ */

/* One side of the statement. */
struct side {
	const struct event_format *event;
	char *uses;
	char *keys, *variables, *values, *filter;  /* parted by commas, by &&; "" at first */
};

/* A field that a word names. */
struct named_field {
	unsigned side;
	char *name;                        /* as histograms have it: common_timestamp.usecs */
	const struct event_field *field;   /* NULL: a time or a stack */
	enum event_field_kind kind;
	bool time, stack;
};

struct translation {
	const struct sql_statement *s;
	const struct sql_options *o;
	struct err *err;
	struct side sides[2];
	unsigned number, count;            /* of the statement's variables, and of the next one */
	char *fields, *params;             /* of the synthetic event */
	char *tracked;                     /* variable of -m or -c */
};

/* Adds more to *text, with `between` if there is some already. *text is not NULL, for free(), and
 * another pointer then. */
void translate_append(char **text, const char *between, const char *more);
/* Refuses the word; the sentence begins with it. Returns -EINVAL. */
int translate_fault(const struct translation *t, struct sql_word w, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Refuses the word `at`, because the event has no such field, and names the field that is most like
 * it. Returns -EINVAL. */
int translate_no_field(const struct translation *t, struct sql_word at, struct sql_word field,
		       const struct event_format *event);
/* Whether the word begins with n characters and a dot. */
bool translate_has_prefix(const char *word, size_t length, const char *prefix, size_t n);
/* Where the event's own name begins in "SYSTEM.EVENT". */
size_t translate_short_begin(const char *name, size_t n);
/* The name that histograms have for TIMESTAMP and the like; NULL: it is a field's own. */
const char *translate_special_name(const char *word, size_t n);
bool translate_is_text(const struct named_field *f);
/* "TYPE NAME;" of a synthetic event's field that has this one's values; free() it. */
char *translate_field(const struct named_field *f, const char *name);
/* Writes the number in decimal; -EINVAL if it is none. */
int translate_write_number(const struct translation *t, struct sql_word w, FILE *to);
/* The modifier of a CAST, for free() in any case; -EINVAL if it is none, or not the field's. */
int translate_cast(const struct translation *t, const struct sql_item *i,
		   const struct named_field *f, char **out);
/* Whether the CAST asks for a sum. */
bool translate_is_counter(const struct translation *t, const struct sql_item *i);
/* Adds a write; takes the texts over. */
void translate_add(struct sql_writes *w, char *file, char *text, bool more);
/* "events/SYSTEM/EVENT/trigger", for free(). */
char *translate_trigger_file(const struct event_format *e);
/* Whether it can be a synthetic event's name. */
bool translate_is_name(const char *name);
/* The number in a statement's names of variables. */
unsigned translate_number(const char *text, const char *name);
/* Translates a wide statement: t has s, o and err. */
int wide_translate(const struct translation *t, struct sql_writes *out);
