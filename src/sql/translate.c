/* SPDX-License-Identifier: MIT */
/* From a statement to triggers, as libtracefs translates it (tracefs-sqlhist.c, tracefs-hist.c), so
 * that `sqlhist` and brace print the same lines but for the number in the names of variables.
 *
 * For two events, the first one's histogram keeps in variables, by the fields that are matched, the
 * time and the values that are asked for. The second one's has the same keys, and reads them.
 * ui/statement.c calls it, on the command's thread. A name that nothing has, or a part that
 * histograms cannot express, is a place in the statement and a sentence. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "hist/modifier.h"
#include "sql/internal.h"

#define OF(w) (int)(w).n, t->s->text + (w).at

/* Frees the old text. `between` stands only between two texts. */
void translate_append(char **text, const char *between, const char *more)
{
	char *joined = mem_printf("%s%s%s", *text, **text ? between : "", more);

	free(*text);
	*text = joined;
}

/* A fault of a word: the sentence begins with the word. Returns -EINVAL. A word may be as long as
 * the statement, and err.text is bounded: 80 bytes of it are shown. */
int translate_fault(const struct translation *t, struct sql_word w, const char *fmt, ...)
{
	va_list ap;
	char *sentence;

	va_start(ap, fmt);
	sentence = mem_vprintf(fmt, ap);
	va_end(ap);
	sql_fault(t->s->text, w.at, t->err, "%.*s: %s", (int)(w.n < 80 ? w.n : 80),
		  t->s->text + w.at, sentence);
	free(sentence);
	return -EINVAL;
}

/* --- fields ----------------------------------------------------------------------------------- */

/* Whether the word begins with n characters and a dot. */
bool translate_has_prefix(const char *word, size_t length, const char *prefix, size_t n)
{
	return n && length > n + 1 && !strncmp(word, prefix, n) && word[n] == '.';
}

/* Where the event's own name begins in "SYSTEM.EVENT". */
size_t translate_short_begin(const char *name, size_t n)
{
	size_t at = n;

	while (at && !strchr(".:", name[at - 1]))
		at--;
	return at;
}

/* The length of the word's part that names the table: its label, its event as written, or its
 * event. 0: no part does. The label goes first, because the user chose it. Last comes a word with a
 * system that FROM does not have: of it only the event's name behind the dot is compared. */
static size_t table_prefix(const struct translation *t, struct sql_word w, unsigned side)
{
	const struct sql_table *table = &t->s->tables[side];
	const char *word = t->s->text + w.at, *event = t->s->text + table->event.at, *dot;
	size_t begin = translate_short_begin(event, table->event.n), n = table->event.n - begin;

	if (translate_has_prefix(word, w.n, t->s->text + table->name.at, table->name.n))
		return table->name.n + 1;
	if (translate_has_prefix(word, w.n, event, table->event.n))
		return table->event.n + 1;
	if (translate_has_prefix(word, w.n, event + begin, n))
		return n + 1;
	dot = memchr(word, '.', w.n);
	if (dot && translate_has_prefix(dot + 1, w.n - (size_t)(dot + 1 - word), event + begin, n))
		return (size_t)(dot + 1 - word) + n + 1;
	return 0;
}

/* The table that a word is of, and the field's part of the word. Without a JOIN the field may stand
 * alone. */
static bool split_field(const struct translation *t, struct sql_word w, unsigned *side,
			struct sql_word *field)
{
	for (unsigned i = 0; i < t->s->n_tables; i++) {
		size_t prefix = table_prefix(t, w, i);

		if (!prefix)
			continue;
		*side = i;
		*field = (struct sql_word){ w.at + prefix, w.n - prefix };
		return true;
	}
	*side = 0;
	*field = w;
	return t->s->n_tables == 1;
}

/* Words of sqlhist that are no fields of records, and their names in the kernel's histograms. The
 * kernel's own names stand there, too, since no format lists them as fields. */
static const struct { const char *word, *name; } special[] = {
	{ "TIMESTAMP", "common_timestamp" }, { "TIMESTAMP_USECS", "common_timestamp.usecs" },
	{ "STACKTRACE", "common_stacktrace" }, { "COMM", "common_comm" },
	{ "common_timestamp", "common_timestamp" }, { "common_stacktrace", "common_stacktrace" },
};

