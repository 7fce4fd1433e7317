/* SPDX-License-Identifier: MIT */
/* brace latency: the times between two events, or a function's begin and another's, as a histogram
 * by powers of two. It is a statement of brace sql and a histogram of the synthetic event that the
 * statement makes. main() calls it, on brace's only thread. A failure is said, and is
 * EXIT_BRACE. */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ui/commands.h"
#include "ui/say.h"
#include "ui/statement.h"

#define USUAL_KEY "common_pid"
#define NAME "latency"

/* The word at which "A B [by KEY]" goes wrong; the number of words: it ends too early; -1: nothing
 * is wrong. */
static int wrong_word(const struct invocation *inv)
{
	char **q = inv->questions;
	int n = inv->n_questions;

	if (n < 2)
		return n && strstr(q[0], "~~") ? -1 : n;
	if (n > 2 && (strstr(q[0], "~~") || strcmp(q[2], "by")))
		return strstr(q[0], "~~") ? 1 : 2;
	return n == 3 ? 3 : -1;
}

/* The words of the command line, each with a blank behind it. *column: where number `word` begins;
 * there may be one more than there are. The caller frees them. */
static char *join_words(const struct invocation *inv, int word, size_t *column)
{
	char *words = mem_strdup(""), *more;

	*column = 0;
	for (int i = 0; i < inv->n_questions; i++) {
		*column = i == word ? strlen(words) : *column;
		more = mem_printf("%s%s ", words, inv->questions[i]);
		free(words);
		words = more;
	}
	if (word == inv->n_questions)
		*column = strlen(words);
	return words;
}

/* The place in a word of what stands in no name: the statement would end there, or be another one.
 * Its length: all of it may stand there. */
static size_t strange_place(const char *word, bool span, bool key)
{
	size_t n = 0;

	while (isalnum((unsigned char)word[n]) ||
	       (word[n] && strchr("_.:%\\", word[n])) ||
	       (span && word[n] && strchr("~ \t", word[n])) || (key && word[n] == '='))
		n++;
	return n;
}

/* Says which word is no name, and where; false: all are. */
static bool has_strange(const struct invocation *inv)
{
	for (int i = 0; i < inv->n_questions; i++) {
		const char *word = inv->questions[i];
		size_t place = strange_place(word, inv->n_questions == 1, i == 3), column;
		struct err err;
		char *words;

		if (*word && !word[place])
			continue;
		words = join_words(inv, i, &column);
		err_at_part(&err, EINVAL, words, column + place,
		       "%s: letters, digits and _ . : %% stand in one",
		       i == 3 ? "a field's name is expected"
			      : "the name of an event or a function is expected");
		say_error(&err);
		free(words);
		return true;
	}
	return false;
}

/* Says what is wrong with the words, and where; false: nothing is. */
static bool is_wrong(const struct invocation *inv)
{
	int wrong = wrong_word(inv);
	size_t column;
	char *words = join_words(inv, wrong, &column);
	struct err err;

	if (wrong >= 0) {
		err_at_part(&err, EINVAL, words, column,
		       "from which moment to which? brace latency A B [by KEY], where KEY is a "
		       "field of both, or FIELD-OF-A=FIELD-OF-B; or brace latency 'A ~~ B'");
		say_error(&err);
	}
	free(words);
	return wrong >= 0 || has_strange(inv);
}

/* Whether B is the return of the function A. */
static bool is_call(const char *a, const char *b)
{
	size_t n = strlen(a);

	return !strncmp(a, b, n) && !strcmp(b + n, "%return");
}

/* "SELECT ...": KEY is a field of both, or "FIELD=FIELD". The caller frees it. */
static char *join_of(const char *a, const char *b, const char *key)
{
	const char *equals = strchr(key, '=');
	int n = (int)(equals ? equals - key : (ptrdiff_t)strlen(key));

	return mem_printf("SELECT (end.TIMESTAMP - start.TIMESTAMP) AS nsecs, start.%.*s FROM %s AS "
			  "start JOIN %s AS end ON start.%.*s = end.%s", n, key, a, b, n, key,
			  equals ? equals + 1 : key);
}

/* Calls and spans are matched by their own frames and depths, others by the key. */
static char *statement_of(const struct invocation *inv)
{
	char **q = inv->questions;

	if (inv->n_questions == 1)
		return mem_printf("SELECT s.duration AS nsecs, s.start.common_pid FROM %s AS s", q[0]);
	if (inv->n_questions == 2 && is_call(q[0], q[1]))
		return mem_printf("SELECT f.duration AS nsecs, f.common_pid FROM calls.%s AS f", q[0]);
	return join_of(q[0], q[1], inv->n_questions == 4 ? q[3] : USUAL_KEY);
}

