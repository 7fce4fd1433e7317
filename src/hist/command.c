/* SPDX-License-Identifier: MIT */
/* The grammar of histograms: a line to a struct hist_command. On the thread that writes to a
 * trigger file. The order of checks and the places of carets are those of Linux 6.12, which finds
 * the column of a fault by looking for the first occurrence of the words at fault in the line, and
 * points at the line's begin if they are empty. Where the kernel has no sentence brace has one of
 * its own; error_log gets it, too. */
#include "hist/command.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define KIND_BYTES 4u /* "hist" */
#define SIZE_DEFAULT 2048u
#define SIZE_MIN 128u
#define SIZE_MAX_ENTRIES 131072u

/* A part of the line. at NULL: absent. */
struct words {
	const char *at;
	size_t n;
};

/* The line that is parsed. Assignments are collected first, because the kernel looks at values
 * before keys, in whatever order they are written; of several of a kind the last one counts. */
struct parse {
	const struct event_format *event;
	const struct hist_line *line;
	struct filter_fault *fault;
	struct hist_command *c;
	struct words keys, values, sort, size, clock, name;
	bool counted;           /* `hitcount` stood among the values */
};

/* --- words ---------------------------------------------------------------------------- */

static bool words_are(struct words w, const char *text)
{
	return w.n == strlen(text) && !memcmp(w.at, text, w.n);
}

static bool words_begin(struct words w, const char *text)
{
	return w.n >= strlen(text) && !memcmp(w.at, text, strlen(text));
}

static bool words_have(struct words w, char c)
{
	return w.n && memchr(w.at, c, w.n);
}

/* Splits *rest at the first c: returns what is before it; *rest is then what is behind it, or
 * absent. */
static struct words words_split(struct words *rest, char c)
{
	const char *at = rest->n ? memchr(rest->at, c, rest->n) : NULL;
	struct words first = *rest;

	if (!at) {
		*rest = (struct words){ NULL, 0 };
		return first;
	}
	first.n = (size_t)(at - first.at);
	*rest = (struct words){ at + 1, rest->n - first.n - 1 };
	return first;
}

/* Reads an unsigned number in C's notations, all of the words. */
static bool words_number(struct words w, uint64_t *out)
{
	char *text, *end;
	bool ok;

	if (!w.n || !isdigit((unsigned char)*w.at))
		return false;
	text = mem_strndup(w.at, w.n);
	errno = 0;
	*out = strtoull(text, &end, 0);
	ok = !errno && !*end;
	free(text);
	return ok;
}

/* --- faults --------------------------------------------------------------------------- */

/* Fills *fault. Returns -code. */
static int fill_fault(const struct hist_line *line, struct filter_fault *fault, int code,
		      const char *sentence, size_t column)
{
	*fault = (struct filter_fault){ .code = code,
					.position = column,
					.text = line->at,
					.length = line->n,
					.kind = "hist",
					.sentence = sentence };
	return -code;
}

int hist_refuse(const struct hist_line *line, struct filter_fault *fault, int code,
		const char *sentence, const char *at, size_t n)
{
	const char *found = n ? memmem(line->at, line->n, at, n) : NULL;

	return fill_fault(line, fault, code, sentence, found ? (size_t)(found - line->at) : 0);
}

static int refuse(struct parse *p, const char *sentence, struct words at)
{
	return hist_refuse(p->line, p->fault, EINVAL, sentence, at.at, at.n);
}

/* A fault for which the kernel has no sentence: the caret is where the words are. */
static int refuse_here(struct parse *p, const char *sentence, struct words at)
{
	return fill_fault(p->line, p->fault, EINVAL, sentence, (size_t)(at.at - p->line->at));
}

/* --- fields --------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum hist_modifier modifier;
	bool prefix;            /* more may follow, as in the kernel */
	bool of_values;         /* a value may have it */
} modifiers[] = {
	{ "hex", HIST_HEX, false, true },
	{ "sym", HIST_SYM, false, false },
	{ "sym-offset", HIST_SYM_OFFSET, false, false },
	{ "execname", HIST_EXECNAME, false, true },
	{ "syscall", HIST_SYSCALL, false, false },
	{ "stacktrace", HIST_STACKTRACE, false, false },
	{ "log2", HIST_LOG2, false, false },
	{ "usecs", HIST_USECS, false, true },
	{ "percent", HIST_PERCENT, true, true },
	{ "graph", HIST_GRAPH, true, true },
};
#define MODIFIERS (sizeof(modifiers) / sizeof(modifiers[0]))

