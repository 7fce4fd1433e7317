/* SPDX-License-Identifier: MIT */
/* brace sql: a statement of sqlhist's over a program's events, as histograms and synthetic events
 * (src/sql). main() calls it, on brace's only thread. A failure is said, and is EXIT_BRACE. */
#include <stdlib.h>

#include "ui/commands.h"
#include "ui/say.h"
#include "ui/statement.h"

#define FILE_MOST (1u << 20)

/* A statement from a file, for free(); NULL (said). */
static char *read_statement(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = mem_zalloc(FILE_MOST + 1);
	size_t n = f ? fread(text, 1, FILE_MOST + 1, f) : 0;

	if (f)
		fclose(f);
	if (f && n <= FILE_MOST) {
		text[n] = '\0';
		return text;
	}
	if (f)
		say("brace: %s has more than a megabyte, and is no statement\n", path);
	else
		say("brace: cannot read %s\n", path);
	free(text);
	return NULL;
}

/* A statement of a file may have several lines; the caret of an error needs the text as a whole,
 * so it is kept until the end. */
int cmd_sql(struct invocation *inv)
{
	struct statement_request r = { 0 };
	char *text = NULL;
	int status;

	if (inv->of_sql.file && inv->n_questions) {
		say("brace: a statement is given, or -f, not both\n");
		return EXIT_BRACE;
	}
	if (!inv->of_sql.file && !inv->n_questions) {
		say("brace: which statement? 'SELECT FIELD FROM EVENT', or -f FILE\n");
		return EXIT_BRACE;
	}
	if (inv->of_sql.file)
		text = read_statement(inv->of_sql.file);
	if (inv->of_sql.file && !text)
		return EXIT_BRACE;
	r.text = text ? text : inv->questions[0];
	status = statement_run(inv, &r);
	free(text);
	return status;
}
