/* SPDX-License-Identifier: MIT */
/* Called by main() around each command, on the only thread. A table; tests/ui/search.sh types what
 * each row says. Nothing fails. */
#include "ui/hint.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/say.h"

/* The first row of a command whose condition holds is its hint. */
#define IF(field) .given = TEXT, .offset = offsetof(struct invocation, field)
#define IF_FLAG(field) .given = FLAG, .offset = offsetof(struct invocation, field)

enum given { ALWAYS, TEXT, FLAG };

static const struct hint {
	const char *command;
	const char *what;           /* what the next command tells */
	const char *before, *after; /* the command: the trace file stands between the two */
	enum given given;           /* only if the option at `offset` is given */
	size_t offset;
} hints[] = {
	{ "report", "these calls themselves", "brace replay", " --min-duration 1ms", IF(histogram) },
	{ "report", "the same as a picture", "brace export", " --to flamegraph -o graph.svg", IF_FLAG(call_tree) },
	{ "report", "all calls, added up as a tree", "brace report", " --tree", IF(callers) },
	{ "report", "all calls, added up as a tree", "brace report", " --tree", IF(callees) },
	{ "report", "who calls one of these", "brace report", " --callers FUNCTION" },
	{ "replay", "where the time goes", "brace report", "" },
	{ "info", "where the time goes", "brace report", "" },
	{ "query", "the tables, and questions to begin with", "brace help --search tables SQL", NULL },
	{ "graph", "to look at it more than once", "brace record -K", NULL, IF_FLAG(kernel_alone) },
	{ "graph", "to look at it more than once", "brace record -k -- PROGRAM", NULL, IF_FLAG(kernel) },
	{ "graph", "to look at it more than once", "brace record -- PROGRAM", NULL },
	{ "start", "what is recorded (brace reset -k ends it)", "brace show -k", NULL,
	  IF_FLAG(kernel_alone) },
	{ "start", "what is recorded (brace reset ends it)", "brace show", NULL },
	{ "stop", "what was recorded", "brace show -k", NULL, IF_FLAG(kernel) },
	{ "stop", "what was recorded, as a trace file", "brace extract -o trace.brace", NULL },
	{ "extract", "where the time goes", "brace report", NULL },
};

/* Whether the option was given. */
static bool holds(const struct hint *h, const struct invocation *inv)
{
	const char *at = (const char *)inv + h->offset;
	const char *text;

	if (h->given == ALWAYS)
		return true;
	if (h->given == FLAG)
		return *(const bool *)at;
	memcpy(&text, at, sizeof(text));
	return text;
}

/* Only for people: a script's output has no advice in it. BRACE_HINTS=0 turns it off. */
bool hint_is_wanted(const struct invocation *inv)
{
	const char *switched = getenv("BRACE_HINTS");

	if (switched && !strcmp(switched, "0"))
		return false;
	return !inv->quiet && !inv->json && !inv->csv && !inv->help && isatty(STDOUT_FILENO) &&
	       isatty(STDERR_FILENO);
}

/* The name of the trace file, as a shell takes it; NULL: there was none to name. */
static const char *file_of(const struct hint *h, const struct invocation *inv)
{
	const char *file = h->after && inv->n_operands ? inv->operands[0] : NULL;

	if (!file)
		return NULL;
	return file[strspn(file, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-")]
		       ? "FILE" : file;
}

/* At most one. */
void hint_say(const struct invocation *inv)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
		const struct hint *h = &hints[i];
		const char *file;

		if (strcmp(h->command, inv->command->name) || !holds(h, inv))
			continue;
		file = file_of(h, inv);
		say("brace: %s: %s%s%s%s\n", h->what, h->before, file ? " " : "",
		    file ? file : "", h->after ? h->after : "");
		return;
	}
}
