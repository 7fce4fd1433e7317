/* SPDX-License-Identifier: MIT */
/* Called by cmd_help() and --help. The tables' texts are user-visible; here is only their layout.
 * On the main thread; nothing fails. */
#include "ui/help.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 80
#define INDENT 30

/* Prints text in words from column INDENT on, broken at WIDTH. */
static void print_wrapped(struct out *out, const char *text)
{
	size_t column = INDENT;

	while (*text) {
		size_t n = strcspn(text, " ");

		/* A word longer than the line stays whole. */
		if (column + n >= WIDTH && column > INDENT) {
			out_printf(out, "\n%*s", INDENT, "");
			column = INDENT;
		} else if (column > INDENT) {
			out_char(out, ' ');
		}
		out_bytes(out, text, n);
		column += n + 1;
		text += n + (text[n] == ' ');
	}
	out_char(out, '\n');
}

/* One option: its spellings, then its text from column INDENT on. */
static void help_option(struct out *out, const struct option *o)
{
	const char *equals = !o->argument ? "" : o->optional ? "[=" : o->name ? "=" : " ";
	char left[128], letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "  -%c", o->letter);
	snprintf(left, sizeof(left), "%s%s%s%s%s%s", letter,
		 o->name ? (o->letter ? ", --" : "  --") : "", o->name ? o->name : "", equals,
		 o->argument ? o->argument : "", o->optional ? "]" : "");
	/* Long spellings have a line of their own. */
	if (strlen(left) < INDENT)
		out_printf(out, "%-*s", INDENT, left);
	else
		out_printf(out, "%s\n%*s", left, INDENT, "");
	print_wrapped(out, o->help);
}

/* From the tables that parsing uses: an option cannot be missing here. */
void help_command(struct out *out, const struct command *c)
{
	out_printf(out, "Usage: brace %s [OPTION]...%s%s%s\n", c->name, c->stops ? " [--]" : "",
		   *c->operands ? " " : "", c->operands);
	out_printf(out, "%s.\n\nOptions:\n", c->summary);
	for (const struct option *const *t = c->tables; *t; t++)
		for (const struct option *o = *t; o->set; o++)
			help_option(out, o);
	out_printf(out, "\nThe manual has the whole story: man brace-%s\n", c->name);
}

void help_all(struct out *out)
{
	out_str(out, "Usage: brace COMMAND [OPTION]... [ARGUMENT]...\n"
		     "The function graph of programs that were never built for tracing.\n\n"
		     "Commands:\n");
	for (const struct command *c = commands; c->name; c++)
		out_printf(out, "  %-9s %s\n", c->name, c->summary);
	out_str(out, "\n`brace COMMAND --help` lists a command's options; `brace help --search WORDS`\nfinds what you want to do.\n");
}