/* The name in histograms; NULL: it is a field's own. */
const char *translate_special_name(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
		if (strlen(special[i].word) == n && !strncmp(word, special[i].word, n))
			return special[i].name;
	return NULL;
}

/* Sets the error of a field that the event does not have, at `at`. */
int translate_no_field(const struct translation *t, struct sql_word at, struct sql_word field,
		       const struct event_format *event)
{
	const char *near = event_nearest_field(event, t->s->text + field.at, field.n);

	return translate_fault(t, at, "the event %s:%s has no such field%s%s%s", event->system,
			       event->name, near ? "; did you mean " : "", near ? near : "",
			       near ? "?" : "");
}

/* Fills *out, whose name the caller frees. */
static int find_field(const struct translation *t, struct sql_word w, struct named_field *out)
{
	struct sql_word f;
	const char *name;

	*out = (struct named_field){ 0 };
	if (!split_field(t, w, &out->side, &f))
		return translate_fault(t, w, "of which event? Write EVENT.FIELD, or the event's "
				"name behind AS");
	name = translate_special_name(t->s->text + f.at, f.n);
	out->name = name ? mem_strdup(name) : mem_strndup(t->s->text + f.at, f.n);
	out->time = name && !strncmp(name, "common_timestamp", 16);
	out->stack = name && !strcmp(name, "common_stacktrace");
	if (out->time || out->stack)
		return 0;
	out->field = event_find_field(t->sides[out->side].event, out->name,
				      strcspn(out->name, "."), &out->kind);
	if (out->field)
		return 0;
	free(out->name);
	out->name = NULL;
	return translate_no_field(t, w, f, t->sides[out->side].event);
}

/* Whether its values are strings: they have no sum, and match strings only. */
bool translate_is_text(const struct named_field *f)
{
	return f->field && (f->kind == EVENT_STRING || f->kind == EVENT_DYNAMIC ||
			    f->kind == EVENT_RELATIVE || f->kind == EVENT_COMM);
}

/* "TYPE NAME;" of a synthetic event's field that has this one's values. The kernel's
 * synth_field_size() knows few types by name, and refuses others: so any other type becomes a
 * number of its width. 16 is TASK_COMM_LEN. */
char *translate_field(const struct named_field *f, const char *name)
{
	static const char *const kept[] = { "pid_t", "gfp_t", "bool" };
	const char *bracket;

	if (f->time)
		return mem_printf("u64 %s;", name);
	if (f->stack)
		return mem_printf("unsigned long %s[];", name);
	if (f->kind == EVENT_COMM)
		return mem_printf("char %s[16];", name);
	if (f->kind == EVENT_CPU)
		return mem_printf("s32 %s;", name);
	if (f->kind == EVENT_DYNAMIC || f->kind == EVENT_RELATIVE)
		return mem_printf("char %s[];", name);
	bracket = strchr(f->field->type, '[');
	if (bracket)
		return mem_printf("%.*s %s%s;", (int)(bracket - f->field->type), f->field->type,
				  name, bracket);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (!strcmp(f->field->type, kept[i]))
			return mem_printf("%s %s;", kept[i], name);
	if (f->field->size == 1)
		return mem_printf("%schar %s;", f->field->is_signed ? "" : "unsigned ", name);
	return mem_printf("%c%u %s;", f->field->is_signed ? 's' : 'u', f->field->size * 8u, name);
}

/* --- events ----------------------------------------------------------------------------------- */

/* Notes the field by its own name as one that its event needs. */
static void note_use(struct translation *t, struct sql_word w)
{
	struct sql_word f;
	unsigned side;
	char *name;

	if (!w.n || !split_field(t, w, &side, &f))
		return;
	name = mem_strndup(t->s->text + f.at, f.n);
	translate_append(&t->sides[side].uses, " ", name);
	free(name);
}

/* All words of the statement, before their events are asked for: an event of arguments is made
 * with those that are used. */
static void note_uses(struct translation *t)
{
	for (size_t i = 0; i < t->s->items.n; i++) {
		note_use(t, t->s->items.at[i].a);
		note_use(t, t->s->items.at[i].b);
	}
	for (size_t i = 0; i < t->s->matches.n; i++) {
		note_use(t, t->s->matches.at[i].a);
		note_use(t, t->s->matches.at[i].b);
	}
	for (size_t i = 0; i < t->s->nodes.n; i++)
		note_use(t, t->s->nodes.at[i].field);
}

