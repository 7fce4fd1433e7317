/* SPDX-License-Identifier: MIT */
/* brace latency: the times between two events, or a function's begin and another's, as a histogram
 * by powers of two. It is a statement of brace sql and a histogram of the synthetic event that the
 * statement makes. main() calls it, on brace's only thread. A failure is said, and is
 * EXIT_BRACE. */
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

/* Says what is wrong with the words, and where; false: nothing is. */
static bool is_wrong(const struct invocation *inv)
{
	int wrong = wrong_word(inv);
	size_t column;
	char *words = join_words(inv, wrong, &column);
	struct err err;

	if (wrong >= 0) {
		err_at(&err, EINVAL, words, column,
		       "from which moment to which? brace latency A B [by KEY], where KEY is a "
		       "field of both, or FIELD-OF-A=FIELD-OF-B; or brace latency 'A ~~ B'");
		say_error(&err);
	}
	free(words);
	return wrong >= 0;
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
#define CALLS "calls."
#define END "end."

/* Puts a column of a key, "start.KEY" or "end.KEY", into the word "KEY" or "FIELD=FIELD". */
static size_t place_in_key(const char *text, size_t column, const char *key)
{
	const char *equals = strncmp(text + column, END, strlen(END)) ? NULL : strchr(key, '=');

	return equals ? (size_t)(equals + 1 - key) : 0;
}

/* statement_request.place: finds the user's word behind a column of statement_of()'s text, which is
 * A behind FROM, B behind JOIN, and KEY elsewhere. */
static void place_in_words(const struct invocation *inv, const char *text, struct err *err)
{
	char **q = inv->questions, *words;
	const char *from = strstr(text, FROM), *join = strstr(from, JOIN);
	size_t a = (size_t)(from - text) + strlen(FROM),
	       b = join ? (size_t)(join - text) + strlen(JOIN) : SIZE_MAX,
	       column = err->column, within = 0, begin;
	int word = -1;

	a += strncmp(text + a, CALLS, strlen(CALLS)) ? 0 : strlen(CALLS);
	if (column >= (size_t)(from - text) && column < a + strlen(q[0])) {
		word = 0;
		within = column > a ? column - a : 0;
	} else if (join && column >= b && column < b + strlen(q[1])) {
		word = 1;
		within = column - b;
	} else if (inv->n_questions == 4) {
		word = 3;
		within = place_in_key(text, column, q[3]);
	}
	if (word < 0)
		return;
	words = join_words(inv, word, &begin);
	snprintf(err->input, sizeof(err->input), "%s", words);
	err->column = begin + within < strlen(err->input) ? begin + within : 0;
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
	/* The files that are printed are the kernel's, too: there the statement keeps account. */
	if (inv->of_sql.within && !inv->explain && !inv->of_sql.execute) {
		add_scope(inv);
	} else if (inv->of_sql.within) {
		char *plain = text;

		text = mem_printf("%s WITHIN %s", plain, inv->of_sql.within);
		free(plain);
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
