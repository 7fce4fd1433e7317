/* SPDX-License-Identifier: MIT */
/* Places are all that may be an answer: a question of the index, a command, an option, a paragraph
 * of the manual, a heading of docs/. Each is weighed by its words, rare ones counting more; where
 * all words are found counts most. Called by cmd/help.c on the main thread; nothing fails. */
#include "ui/help_search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "ui/search_words.h"
#include "ui/wants.h"

enum { ANSWERS = 12, PAGE_ANSWERS = 2, COMMAND_COLUMNS = 38, LINE_COLUMNS = 120 };

/* A line of the manual and docs/ (help-text.py); text "": a heading. */
static const struct passage { const char *file, *heading, *text; } passages[] = {
#include "ui/help_text.h"
};

struct search_entry {
	char *command;       /* to be typed; freed */
	const char *text;    /* what it does */
	const char *words;   /* searched, too, and not shown; NULL: none */
	const char *file;    /* of a passage, or NULL */
	double weight;       /* of its kind */
	double near[SEARCH_WORDS_MAX];
	double score;
	size_t order;
};

typedef VEC(struct search_entry) search_entries;

/* Takes `command` over; the texts outlive the entries. Valid until the next one is added. */
static struct search_entry *add_entry(search_entries *all, char *command, const char *text,
				      double weight)
{
	struct search_entry *p = vec_add(all);

	*p = (struct search_entry){ .command = command, .text = text, .weight = weight,
			     .order = all->n };
	return p;
}

/* "brace COMMAND --OPTION=ARGUMENT", for free(). */
static char *option_command(const struct command *c, const struct option *o)
{
	char letter[3] = { '-', o->letter, 0 };
	const char *dashes = o->name ? "--" : "", *name = o->name ? o->name : letter;

	if (!o->argument)
		return mem_printf("brace %s %s%s", c->name, dashes, name);
	return mem_printf(o->optional ? "brace %s %s%s[=%s]" : "brace %s %s%s=%s", c->name, dashes,
			  name, o->argument);
}

/* Several commands have the same options: the first one stands for all. */
static bool is_told(const search_entries *all, const char *text)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->at[i].text == text)
			return true;
	return false;
}

/* An option weighs less than its command, and more than a paragraph. */
static void add_options(search_entries *all, const struct command *c, const struct option *o)
{
	for (; o->set; o++)
		if (!is_told(all, o->help))
			add_entry(all, option_command(c, o), o->help, 2)->words = o->name;
}

/* Commands first: of equal scores the earlier entry wins. */
static void add_commands(search_entries *all)
{
	for (const struct command *c = commands; c->name; c++)
		add_entry(all, mem_printf("brace %s --help", c->name), c->summary, 3)
			->words = c->name;
	for (const struct command *c = commands; c->name; c++)
		for (const struct option *const *t = c->tables; *t; t++)
			add_options(all, c, *t);
}

/* The form in which the user reads the file: a page of the manual, or a file of the
 * documentation. */
static char *read_command(const char *file)
{
	size_t n = strcspn(file, ".");
	char *path;

	if (!strcmp(file + n, ".1"))
		return mem_printf("man %.*s", (int)n, file);
	path = mem_printf("less " BRACE_DOCS "/%s", file);
	if (access(path + strlen("less "), R_OK) == 0)
		return path;
	free(path);
	return mem_printf("less docs/%s", file);
}

/* Headings weigh more than the text below them, which has them as hidden words. */
static void add_passages(search_entries *all)
{
	for (size_t i = 0; i < sizeof(passages) / sizeof(*passages); i++) {
		const struct passage *p = &passages[i];
		bool heading = !*p->text;
		struct search_entry *at = add_entry(all, read_command(p->file),
					     heading ? p->heading : p->text, heading ? 1.5 : 1);

		at->words = heading ? NULL : p->heading;
		at->file = p->file;
	}
}

/* Questions of the index weigh most: they are what users ask. */
static void add_wants(search_entries *all)
{
	for (const struct help_want *w = wants; w->question; w++) {
		struct search_entry *p = add_entry(all, mem_strdup(w->command), w->question, 4);

		p->words = w->words;
	}
}