/* Asks for each table's event. The owner of the events says why there is none; an empty sentence
 * means that it does not know the name. */
static int find_events(struct translation *t)
{
	note_uses(t);
	for (unsigned i = 0; i < t->s->n_tables; i++) {
		struct sql_word w = t->s->tables[i].event;
		struct err why = { 0 };

		t->sides[i].event = t->o->find(t->o->arg, t->s->text + w.at, w.n, t->sides[i].uses,
					       &why);
		if (!t->sides[i].event && *why.text)
			return sql_fault(t->s->text, w.at, t->err, "%s", why.text);
		if (!t->sides[i].event)
			return translate_fault(t, w, "there is no such event");
	}
	return 0;
}

/* --- conditions ------------------------------------------------------------------------------- */

/* The number in decimal, as libtracefs writes it; a leading 0 makes it octal. */
int translate_write_number(const struct translation *t, struct sql_word w, FILE *to)
{
	const char *at = t->s->text + w.at;
	char *end;
	long long number;

	errno = 0;
	number = strtoll(at, &end, 0);
	if (errno || end != at + w.n)
		return translate_fault(t, w, "is no number of 64 bits: 12, -3, 0x1f");
	fprintf(to, "%lld", number);
	return 0;
}

/* "FIELD OP VALUE", as libtracefs writes it. `=` becomes the filter's `==`. A string may stand in
 * either quotes; filters have it in double ones. */
static int write_compare(struct translation *t, const struct sql_node *n, unsigned side, FILE *to)
{
	struct named_field f;
	int e = find_field(t, n->field, &f);
	bool one = n->operator.n == 1, equal = one && t->s->text[n->operator.at] == '=',
	     like = one && t->s->text[n->operator.at] == '~';
	char quote = t->s->text[n->value.at];

	if (e)
		return e;
	if (f.side != side)
		e = translate_fault(t, n->field, "a condition is on fields of one event: part "
			     "them by && or a comma");
	else if (f.time || f.stack)
		e = translate_fault(t, n->field, "is no field of a record: select it, and filter "
			     "the event that is made");
	else
		fprintf(to, like ? "%s%.*s%.*s" : "%s %.*s%.*s ", f.name, OF(n->operator),
			equal, "=");
	if (!e && (quote == '\'' || quote == '"'))
		fprintf(to, "\"%.*s\"", (int)n->value.n - 2, t->s->text + n->value.at + 1);
	else if (!e)
		e = translate_write_number(t, n->value, to);
	free(f.name);
	return e;
}

/* An AND has an OR inside only in parentheses of the statement's. */
static int write_node(struct translation *t, size_t i, unsigned side, FILE *to)
{
	const struct sql_node *n = &t->s->nodes.at[i];
	bool own = n->grouped;
	int e;

	if (n->test == SQL_COMPARE && !own)
		return write_compare(t, n, side, to);
	if (n->test == SQL_NOT)
		fputc('!', to);
	/* The operand of a NOT may stand in parentheses already. */
	own = n->test == SQL_NOT ? !t->s->nodes.at[n->a].grouped : own;
	if (own)
		fputc('(', to);
	e = n->test == SQL_COMPARE ? write_compare(t, n, side, to)
				   : write_node(t, n->a, side, to);
	if (!e && (n->test == SQL_AND || n->test == SQL_OR)) {
		fputs(n->test == SQL_AND ? "&&" : "||", to);
		e = write_node(t, n->b, side, to);
	}
	if (own)
		fputc(')', to);
	return e;
}

/* The side of the first field in the condition. */
static int side_of(const struct translation *t, size_t i, unsigned *side)
{
	const struct sql_node *n = &t->s->nodes.at[i];
	struct named_field f;
	int e;

	while (n->test != SQL_COMPARE)
		n = &t->s->nodes.at[n->a];
	e = find_field(t, n->field, &f);
	*side = f.side;
	if (!e)
		free(f.name);
	return e;
}