/* Reads "buckets=N" or "bucket=N". The fault is at what is no number. */
static int set_buckets(struct parse *p, struct hist_field *f, struct words text)
{
	static const char *const skipped[] = { "bucket", "s", "=" };

	for (size_t i = 0; i < 3; i++) {
		size_t n = words_begin(text, skipped[i]) ? strlen(skipped[i]) : 0;

		text = (struct words){ text.at + n, text.n - n };
	}
	f->modifier = HIST_BUCKETS;
	if (words_number(text, &f->buckets) && f->buckets)
		return 0;
	/* A minus would be an operator, whose left side has no number. */
	return refuse(p, "Invalid field modifier",
		      words_begin(text, "-") ? (struct words){ NULL, 0 } : text);
}

static int set_modifier(struct parse *p, struct hist_field *f, struct words name,
			struct words text)
{
	if (words_begin(text, "bucket"))
		return set_buckets(p, f, text);
	for (size_t i = 0; i < MODIFIERS; i++) {
		if (modifiers[i].prefix ? !words_begin(text, modifiers[i].name)
					: !words_are(text, modifiers[i].name))
			continue;
		f->modifier = modifiers[i].modifier;
		/* The name is the thread's that made the record: of no other number. */
		if (f->modifier == HIST_EXECNAME && !words_are(name, "common_pid"))
			break;
		return 0;
	}
	return refuse(p, "Invalid field modifier", text);
}

/* Names of things that every event has, beside the fields of its record. */
static bool is_generic(struct hist_field *f, struct words name)
{
	static const struct { const char *name; enum hist_source source; } generic[] = {
		{ "common_timestamp", HIST_TIMESTAMP },
		{ "common_stacktrace", HIST_STACK },
		{ "common_cpu", HIST_CPU },
		{ "hitcount", HIST_HITCOUNT },
	};

	for (size_t i = 0; i < sizeof(generic) / sizeof(generic[0]); i++) {
		if (!words_are(name, generic[i].name))
			continue;
		f->source = generic[i].source;
		f->name = generic[i].name;
		return true;
	}
	return false;
}

static const enum hist_source source_of[] = {
	[EVENT_NUMBER] = HIST_NUMBER, [EVENT_STRING] = HIST_STRING,
	[EVENT_DYNAMIC] = HIST_STRING, [EVENT_RELATIVE] = HIST_STRING,
	[EVENT_POINTER] = HIST_NUMBER, [EVENT_CPUMASK] = HIST_NUMBER,
	[EVENT_COMM] = HIST_STRING, [EVENT_CPU] = HIST_CPU, [EVENT_STACK] = HIST_STACK,
};

