/* SPDX-License-Identifier: MIT */
/* From one line to a trigger. Only takes the text apart: what the words mean is said by the grammar
 * of triggers (src/hist), when the line is written to the event. The commands call it on their own
 * thread; no state. A fault is one sentence with its column. */
#include "hist/question.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/function_name.h"
#include "base/mem.h"
#include "hist/command.h"

/* Threads by their names, where the user names no key. */
#define USUAL_KEYS "common_pid.execname"

struct question_scan {
	const char *text;
	size_t at;
	FILE *keys, *parts;
	size_t n_keys;
	bool sorted, summed;      /* sort=, vals= are there */
	const char *first;        /* key */
	size_t first_n;
};

static size_t skip_blanks(const char *text, size_t at)
{
	return at + strspn(text + at, " \t\n");
}

/* Whether a word is a part of its own: NAME=..., or one of the words without a value. */
static bool is_part(const char *word, size_t n)
{
	static const char *const alone[] = { "nohitcount", "NOHC", "pause" };

	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++)
		if (strlen(alone[i]) == n && !memcmp(alone[i], word, n))
			return true;
	/* .buckets=8 is a key's. */
	return n && memchr(word, '=', n) && !memchr(word, '.', strcspn(word, "="));
}

/* Copies without the $ of $argN and $retval, which are fields of the event that is made. */
static void copy_plain(FILE *to, const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (word[i] != '$' || (strncmp(word + i, "$arg", 4) && strncmp(word + i, "$retval", 7)))
			fputc(word[i], to);
}

/* The first key is kept for is_range(): a single one decides about the order of rows. */
static void add_key(struct question_scan *s, const char *word, size_t n)
{
	if (!n)
		return;
	if (!s->n_keys++) {
		s->first = word;
		s->first_n = n;
	} else {
		fputc(',', s->keys);
	}
	copy_plain(s->keys, word, n);
}

/* Keys that commas part. */
static void add_keys(struct question_scan *s, const char *word, size_t n)
{
	for (size_t at = 0; at < n;) {
		size_t k = strcspn(word + at, ", \t\n");

		k = k < n - at ? k : n - at;
		add_key(s, word + at, k);
		at += k + 1;
	}
}

/* An order and values that the user gives take the place of the usual ones. */
static void add_part(struct question_scan *s, const char *word, size_t n)
{
	s->sorted |= !strncmp(word, "sort=", 5);
	s->summed |= !strncmp(word, "val", 3);
	fputc(':', s->parts);
	copy_plain(s->parts, word, n);
}

/* Words up to `if` or the end. */
static void take_words(struct question_scan *s)
{
	for (;;) {
		const char *word;
		size_t n;

		s->at = skip_blanks(s->text, s->at);
		word = s->text + s->at;
		n = strcspn(word, " \t\n");
		if (!n || (n == 2 && !strncmp(word, "if", 2)))
			return;
		if (is_part(word, n))
			add_part(s, word, n);
		else
			add_keys(s, word, n);
		s->at += n;
	}
}

/* Rows of ranges come in their order, others with the most hits first. */
static bool is_range(const struct question_scan *s)
{
	const char *dot = s->first ? memchr(s->first, '.', s->first_n) : NULL;

	return dot && s->n_keys == 1 && hist_modifier_makes_ranges(dot + 1);
}

/* A range is read from its low end; anything else is asked for its most frequent. */
static void write_order(const struct question_scan *s, FILE *to)
{
	if (s->sorted)
		return;
	fputs(":sort=", to);
	if (is_range(s))
		copy_plain(to, s->first, strcspn(s->first, "."));
	else
		fputs("hitcount.descending", to);
}

/* The trigger, of the parts that were found. `filter`: from the word `if` on. */
static char *make_trigger(const struct question_scan *s, const char *keys, const char *parts)
{
	const char *filter = s->text + s->at;
	char *trigger;
	size_t bytes;
	FILE *to = mem_stream(&trigger, &bytes);

	fprintf(to, "hist:keys=%s%s", s->n_keys ? keys : USUAL_KEYS, parts);
	if (is_range(s) && !s->summed)
		fputs(":vals=hitcount,hitcount.graph", to);
	write_order(s, to);
	if (*filter) {
		fputc(' ', to);
		copy_plain(to, filter, strlen(filter));
	}
	mem_stream_close(to, &trigger);
	return trigger;
}

/* Turns the question's shorter form into a trigger as ftrace has it. text must outlive *out; *err
 * has the column in it. */
int hist_question_parse(const char *text, struct hist_question *out, struct err *err)
{
	struct question_scan s = { .text = text };
	char *keys, *parts;
	size_t n_keys, n_parts;

	*out = (struct hist_question){ .text = text, .at = skip_blanks(text, 0) };
	out->n = function_name_length(text + out->at, ",");
	if (!out->n)
		return err_at(err, EINVAL, text, out->at,
			      "an event or a function stands first: 'malloc size.log2', "
			      "'sys_enter_openat filename'");
	s.at = out->at + out->n;
	s.keys = mem_stream(&keys, &n_keys);
	s.parts = mem_stream(&parts, &n_parts);
	take_words(&s);
	mem_stream_close(s.keys, &keys);
	mem_stream_close(s.parts, &parts);
	if (s.text[s.at] && !s.text[skip_blanks(text, s.at + 2)])
		err_at(err, EINVAL, text, s.at, "behind if stands a filter: size > 100");
	else
		out->trigger = make_trigger(&s, keys, parts);
	free(keys);
	free(parts);
	return out->trigger ? 0 : -EINVAL;
}

/* Whether the field stands here by itself, without a modifier. */
static bool is_field(const char *at, char before, const char *name, size_t n)
{
	return !isalnum((unsigned char)before) && before != '_' && before != '.' &&
	       !strncmp(at, name, n) && !isalnum((unsigned char)at[n]) && at[n] != '_' &&
	       at[n] != '.';
}

void hist_question_rename(struct hist_question *q, const char *name, size_t n, const char *field)
{
	char quote = '\0', before = ' ', *renamed;
	size_t bytes;
	FILE *to = mem_stream(&renamed, &bytes);

	for (const char *at = q->trigger; *at; before = *at++) {
		/* Text in quotes is compared with a field, and is none. */
		if (quote || *at == '"' || *at == '\'')
			quote = quote == *at ? '\0' : quote ? quote : *at;
		else if (is_field(at, before, name, n)) {
			fputs(field, to);
			at += n - 1;
			continue;
		}
		fputc(*at, to);
	}
	mem_stream_close(to, &renamed);
	free(q->trigger);
	q->trigger = renamed;
}

void hist_question_free(struct hist_question *q)
{
	free(q->trigger);
	q->trigger = NULL;
}