/* Adds the condition to the filter of the event whose fields it has. */
static int add_condition(struct translation *t, size_t i)
{
	unsigned side;
	char *text;
	size_t bytes;
	FILE *to;
	int e = side_of(t, i, &side);

	if (e)
		return e;
	to = mem_stream(&text, &bytes);
	e = write_node(t, i, side, to);
	mem_stream_close(to, &text);
	if (*t->sides[side].filter) {
		char *first = t->sides[side].filter;

		t->sides[side].filter = mem_printf("%s&&(%s)", first, text);
		free(first);
	} else {
		translate_append(&t->sides[side].filter, "", text);
	}
	free(text);
	return e;
}

/* --- one event -------------------------------------------------------------------------------- */

/* The error names every type that there is. */
static int refuse_type(const struct translation *t, struct sql_word cast)
{
	const char *comma = "";
	char *types;
	size_t n;
	FILE *to = mem_stream(&types, &n);
	int e;

	for (enum hist_modifier m = 0; m < HIST_MODIFIERS_N; m++) {
		const char *word = hist_modifier_row(m)->casts[0];

		if (!word)
			continue;
		fputs(comma, to);
		comma = ", ";
		for (; *word; word++)
			fputc(toupper((unsigned char)*word), to);
	}
	mem_stream_close(to, &types);
	e = translate_fault(t, cast, "is no type; there are %s and _COUNTER_", types);
	free(types);
	return e;
}

/* The modifier in *out is for free(), also if the type is refused. */
int translate_cast(const struct translation *t, const struct sql_item *i,
			 const struct named_field *f, char **out)
{
	const char *word = t->s->text + i->cast.at;
	const struct hist_modifier_row *row = hist_modifier_of_cast(word, i->cast.n);

	if (i->cast.n == 7 && !strncasecmp(word, "buckets", 7)) {
		*out = mem_printf(".buckets=%llu", (unsigned long long)i->buckets);
		return i->buckets ? 0 : translate_fault(t, i->cast, "a width stands behind it: "
						 "BUCKETS=10");
	}
	*out = row ? mem_printf(".%s", row->name) : mem_strdup("");
	if (!row)
		return refuse_type(t, i->cast);
	if (row->cast_of_numbers &&
	    (translate_is_text(f) || (f->field && strchr(f->field->type, '['))))
		return translate_fault(t, i->a, "is cast to %.*s, but is a string or an array",
				       (int)i->cast.n, word);
	if (row == hist_modifier_row(HIST_EXECNAME) && strcmp(f->name, "common_pid") != 0)
		return translate_fault(t, i->a, "only common_pid is cast to %.*s",
				       (int)i->cast.n, word);
	return 0;
}

/* CAST(FIELD AS _COUNTER_): the field is summed, and is no key. libtracefs has two spellings. */
bool translate_is_counter(const struct translation *t, const struct sql_item *i)
{
	const char *word = t->s->text + i->cast.at;

	return (i->cast.n == 9 && !strncasecmp(word, "_counter_", 9)) ||
	       (i->cast.n == 11 && !strncasecmp(word, "__counter__", 11));
}

/* A key, or a value that is summed. */
static int add_item_single(struct translation *t, const struct sql_item *i)
{
	struct named_field f;
	char *modifier = NULL, *key;
	int e;

	if (i->operator != SQL_FIELD)
		return translate_fault(t, i->a, "sums and differences are of two events: JOIN "
				"them");
	e = find_field(t, i->a, &f);
	if (e)
		return e;
	if (i->cast.n && !translate_is_counter(t, i))
		e = translate_cast(t, i, &f, &modifier);
	key = mem_printf("%s%s", f.name, modifier ? modifier : "");
	translate_append(i->cast.n && translate_is_counter(t, i) ? &t->sides[0].values : &t->sides[0].keys, ",", key);
	free(key);
	free(modifier);
	free(f.name);
	return e;
}

/* Takes both texts over. more: `>>`, which adds to what the file has. */
void translate_add(struct sql_writes *w, char *file, char *text, bool more)
{
	*vec_add(&w->at) = (struct sql_write){ file, text, more };
}

/* In the tree, for free(). */
char *translate_trigger_file(const struct event_format *e)
{
	return mem_printf("events/%s/%s/trigger", e->system, e->name);
}

/* The statement of one event is one histogram: what is selected is its keys. It is written by `>`:
 * O_TRUNC takes away the triggers that the event had (event_trigger_regex_open() of the kernel), so
 * that the answer is this statement's alone. */