static bool is_number_size(size_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

static int set_field(struct parse *p, struct hist_field *f, struct words name)
{
	if (is_generic(f, name))
		return 0;
	f->field = name.n ? event_find_field(p->event, name.at, name.n, &f->kind) : NULL;
	if (!f->field)
		return refuse(p, "Couldn't find field", name);
	f->source = source_of[f->kind];
	f->name = f->source == HIST_CPU	  ? "common_cpu"
		  : f->source == HIST_STACK ? "common_stacktrace"
					    : f->field->name;
	if (f->source == HIST_NUMBER && !is_number_size(f->field->size))
		return refuse_here(p, "An array is neither a key nor a value", name);
	if (f->source == HIST_STRING && f->modifier != HIST_PLAIN)
		return refuse_here(p, "A string has no modifier", name);
	return 0;
}

/* Reads NAME[.MODIFIER]. */
static int read_field(struct parse *p, struct hist_field *f, struct words text)
{
	struct words rest = text, name = words_split(&rest, '.');
	int r;

	*f = (struct hist_field){ 0 };
	/* SYSTEM.EVENT.VARIABLE: the kernel looks for the last word. */
	if (words_have(rest, '.')) {
		while (words_have(rest, '.'))
			words_split(&rest, '.');
		return refuse(p, "Couldn't find field", rest);
	}
	if (rest.at) {
		r = set_modifier(p, f, name, rest);
		if (r < 0)
			return r;
	}
	if (name.n && (isdigit((unsigned char)*name.at) || *name.at == '$'))
		return refuse_here(p, "Constants and variables are not supported yet", text);
	r = set_field(p, f, name);
	if (r == 0 && f->source == HIST_STACK)
		f->modifier = HIST_PLAIN;
	return r;
}

/* An operator that stands in no modifier: an expression. */
static bool has_operator(struct words text)
{
	static const char offset[] = ".sym-offset";

	for (size_t i = 0; i < text.n; i++) {
		if (text.at[i] == '-' && i >= 4 && text.n - (i - 4) >= sizeof(offset) - 1 &&
		    !memcmp(text.at + i - 4, offset, sizeof(offset) - 1))
			continue;
		if (strchr("+-*/", text.at[i]))
			return true;
	}
	return false;
}

/* Whether the words are what a negative width of buckets looks like: no expression. */
static bool is_bad_bucket(struct words text)
{
	struct words rest = text;

	words_split(&rest, '.');
	return words_begin(rest, "bucket");
}

static int read_operand(struct parse *p, struct hist_field *f, struct words text)
{
	struct words name = text;

	name.n = 0;
	while (name.n < text.n && !strchr("+-*/.", text.at[name.n]))
		name.n++;
	if (has_operator(text) && !is_bad_bucket(text) && name.n)
		return refuse_here(p, "Expressions are not supported yet", text);
	return read_field(p, f, text);
}

/* --- keys and values ------------------------------------------------------------------ */

static int check_value(struct parse *p, const struct hist_field *f, struct words text)
{
	bool allowed = f->modifier == HIST_PLAIN && f->source != HIST_STACK;

	for (size_t i = 0; i < MODIFIERS; i++)
		allowed |= modifiers[i].modifier == f->modifier && modifiers[i].of_values;
	if (!allowed)
		return refuse(p, "Invalid field modifier",
			      f->modifier == HIST_SYM_OFFSET ? (struct words){ NULL, 0 } : text);
	if (f->source == HIST_STRING)
		return refuse_here(p, "A string has no sum: make it a key", text);
	return 0;
}

static int read_value(struct parse *p, struct words text)
{
	struct hist_command *c = p->c;
	struct hist_field f;
	int r;

	/* The hit count is there anyway; a second one is a value, as in the kernel. */
	if (words_are(text, "hitcount") && !p->counted) {
		p->counted = true;
		return 0;
	}
	r = read_operand(p, &f, text);
	if (r == 0)
		r = check_value(p, &f, text);
	if (r == 0 && c->n_values == HIST_VALUES_MAX)
		r = refuse_here(p, "Too many values (Max = 8)", text);
	if (r == 0)
		c->values[c->n_values++] = f;
	return r;
}

static int read_key(struct parse *p, struct words text)
{
	struct hist_command *c = p->c;
	struct hist_field f;
	int r = read_operand(p, &f, text);
	struct words modifier = text;

	words_split(&modifier, '.');
	if (r == 0 && (f.modifier == HIST_PERCENT || f.modifier == HIST_GRAPH))
		r = refuse(p, "Invalid field modifier", modifier);
	if (r == 0 && f.modifier == HIST_STACKTRACE)
		r = refuse(p, "Invalid field modifier", text);
	if (r == 0 && c->n_keys == HIST_KEYS_MAX)
		r = refuse_here(p, "Too many keys (Max = 8)", text);
	if (r == 0)
		c->keys[c->n_keys++] = f;
	return r;
}

/* Calls read for each of the words between commas. */
static int read_list(struct parse *p, struct words list,
		     int (*read)(struct parse *p, struct words text))
{
	int r = 0;

	while (r == 0 && list.at) {
		struct words text = words_split(&list, ',');

		r = read(p, text);
	}
	return r;
}

/* --- the order of rows ------------------------------------------------------------------ */

static const struct hist_field *sort_field(const struct hist_command *c, size_t i)
{
	return i <= c->n_values ? &c->values[i - 1] : &c->keys[i - 1 - c->n_values];
}

/* Returns the number of the field with that name, values first; -1: there is none. */
static int find_sorted(const struct hist_command *c, struct words name)
{
	if (words_are(name, "hitcount"))
		return 0;
	for (size_t i = 1; i <= c->n_values + c->n_keys; i++) {
		const struct hist_field *f = sort_field(c, i);

		/* Also as it was written: `cpu`. */
		if (words_are(name, f->name) || (f->field && words_are(name, f->field->name)))
			return (int)i;
	}
	return -1;
}

static int read_sort(struct parse *p, struct words text)
{
	struct words rest = text, name = words_split(&rest, '.');
	int field = find_sorted(p->c, name);

	if (field < 0)
		return refuse(p, "Sort field must be a key or a val", name);
	if (rest.at && !words_are(rest, "descending") && !words_are(rest, "ascending"))
		return refuse(p, "Invalid sort modifier", rest);
	p->c->sort[p->c->n_sort++] =
		(struct hist_sort){ (size_t)field, rest.at && *rest.at == 'd' };
	return 0;
}

static int read_sorts(struct parse *p)
{
	struct words list = p->sort, text;
	int r = 0;

	if (!list.at) {
		p->c->n_sort = 1; /* the hit count, ascending */
		return 0;
	}
	words_split(&list, '=');
	while (r == 0 && list.at) {
		text = words_split(&list, ',');
		if (!text.n)
			return refuse(p, "Empty sort field", p->sort);
		if (p->c->n_sort == HIST_SORT_MAX - 1 && list.at)
			return refuse(p, "Too many sort fields (Max = 2)", p->sort);
		r = read_sort(p, text);
	}
	return r;
}

/* --- the rest --------------------------------------------------------------------------- */

static int read_size(struct parse *p)
{
	struct words number = p->size;
	uint64_t n;

	p->c->size = SIZE_DEFAULT;
	if (!number.at)
		return 0;
	words_split(&number, '=');
	if (!words_number(number, &n))
		return refuse_here(p, "The size is not a number", number);
	if (n <= SIZE_MIN / 2 || n > SIZE_MAX_ENTRIES)
		return refuse_here(p, "The size is not between 65 and 131072", number);
	for (p->c->size = SIZE_MIN; p->c->size < n;)
		p->c->size *= 2;
	return 0;
}

static int read_name(struct parse *p)
{
	struct words name = p->name;

	if (!name.at)
		return 0;
	words_split(&name, '=');
	p->c->name = mem_strndup(name.at, name.n);
	return 0;
}

static int read_clock(struct parse *p)
{
	static const char *const clocks[] = { "local", "global", "counter", "uptime", "perf",
					      "mono", "mono_raw", "boot", "tai", "x86-tsc" };
	struct words name = p->clock;

	if (!name.at) {
		p->c->clock = mem_strdup("global");
		return 0;
	}
	words_split(&name, '=');
	p->c->clock = mem_strndup(name.at, name.n);
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (words_are(name, clocks[i]))
			return 0;
	/* The kernel tries to set a clock only if a time is asked for. */
	return p->c->timestamps ? refuse(p, "Couldn't set trace_clock", name) : 0;
}

/* Takes a part "NAME=...". */
static int take_assignment(struct parse *p, struct words part)
{
	const struct { const char *name; struct words *to; } known[] = {
		{ "key=", &p->keys },	  { "keys=", &p->keys },     { "val=", &p->values },
		{ "vals=", &p->values },  { "values=", &p->values }, { "sort=", &p->sort },
		{ "size=", &p->size },	  { "clock=", &p->clock },   { "name=", &p->name },
	};
	struct words value = part;

	words_split(&value, '=');
	if (!value.n)
		return refuse(p, "Empty assignment", part);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (words_begin(part, known[i].name)) {
			*known[i].to = part;
			return 0;
		}
	}
	return refuse_here(p, "Variables are not supported yet", part);
}

