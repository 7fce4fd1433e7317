/* SPDX-License-Identifier: MIT */
/* Text of a foreign file, line by line and number by number, without a NUL at its end. Private to
 * src/import. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rest of a text; a line is one, too. */
struct import_text { const char *at, *end; };

/* Takes the next line, without its newline, off the text. False: there is none. */
bool import_line(struct import_text *text, struct import_text *line);
/* Takes a word off, and the blanks around it; it may be empty. */
struct import_text import_word(struct import_text *line);
/* Takes a number off that the text begins with. False: it does not, or has more than 64 bits. */
bool import_number(struct import_text *text, unsigned base, uint64_t *out);
/* Takes "SECONDS.FRACTION" off, as nanoseconds. */
bool import_seconds(struct import_text *text, uint64_t *ns);
/* Takes the literal off, if the text begins with it. */
bool import_literal(struct import_text *text, const char *literal);
/* The text behind "KEY=" in a line of such words, up to the next blank or, in quotes, their end. */
bool import_value(struct import_text line, const char *key, struct import_text *out);
/* free() it. */
char *import_copy(struct import_text text);