static int translate_single(struct translation *t, struct sql_writes *out)
{
	struct side *s = &t->sides[0];
	int e = 0;

	if (t->o->max || t->o->change || t->o->save || t->o->trace || t->o->snapshot)
		return sql_fault(t->s->text, t->s->tables[0].event.at, t->err,
				 "-m, -c, -s, -T and -S are for two events: JOIN them");
	for (size_t i = 0; i < t->s->items.n && !e; i++)
		e = add_item_single(t, &t->s->items.at[i]);
	if (!e && !*s->keys)
		e = sql_fault(t->s->text, t->s->items.at[0].a.at, t->err,
			      "nothing is left to count by: one value at least is no _COUNTER_");
	if (e)
		return e;
	translate_add(out, translate_trigger_file(s->event),
		  mem_printf("hist:keys=%s%s%s%s%s", s->keys, *s->values ? ":vals=" : "", s->values,
			     *s->filter ? " if " : "", s->filter), false);
	out->result = mem_printf("%s:%s", s->event->system, s->event->name);
	return 0;
}

/* --- two events ------------------------------------------------------------------------------- */

/* Each pair gives a key of both histograms. */
static int add_match(struct translation *t, const struct sql_match *m)
{
	struct named_field a, b = { 0 };
	int e = find_field(t, m->a, &a);

	if (e)
		return e;
	e = find_field(t, m->b, &b);
	if (!e && a.side == b.side)
		e = translate_fault(t, m->b, "both are of one event: a field of each is "
			     "matched");
	if (!e && translate_is_text(&a) != translate_is_text(&b))
		e = translate_fault(t, m->b, "a string and a number never match");
	if (!e) {
		translate_append(&t->sides[a.side].keys, ",", a.name);
		translate_append(&t->sides[b.side].keys, ",", b.name);
	}
	free(a.name);
	free(b.name);
	return e;
}

/* The name of a selected value, for fields of the synthetic event; the caller frees it. */
static char *item_name(const struct translation *t, const struct sql_item *i)
{
	struct sql_word w = i->label.n ? i->label : i->a;
	unsigned side;

	if (!i->label.n)
		split_field(t, w, &side, &w);
	return mem_strndup(t->s->text + w.at, w.n);
}

/* "__WORD_NUMBER_COUNT" */
static char *variable_name(struct translation *t, const char *word)
{
	return mem_printf("__%s_%u_%u", word, t->number, ++t->count);
}

/* "NAME=VALUE" of a side. begin: "" or "$", before a value that is a variable. */
static void add_variable(struct side *s, const char *name, const char *begin, const char *value)
{
	char *variable = mem_printf("%s=%s%s", name, begin, value);

	translate_append(&s->variables, ",", variable);
	free(variable);
}

/* A value of the second event, or of the first one as a variable that the second one reads.
 * *variable: what is passed on. */
static void add_plain(struct translation *t, const struct sql_item *i, const struct named_field *f,
		      const char *name, char **variable)
{
	char *kept;

	*variable = variable_name(t, f->side && !i->label.n ? "arg" : name);
	if (f->side) {
		add_variable(&t->sides[1], *variable, "", f->name);
		return;
	}
	kept = variable_name(t, "arg");
	add_variable(&t->sides[0], kept, "", f->name);
	add_variable(&t->sides[1], *variable, "$", kept);
	free(kept);
}

/* A sum or difference of a value of each. The second event computes it: there both values are at
 * hand, the first event's in a variable. So A - B is $A - B or A - $B, by the side that A is of. */
static int add_compared(struct translation *t, const struct sql_item *i,
			const struct named_field *a, const char *name, char **variable)
{
	const struct named_field *first, *second;
	struct named_field b;
	char *kept, *value;
	int e = find_field(t, i->b, &b);

	if (e)
		return e;
	first = a->side ? &b : a;
	second = a->side ? a : &b;
	if (a->side == b.side)
		e = translate_fault(t, i->b, "a sum or difference is of a field of each event");
	else if (translate_is_text(a) || translate_is_text(&b) || a->stack || b.stack)
		e = translate_fault(t, i->b, "sums and differences are of numbers");
	if (!e) {
		kept = variable_name(t, "arg");
		*variable = variable_name(t, name);
		add_variable(&t->sides[0], kept, "", first->name);
		value = i->operator == SQL_PLUS ? mem_printf("%s+$%s", second->name, kept) :
			a->side			? mem_printf("%s-$%s", second->name, kept) :
						  mem_printf("$%s-%s", kept, second->name);
		add_variable(&t->sides[1], *variable, "", value);
		free(value);
		free(kept);
	}
	free(b.name);
	return e;
}