static int take_word(struct parse *p, struct words part)
{
	static const struct { const char *name; enum hist_order order; } orders[] = {
		{ "pause", HIST_PAUSE },
		{ "cont", HIST_CONTINUE },
		{ "continue", HIST_CONTINUE },
		{ "clear", HIST_CLEAR },
	};
	static const char *const handlers[] = { "onmatch(", "onmax(", "onchange(" };

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (words_are(part, orders[i].name)) {
			p->c->order = orders[i].order;
			return 0;
		}
	}
	if (words_are(part, "nohitcount") || words_are(part, "NOHC")) {
		p->c->nohitcount = true;
		return 0;
	}
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (words_begin(part, handlers[i]))
			return refuse_here(p, "Actions are not supported yet", part);
	return refuse_here(p, "A part is NAME=..., pause, continue, clear or nohitcount", part);
}

static int take_parts(struct parse *p, struct words rest)
{
	int r = 0;

	while (r == 0 && rest.at) {
		struct words part = words_split(&rest, ':');

		r = words_have(part, '=') ? take_assignment(p, part) : take_word(p, part);
	}
	return r;
}

static struct words behind_equals(struct words w)
{
	words_split(&w, '=');
	return w;
}

/* Keys and values are there: what follows from them. */
static int finish(struct parse *p)
{
	struct hist_command *c = p->c;

	for (size_t i = 0; i < c->n_keys; i++) {
		c->timestamps |= c->keys[i].source == HIST_TIMESTAMP;
		c->stacks |= c->keys[i].source == HIST_STACK;
	}
	for (size_t i = 0; i < c->n_values; i++)
		c->timestamps |= c->values[i].source == HIST_TIMESTAMP;
	if (c->nohitcount && !c->n_values)
		return hist_refuse(p->line, p->fault, ENOENT,
				   "Non-hitcount value is required for 'nohitcount'", NULL, 0);
	return 0;
}

