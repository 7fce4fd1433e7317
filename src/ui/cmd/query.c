/* SPDX-License-Identifier: MIT */
/* brace query: SQL over a trace file, from the command line, a script or a prompt. main() calls it,
 * on brace's only thread. A statement that fails ends a script with its sentence, and at a prompt
 * only itself. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "query/query.h"
#include "ui/commands.h"
#include "ui/rows.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/trace_file.h"

#define PROMPT "brace> "
#define PROMPT_MORE "  ...> "
#define BLANKS " \t\r\n"

/* A single operand is the file if there is one of that name, and otherwise the statement, if it has
 * a blank: a word alone is more likely a file's name with a slip. */
static const char *take_statement(struct invocation *inv)
{
	struct stat st;

	if (inv->n_operands == 2)
		return inv->operands[1];
	if (inv->n_operands == 1 && strpbrk(inv->operands[0], BLANKS) &&
	    !file_look(inv->operands[0], &st))
		return inv->operands[--inv->n_operands];
	return NULL;
}

static enum rows_form form_of(const struct invocation *inv)
{
	return inv->json ? ROWS_JSON : inv->csv ? ROWS_CSV : ROWS_TABLE;
}

/* CSV is for programs, and has its values byte by byte; a terminal sees them escaped. */
static void open_screen(struct screen *o, const struct invocation *inv, enum screen_pager to)
{
	screen_open(o, inv, to, NULL);
	if (form_of(inv) == ROWS_CSV)
		screen_binary(o);
}

/* Runs one text of statements. 0, or -errno and *err. */
static int run_text(const struct invocation *inv, struct query *q, const char *sql,
		    struct screen *to, struct err *err)
{
	struct rows rows;
	int r;

	rows_init(&rows, form_of(inv), &to->text);
	r = query_run(q, sql, &rows_sink, &rows, err);
	/* Rows before a failure stand: they are right. */
	rows_end(&rows);
	out_flush(&to->text);
	return r;
}

/* A failure is said when the pager has ended. */
static int run_operand(const struct invocation *inv, struct query *q, const char *sql)
{
	struct screen o;
	struct err err;
	int r, status;

	open_screen(&o, inv, SCREEN_PAGED);
	r = run_text(inv, q, sql, &o, &err);
	status = screen_close(&o, 0);
	return r ? say_error(&err) : status;
}

/* --- statements from standard input ------------------------------------------------------ */

/* Statements from standard input: a prompt on a terminal; otherwise a script, which the first
 * failure ends. */
struct input {
	const struct invocation *inv;
	struct query *query;
	struct screen screen;
	bool prompt, ended;
	int status;
	char *text; /* of a statement that has not ended yet */
};

/* A failure ends a script; at a prompt the next line follows it. */
static void run_statement(struct input *s, const char *sql)
{
	struct err err;

	if (run_text(s->inv, s->query, sql, &s->screen, &err))
		s->status = say_error(&err);
	s->ended |= (s->status && !s->prompt) || screen_is_done(&s->screen);
}

/* A line that begins with a dot is the prompt's own. */
static void obey(struct input *s, const char *line)
{
	static const struct { const char *line, *sql; } dot[] = {
		{ ".tables", "SELECT name FROM brace_table" },
		{ ".schema", "SELECT name, columns FROM brace_table" },
	};
	char cut[SAY_WORD];

	if (strcmp(line, ".quit") == 0 || strcmp(line, ".exit") == 0) {
		s->ended = true;
		return;
	}
	for (size_t i = 0; i < sizeof(dot) / sizeof(*dot); i++)
		if (strcmp(line, dot[i].line) == 0) {
			run_statement(s, dot[i].sql);
			return;
		}
	say("brace: no command %s; there are .tables, .schema, .quit, and SQL that ends with a semicolon\n",
	    say_word(line, cut));
	s->status = EXIT_BRACE;
	s->ended |= !s->prompt;
}

static bool is_blank(const char *text)
{
	return !text[strspn(text, BLANKS)];
}

/* Collects lines until they are a statement. A dot begins a command only where no statement has
 * begun. */
static void take_line(struct input *s, char *line)
{
	char *longer;

	if (!*s->text && line[0] == '.') {
		line[strcspn(line, BLANKS)] = 0;
		obey(s, line);
		return;
	}
	if (!*s->text && is_blank(line))
		return;
	longer = mem_printf("%s%s", s->text, line);
	free(s->text);
	s->text = longer;
	if (query_is_complete(s->text)) {
		run_statement(s, s->text);
		*s->text = 0;
	}
}

/* The last statement needs no semicolon. The line after a prompt ends here, too. */
static void end_input(struct input *s, int error)
{
	if (s->prompt)
		say("\n");
	if (error) {
		say("brace: cannot read statements from standard input: %s\n", strerror(error));
		s->status = EXIT_BRACE;
	} else if (!is_blank(s->text)) {
		run_statement(s, s->text);
	}
}

/* Statements from standard input, one after another; at a prompt a failure does not end it. */
static int run_input(const struct invocation *inv, struct query *q)
{
	struct input s = {
		.inv = inv, .query = q, .text = mem_strdup(""),
		.prompt = isatty(STDIN_FILENO) && isatty(STDERR_FILENO),
	};
	char *line = NULL;
	size_t room = 0;

	open_screen(&s.screen, inv, SCREEN_PLAIN);
	while (!s.ended) {
		if (s.prompt)
			say("%s", *s.text ? PROMPT_MORE : PROMPT);
		if (getline(&line, &room, stdin) < 0) {
			end_input(&s, ferror(stdin) ? errno : 0);
			break;
		}
		take_line(&s, line);
	}
	free(s.text);
	free(line);
	/* At a prompt every failure was seen when it happened. */
	return screen_close(&s.screen, s.prompt ? 0 : s.status);
}

/* Losses are warned of before the answer: a sum over a trace with holes is no sum of all. */
int cmd_query(struct invocation *inv)
{
	const char *sql = take_statement(inv);
	struct store_reader *reader;
	struct query *q;
	struct err err;
	int status;

	if (inv->json && inv->csv) {
		say("brace: --csv and --json are two forms of the same rows: give one\n");
		return EXIT_BRACE;
	}
	status = trace_file_open(inv, &reader);
	if (status)
		return status;
	if (query_open(reader, &q, &err)) {
		status = say_error(&err);
	} else {
		trace_file_warn_of_losses(store_info(reader));
		if (sql)
			trace_file_meter(inv, reader);
		status = sql ? run_operand(inv, q, sql) : run_input(inv, q);
		query_close(q);
	}
	trace_file_close(reader);
	return status;
}