/* The time from the first event to the second has a word of its own. */
static bool is_delta(const struct translation *t, struct sql_word w)
{
	const char *word = t->s->text + w.at;

	return (w.n == 15 && !strncmp(word, "TIMESTAMP_DELTA", 15)) ||
	       (w.n == 21 && !strncmp(word, "TIMESTAMP_DELTA_USECS", 21));
}

/* *variable is the caller's. The first event keeps when it was, and the second one subtracts. */
static void add_delta(struct translation *t, const struct sql_item *i, const char *name,
		      char **variable)
{
	const char *time = i->a.n == 21 ? "common_timestamp.usecs" : "common_timestamp";
	char *kept = variable_name(t, "arg"), *value = mem_printf("%s-$%s", time, kept);

	*variable = variable_name(t, name);
	add_variable(&t->sides[0], kept, "", time);
	add_variable(&t->sides[1], *variable, "", value);
	free(value);
	free(kept);
}

/* Passes the variable on as a field of the synthetic event. -m and -c name a selected value, but
 * the kernel wants the variable behind it: that is known here. */
static void add_field(struct translation *t, const struct named_field *f, const char *name,
		      const char *variable)
{
	const char *tracked = t->o->max ? t->o->max : t->o->change;
	char *field = translate_field(f, name), *param = mem_printf("$%s", variable);

	translate_append(&t->fields, " ", field);
	translate_append(&t->params, ",", param);
	if (tracked && !strcmp(tracked, name)) {
		free(t->tracked);
		t->tracked = mem_strdup(variable);
	}
	free(field);
	free(param);
}

/* A selected value as a field of the synthetic event, with the variables that carry it there. A
 * delta is of no event's field: `time` gives it a type of 64 bits, as times have. */
static int add_item_joined(struct translation *t, const struct sql_item *i)
{
	struct named_field f = { .time = true };
	char *name, *variable = NULL;
	int e = 0;

	if (is_delta(t, i->a) && i->operator == SQL_FIELD) {
		name = i->label.n ? item_name(t, i) : mem_strdup("delta");
		add_delta(t, i, name, &variable);
	} else {
		e = find_field(t, i->a, &f);
		if (e)
			return e;
		name = item_name(t, i);
		if (i->operator == SQL_FIELD)
			add_plain(t, i, &f, name, &variable);
		else
			e = add_compared(t, i, &f, name, &variable);
	}
	if (!e)
		add_field(t, &f, name, variable);
	free(variable);
	free(name);
	free(f.name);
	return e;
}

/* Each -m and -c has at least one of -s, -T and -S; without both a match makes the event. */
static int write_actions(struct translation *t, FILE *to)
{
	const struct sql_options *o = t->o;
	const char *tracked = o->max ? o->max : o->change;
	const char *handler = o->max ? "onmax" : "onchange";

	if (!tracked && !o->save && !o->snapshot) {
		fprintf(to, ":onmatch(%s.%s).trace(%s,%s)", t->sides[0].event->system,
			t->sides[0].event->name, o->name, t->params);
		return 0;
	}
	if (!tracked)
		return err_set(t->err, EINVAL, "-s and -S need a value by whose change they act: "
			       "-m VALUE (a new maximum) or -c VALUE (another value)");
	if (o->max && o->change)
		return err_set(t->err, EINVAL, "-m and -c exclude each other");
	if (!t->tracked)
		return err_set(t->err, EINVAL, "-%c %s: no selected value has this name",
			       o->max ? 'm' : 'c', tracked);
	if (o->save)
		fprintf(to, ":%s($%s).save(%s)", handler, t->tracked, o->save);
	if (o->snapshot)
		fprintf(to, ":%s($%s).snapshot()", handler, t->tracked);
	if (o->trace || (!o->save && !o->snapshot))
		fprintf(to, ":%s($%s).trace(%s,%s)", handler, t->tracked, o->name, t->params);
	return 0;
}