/* The nearness of each word to the entry's; words that are not shown count less. */
static void look_at(struct search_entry *p, const struct search_words *words)
{
	for (size_t i = 0; i < words->n; i++) {
		double hidden = p->words ? 0.9 * search_words_in(words, i, p->words) : 0;
		double command = p->file ? 0 : 0.9 * search_words_in(words, i, p->command);

		p->near[i] = fmax(search_words_in(words, i, p->text), fmax(hidden, command));
	}
}

/* A word that few entries have says more. */
static double rarity(const search_entries *all, size_t word)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += all->at[i].near[word] > 0;
	return log(1 + (double)all->n / (1 + (double)n));
}

/* Sums what is near, and sorts out: entries with more of the words rise by the square of how
 * many. */
static void weigh(search_entries *all, const struct search_words *words)
{
	for (size_t w = 0; w < words->n; w++) {
		double rare = rarity(all, w);

		for (size_t i = 0; i < all->n; i++)
			all->at[i].score += all->at[i].near[w] * rare;
	}
	for (size_t i = 0; i < all->n; i++) {
		struct search_entry *p = &all->at[i];
		size_t found = 0;

		for (size_t w = 0; w < words->n; w++)
			found += p->near[w] > 0;
		/* A long paragraph has many words by chance. */
		p->score *= p->weight * (double)(found * found) /
			    (1 + 0.1 * log(1 + (double)strlen(p->text)));
	}
}

/* Equal scores in the order in which entries were added. */
static int by_score(const void *a, const void *b)
{
	const struct search_entry *p = a, *q = b;

	if (p->score != q->score)
		return p->score < q->score ? 1 : -1;
	return p->order < q->order ? -1 : 1;
}

/* Where the first word is found, a few words before it; 0 if the text fits. */
static size_t excerpt_begin(const char *text, const struct search_words *words, size_t room)
{
	size_t at = 0, found = 0;

	if (strlen(text) <= room)
		return 0;
	for (size_t i = 0; text[i] && !found; i++)
		for (size_t w = 0; w < words->n; w++)
			if ((!i || text[i - 1] == ' ') &&
			    !strncasecmp(text + i, words->at[w], strlen(words->at[w])))
				found = i;
	for (size_t i = 0; i + room / 3 < found; i++)
		if (text[i] == ' ')
			at = i + 1;
	return at;
}

/* A line: what to type, and what it does, cut to a terminal's width. */
static void print_entry(struct out *out, const struct search_entry *p,
			const struct search_words *words)
{
	size_t left = strlen(p->command), room, at, n;

	left = left > COMMAND_COLUMNS ? left : COMMAND_COLUMNS;
	room = left + 40 < LINE_COLUMNS ? LINE_COLUMNS - left - 4 : 40;
	at = words ? excerpt_begin(p->text, words, room) : 0;
	n = strlen(p->text + at);
	out_printf(out, "%-*s  # %s%.*s%s\n", COMMAND_COLUMNS, p->command, at ? "... " : "",
		   (int)(n < room ? n : room), p->text + at, n > room ? " ..." : "");
}

/* The manual's pages are long: a page is named by its best paragraphs only. */
static bool is_enough(const search_entries *all, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < i; k++)
		n += all->at[i].file && all->at[k].file == all->at[i].file;
	return n >= PAGE_ANSWERS;
}

static void free_entries(search_entries *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->at[i].command);
	vec_free(all);
}

/* Returns how many answers were printed. */
size_t help_search(struct out *out, char *const *texts, int n)
{
	struct search_words words;
	search_entries all = { 0 };
	size_t printed = 0;

	search_words_read(&words, texts, n);
	add_wants(&all);
	add_commands(&all);
	add_passages(&all);
	for (size_t i = 0; i < all.n; i++)
		look_at(&all.at[i], &words);
	weigh(&all, &words);
	qsort(all.at, all.n, sizeof(*all.at), by_score);
	for (size_t i = 0; i < all.n && printed < ANSWERS && all.at[i].score > 0; i++)
		if (!is_enough(&all, i)) {
			print_entry(out, &all.at[i], &words);
			printed++;
		}
	free_entries(&all);
	return printed;
}

void help_wants(struct out *out)
{
	out_str(out, "I want to ...\n\n");
	for (const struct help_want *w = wants; w->question; w++)
		out_printf(out, "%s\n    %s\n", w->question, w->command);
}