#define FROM " FROM "
#define JOIN " JOIN "
#define ON " ON "
#define CALLS "calls."
#define END "end."

/* Puts a column of a key, "start.KEY" or "end.KEY", into the word "KEY" or "FIELD=FIELD". */
static size_t place_in_key(const char *text, size_t column, const char *key)
{
	const char *equals = strncmp(text + column, END, strlen(END)) ? NULL : strchr(key, '=');

	return equals ? (size_t)(equals + 1 - key) : 0;
}

/* Whether --within stands in the statement: the files that are printed are the kernel's, too, where
 * the statement keeps account. In a session it is a setting. */
static bool has_scope(const struct invocation *inv)
{
	return inv->of_sql.within && (inv->explain || inv->of_sql.execute);
}

/* Where in a word that begins at `begin` of the statement a column of it is: none is outside of the
 * word. */
static size_t place_in_word(const char *word, size_t begin, size_t column)
{
	size_t within = column > begin ? column - begin : 0;

	return within < strlen(word) ? within : strlen(word);
}

/* The number of the user's word that stands in the statement around the column, and the place in
 * it; -1: the user wrote none of it. */
static int word_at(const struct invocation *inv, const char *text, size_t column, size_t *within)
{
	char **q = inv->questions;
	const char *from = strstr(text, FROM), *a = from + strlen(FROM),
		   *join = inv->n_questions > 1 ? strstr(from, JOIN) : NULL,
		   *on = join ? strstr(join, ON) : NULL, *at = text + column;

	a += strncmp(a, CALLS, strlen(CALLS)) ? 0 : strlen(CALLS);
	if (at >= from && (!join || at < join)) {
		*within = place_in_word(q[0], (size_t)(a - text), column);
		return 0;
	}
	if (join && at >= join && at < on) {
		*within = place_in_word(q[1], (size_t)(join - text) + strlen(JOIN), column);
		return 1;
	}
	*within = inv->n_questions == 4 ? place_in_key(text, column, q[3]) : 0;
	return inv->n_questions == 4 ? 3 : -1;
}

/* statement_request.place: A stands behind FROM, B behind JOIN, KEY elsewhere, and --within at the
 * end. Behind the end of a word nothing stands, whatever follows in the statement; a fault in what
 * nobody wrote is told without a text. */
static void place_in_words(const struct invocation *inv, const char *text, size_t column,
			   struct err *err)
{
	const char *scope = inv->of_sql.within;
	size_t n = strlen(text), begin, within;
	const struct err why = *err;
	const char *stands = strstr(why.text, " stands where ");
	char *words;
	int word;

	if (has_scope(inv) && column >= n - strlen(scope)) {
		err_at_part(err, why.code, scope, column - (n - strlen(scope)), "%s", why.text);
		return;
	}
	word = word_at(inv, text, column, &within);
	words = join_words(inv, word, &begin);
	if (word >= 0 && stands && within == strlen(inv->questions[word]))
		err_at_part(err, why.code, words, begin + within, "nothing%s", stands);
	else if (word >= 0)
		err_at_part(err, why.code, words, begin + within, "%s", why.text);
	else
		err_set(err, why.code, "%s", why.text);
	free(words);
}

/* Adds --within to the settings of the session, which looks for the function beforehand. */
static void add_scope(struct invocation *inv)
{
	static const struct option within = { .name = "within", .file = "set_event_scope",
					      .append = true };
	struct err err;

	set_setting(inv, &within, inv->of_sql.within, &err);
}

/* A statement of `brace sql` in other words: the synthetic event with a histogram on it. */
int cmd_latency(struct invocation *inv)
{
	const char *name = inv->of_sql.name ? inv->of_sql.name : NAME;
	struct statement_request r = { .n_more = 1, .hist = true, .place = place_in_words };
	struct sql_write more = { .append = true };
	char *text;
	int status;

	if (is_wrong(inv))
		return EXIT_BRACE;
	text = statement_of(inv);
	if (has_scope(inv)) {
		char *plain = text;

		text = mem_printf("%s WITHIN %s", plain, inv->of_sql.within);
		free(plain);
	} else if (inv->of_sql.within) {
		add_scope(inv);
	}
	more.file = mem_printf("events/synthetic/%s/trigger", name);
	more.text = mem_strdup("hist:keys=nsecs.log2:vals=hitcount,hitcount.graph:sort=nsecs");
	inv->of_sql.name = name;
	r.text = text;
	r.more = &more;
	status = statement_run(inv, &r);
	free(more.file);
	free(more.text);
	free(text);
	return status;
}