/* Three writes, in the order in which the kernel takes them: the synthetic event, the first
 * histogram, whose variables the second one reads. A histogram that names an event or a variable
 * which is not there yet would be refused. */
static int write_joined(struct translation *t, struct sql_writes *out)
{
	struct side *a = &t->sides[0], *b = &t->sides[1];
	char *actions;
	size_t bytes;
	FILE *to = mem_stream(&actions, &bytes);
	int e = write_actions(t, to);

	mem_stream_close(to, &actions);
	if (!e) {
		translate_add(out, mem_strdup("dynamic_events"),
			  mem_printf("s:%s %s", t->o->name, t->fields), true);
		translate_add(out, translate_trigger_file(a->event),
			  mem_printf("hist:keys=%s%s%s%s%s", a->keys, *a->variables ? ":" : "",
				     a->variables, *a->filter ? " if " : "", a->filter), true);
		translate_add(out, translate_trigger_file(b->event),
			  mem_printf("hist:keys=%s:%s%s%s%s", b->keys, b->variables, actions,
				     *b->filter ? " if " : "", b->filter), true);
		out->result = mem_printf("synthetic:%s", t->o->name);
		out->joins = true;
	}
	free(actions);
	return e;
}

/* A synthetic event's name: a letter or _, then letters, digits and _. */
bool translate_is_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	while (isalnum((unsigned char)*name) || *name == '_')
		name++;
	return !*name;
}

/* Keys of both histograms first, then what is selected. */
static int translate_joined(struct translation *t, struct sql_writes *out)
{
	int e = 0;

	if (!translate_is_name(t->o->name))
		return err_at(t->err, EINVAL, t->o->name, 0,
			      "the name of an event has letters, digits and _");
	for (size_t i = 0; i < t->s->matches.n && !e; i++)
		e = add_match(t, &t->s->matches.at[i]);
	for (size_t i = 0; i < t->s->items.n && !e; i++)
		e = add_item_joined(t, &t->s->items.at[i]);
	return e ? e : write_joined(t, out);
}

/* --- the statement ---------------------------------------------------------------------------- */

/* Variables of several statements in one tree must not have equal names: a number of five digits at
 * most, which the same statement always gives. */
unsigned translate_number(const char *text, const char *name)
{
	unsigned hash = 5381;

	for (; *text; text++)
		hash = hash * 33 + (unsigned char)*text;
	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash % 32768;
}

/* Texts begin empty, so that translate_append() has something to add to. */
static void begin_translation(struct translation *t)
{
	for (unsigned i = 0; i < 2; i++)
		t->sides[i] = (struct side){ .uses = mem_strdup(""), .keys = mem_strdup(""),
					     .variables = mem_strdup(""),
					     .values = mem_strdup(""), .filter = mem_strdup("") };
	t->fields = mem_strdup("");
	t->params = mem_strdup("");
	t->number = translate_number(t->s->text, t->o->name);
}

/* Also after a failure: what was not made is NULL. */
static void end_translation(struct translation *t)
{
	for (unsigned i = 0; i < 2; i++) {
		free(t->sides[i].uses);
		free(t->sides[i].keys);
		free(t->sides[i].variables);
		free(t->sides[i].values);
		free(t->sides[i].filter);
	}
	free(t->fields);
	free(t->params);
	free(t->tracked);
}

/* The order is the statement's: events, conditions, then what is selected. */
int sql_translate(const struct sql_statement *s, const struct sql_options *o,
		  struct sql_writes *out, struct err *err)
{
	struct translation t = { .s = s, .o = o, .err = err };
	int e;

	*out = (struct sql_writes){ 0 };
	if (s->wide)
		return wide_translate(&t, out);
	begin_translation(&t);
	e = find_events(&t);
	for (size_t i = 0; i < s->conditions.n && !e; i++)
		e = add_condition(&t, s->conditions.at[i]);
	if (!e)
		e = (s->n_tables == 2 ? translate_joined : translate_single)(&t, out);
	end_translation(&t);
	if (e)
		sql_writes_free(out);
	return e;
}

/* w may be used again. */
void sql_writes_free(struct sql_writes *w)
{
	for (size_t i = 0; i < w->at.n; i++) {
		free(w->at.at[i].file);
		free(w->at.at[i].text);
	}
	vec_free(&w->at);
	free(w->result);
	free(w->select);
	w->result = w->select = NULL;
}