static int read_all(struct parse *p, struct words text)
{
	int r = take_parts(p, text);

	if (r == 0 && !p->keys.at)
		r = refuse_here(p, "A key is missing: keys=FIELD", (struct words){ p->line->at, 0 });
	if (r == 0)
		r = read_size(p);
	if (r == 0 && p->values.at)
		r = read_list(p, behind_equals(p->values), read_value);
	if (r == 0)
		r = read_list(p, behind_equals(p->keys), read_key);
	if (r == 0)
		r = read_sorts(p);
	if (r == 0)
		r = finish(p);
	if (r == 0)
		r = read_name(p);
	return r == 0 ? read_clock(p) : r;
}

int hist_command_parse(const struct event_format *e, const struct hist_line *line,
		       struct hist_command **out, struct filter_fault *fault)
{
	struct parse p = { .event = e,
			   .line = line,
			   .fault = fault,
			   .c = mem_zalloc(sizeof(struct hist_command)) };
	/* Behind the kind's name and a `:` or blank. */
	size_t skipped = line->bare > KIND_BYTES ? KIND_BYTES + 1 : line->bare;
	struct words rest = { line->at + skipped, line->bare - skipped };
	int r;

	if (!rest.n)
		rest.at = NULL;
	r = read_all(&p, rest);
	if (r < 0)
		hist_command_free(p.c);
	else
		*out = p.c;
	return r;
}

void hist_command_free(struct hist_command *c)
{
	free(c->name);
	free(c->clock);
	free(c);
}

/* --- showing and comparing -------------------------------------------------------------- */

void hist_field_show(const struct hist_field *f, FILE *to)
{
	fputs(f->name, to);
	if (f->modifier == HIST_BUCKETS)
		fprintf(to, ".buckets=%lld", (long long)f->buckets);
	for (size_t i = 0; i < MODIFIERS; i++)
		if (f->modifier == modifiers[i].modifier)
			fprintf(to, ".%s", modifiers[i].name);
}

static void show_sort(const struct hist_command *c, FILE *to)
{
	for (size_t i = 0; i < c->n_sort; i++) {
		fputs(i ? "," : ":sort=", to);
		if (c->sort[i].field)
			hist_field_show(sort_field(c, c->sort[i].field), to);
		else
			fputs("hitcount", to);
		if (c->sort[i].descending)
			fputs(".descending", to);
	}
}

void hist_command_show(const struct hist_command *c, FILE *to)
{
	fputs("hist:", to);
	if (c->name)
		fprintf(to, "name=%s:", c->name);
	for (size_t i = 0; i < c->n_keys; i++) {
		fputs(i ? "," : "keys=", to);
		hist_field_show(&c->keys[i], to);
	}
	fputs(c->nohitcount ? ":vals=" : ":vals=hitcount", to);
	for (size_t i = 0; i < c->n_values; i++) {
		fputs(i || !c->nohitcount ? "," : "", to);
		hist_field_show(&c->values[i], to);
	}
	show_sort(c, to);
	fprintf(to, ":size=%u", c->size);
	if (c->timestamps)
		fprintf(to, ":clock=%s", c->clock);
	if (c->nohitcount)
		fputs(":nohitcount", to);
}

static bool same_fields(const struct hist_field *a, const struct hist_field *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i].name, b[i].name) || a[i].modifier != b[i].modifier ||
		    a[i].buckets != b[i].buckets || a[i].source != b[i].source)
			return false;
	return true;
}

bool hist_command_shares(const struct hist_command *a, const struct hist_command *b)
{
	if (a->n_keys != b->n_keys || a->n_values != b->n_values || a->n_sort != b->n_sort)
		return false;
	for (size_t i = 0; i < a->n_sort; i++)
		if (a->sort[i].field != b->sort[i].field ||
		    a->sort[i].descending != b->sort[i].descending)
			return false;
	return same_fields(a->keys, b->keys, a->n_keys) &&
	       same_fields(a->values, b->values, a->n_values);
}

bool hist_command_same(const struct hist_command *a, const struct hist_command *b)
{
	if (!a->name != !b->name || (a->name && strcmp(a->name, b->name)))
		return false;
	return hist_command_shares(a, b);
}
