/* SPDX-License-Identifier: MIT */
/* Finds the names of fields in a print format. report/event_text.c asks before it prints by the
 * format, ui/list_events.c to tell of the fault. No memory is taken, and nothing fails. Any
 * thread. */
#include "event/print_names.h"

#include <ctype.h>
#include <string.h>

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t word_length(const char *at)
{
	size_t n = 0;

	while (is_word(at[n]))
		n++;
	return n;
}

/* Returns what follows a string constant that begins at `at`; its end may be missing. */
static const char *skip_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		at += *at == '\\' && at[1];
	return *at ? at + 1 : at;
}

/* Returns where a field is to be named behind the word of n characters; NULL: nowhere. */
static const char *field_after(const char *word, size_t n)
{
	const char *at = word + n;

	at += strspn(at, " ");
	if (n == 3 && !strncmp(word, "REC", 3) && !strncmp(at, "->", 2))
		return at + 2 + strspn(at + 2, " ");
	if (n > 6 && !strncmp(word, "__get_", 6) && *at == '(')
		return at + 1 + strspn(at + 1, " ");
	return NULL;
}

/* A string in quotes is passed over as a whole: REC-> in it is text. */
const char *event_print_unknown(const char *print,
				bool (*has)(const void *arg, const char *name, size_t n),
				const void *arg, size_t *n)
{
	while (*print) {
		const size_t length = word_length(print);
		const char *field = length ? field_after(print, length) : NULL;

		*n = field ? word_length(field) : 0;
		if (field && !has(arg, field, *n))
			return field;
		if (*print == '"')
			print = skip_string(print);
		else
			print += length ? length : 1;
	}
	return NULL;
}
