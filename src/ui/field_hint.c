/* SPDX-License-Identifier: MIT */
/* Called after a refusal, on the only thread. The kernel's sentences ("Couldn't find field") say no
 * more than that: what the event has stands in its format, and what a function has in its
 * definition, because parameters that no text names are not fetched. Fails nowhere: without a name
 * the sentence stays. */
#include "ui/field_hint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "event/format.h"

#define EVENTS "events/"
/* Characters that end a name in hist keys, in filters and in actions of triggers. */
#define WORD_ENDS ",.: =<>!&|~()\"'*/+-\n"

/* err->text is cut where its room ends: a hint may be lost, the sentence before it is not. */
static void add(struct err *err, const char *before, const char *words, const char *behind)
{
	size_t n = strlen(err->text);

	snprintf(err->text + n, sizeof(err->text) - n, "%s%s%s", before, words, behind);
}

/* The word at fault, for free(). A filter's caret stands behind its word. The column may lie behind
 * the input, which is itself cut to err's room. */
static char *word_at_fault(const struct err *err)
{
	size_t begin = err->column < strlen(err->input) ? err->column : strlen(err->input), end;

	while (begin && strchr(WORD_ENDS, err->input[begin]))
		begin--;
	while (begin && !strchr(WORD_ENDS, err->input[begin - 1]))
		begin--;
	end = begin + strcspn(err->input + begin, WORD_ENDS);
	return mem_strndup(err->input + begin, end - begin);
}

/* Adds the parameter that is most like the word, or all. */
static void add_parameters(struct err *err, const char *word, const char *parameters)
{
	char *all = mem_strdup(parameters), *rest = all;
	struct nearest near = { word, NULL, 0 };

	for (char *name; (name = strsep(&rest, ","));)
		nearest_offer(&near, name + strspn(name, " "));
	if (near.best)
		add(err, " (did you mean ", near.best, "?)");
	else
		add(err, "; the function has ", parameters, "");
	free(all);
}

/* The definition that has made the event, "SYSTEM:EVENT"; NULL: none with known parameters has. */
static const struct probe_definition_line *definition_of(const struct invocation *inv,
							  const char *event)
{
	for (size_t i = 0; i < inv->definitions.n; i++)
		if (inv->definitions.at[i].parameters &&
		    !strcmp(inv->definitions.at[i].name, event))
			return &inv->definitions.at[i];
	return NULL;
}

/* Adds the event's field that is most like the word. dir: "events/SYSTEM/EVENT". */
static void add_field(const struct event_files *f, const char *dir, const char *word,
		      struct err *err)
{
	char *path = mem_printf("%s/format", dir), *text = NULL;
	struct event_format *format;
	const char *near;
	struct err ignored;

	if (!f->cat(f->arg, path, &text, &ignored)) {
		format = event_format_parse(text, strlen(text), "", &ignored);
		near = format ? event_nearest_field(format, word, strlen(word)) : NULL;
		if (near)
			add(err, " (did you mean ", near, "?)");
		if (format)
			event_format_free(format);
	}
	free(text);
	free(path);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && !strcmp(text + n - k, end);
}

void field_hint_of_write(const struct invocation *inv, const struct event_files *f,
			 const char *path, struct err *err)
{
	const struct probe_definition_line *d;
	const char *file = strrchr(path, '/');
	char *dir, *event, *slash, *word;

	/* Two sentences of the kernel's error_log: of hist triggers, and of filters. */
	if (!file || strncmp(path, EVENTS, strlen(EVENTS)) || file < path + strlen(EVENTS) ||
	    !(ends_with(err->text, "Couldn't find field") || ends_with(err->text, "Field not found")))
		return;
	dir = mem_strndup(path, (size_t)(file - path));
	event = mem_strdup(dir + strlen(EVENTS));
	/* Definitions are named SYSTEM:EVENT, folders SYSTEM/EVENT. */
	slash = strchr(event, '/');
	if (slash)
		*slash = ':';
	word = word_at_fault(err);
	d = definition_of(inv, event);
	if (d)
		add_parameters(err, word, d->parameters);
	else
		add_field(f, dir, word, err);
	free(word);
	free(event);
	free(dir);
}

void field_hint_of_statement(const struct invocation *inv, struct err *err)
{
	for (size_t i = 0; i < inv->definitions.n; i++) {
		const struct probe_definition_line *d = &inv->definitions.at[i];
		char *end = mem_printf("the event %s has no such field", d->name), *dot;

		if (d->parameters && ends_with(err->text, end)) {
			char *word = mem_strndup(err->text, strcspn(err->text, ":"));

			dot = strrchr(word, '.');
			add_parameters(err, dot ? dot + 1 : word, d->parameters);
			free(word);
		}
		free(end);
	}
}
