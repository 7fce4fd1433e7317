/* SPDX-License-Identifier: MIT */
/* Tables of a wide statement, and the columns that its words name. Called by wide.c, wide_expr.c,
 * wide_filter.c and wide_select.c, on their thread. A name that no table has, or several have, is a
 * place in the statement and a sentence. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "sql/wide.h"

/* --- words ------------------------------------------------------------------------------------ */

/* The length of the word's part that names the event: as it is written, or by its short name. */
static size_t event_prefix(const struct wide *w, struct sql_word word, struct sql_word event)
{
	const char *at = w->t.s->text + word.at, *name = w->t.s->text + event.at;
	size_t begin = translate_short_begin(name, event.n), n = event.n - begin;
	const char *dot = memchr(at, '.', word.n);

	if (translate_has_prefix(at, word.n, name, event.n))
		return event.n + 1;
	if (translate_has_prefix(at, word.n, name + begin, n))
		return n + 1;
	if (dot && translate_has_prefix(dot + 1, word.n - (size_t)(dot + 1 - at), name + begin, n))
		return (size_t)(dot + 1 - at) + n + 1;
	return 0;
}

/* Bytes of "TABLE." at the beginning of the word; 0: it does not have it. A label hides the
 * event's name. */
static size_t table_prefix(const struct wide *w, struct sql_word word, const struct sql_table *t)
{
	const char *text = w->t.s->text;

	if (translate_has_prefix(text + word.at, word.n, text + t->name.at, t->name.n))
		return t->name.n + 1;
	return event_prefix(w, word, t->event);
}

/* The table of the word, and the word's rest. One table needs no name before its fields. */
static bool split_word(const struct wide *w, struct sql_word word, size_t *table,
		       struct sql_word *field)
{
	for (size_t i = 0; i < w->t.s->n_tables; i++) {
		size_t prefix = table_prefix(w, word, &w->t.s->tables[i]);

		if (!prefix)
			continue;
		*table = i;
		*field = (struct sql_word){ word.at + prefix, word.n - prefix };
		return true;
	}
	*table = 0;
	*field = word;
	return w->t.s->n_tables == 1;
}

/* The item that has this label; SQL_NONE: none. So ORDER BY and HAVING name what SELECT has
 * computed. */
size_t wide_labelled(const struct wide *w, struct sql_word word)
{
	const struct sql_statement *s = w->t.s;

	for (size_t i = 0; i < s->items.n; i++)
		if (s->items.at[i].label.n == word.n &&
		    !memcmp(s->text + s->items.at[i].label.at, s->text + word.at, word.n))
			return i;
	return SQL_NONE;
}

static bool is_word(const struct wide *w, struct sql_word word, const char *name)
{
	return strlen(name) == word.n && !strncmp(w->t.s->text + word.at, name, word.n);
}

/* Cuts "start." or "end.", by which a span's fields say whose they are. */
static bool cut_side(const struct wide *w, struct sql_word *field, const char *side)
{
	size_t n = strlen(side);

	if (field->n <= n || strncmp(w->t.s->text + field->at, side, n) != 0)
		return false;
	field->at += n;
	field->n -= n;
	return true;
}

/* --- events ----------------------------------------------------------------------------------- */

#define RETURN "%return"

/* A function's return is an event of its own, which is named by the function and this suffix. */
static bool ends_with_return(const struct wide *w, struct sql_word event)
{
	size_t n = strlen(RETURN);

	return event.n > n && !strncmp(w->t.s->text + event.at + event.n - n, RETURN, n);
}

/* A span has two events: the second one is what stands behind UNTIL. */
static struct sql_word event_word(const struct wide_source *s)
{
	return s->second && s->table->kind == SQL_SPAN ? s->table->until : s->table->event;
}

/* A function's beginning has no result, and would be taken for a return if it were asked for one;
 * a FUNCTION of sqlhist's is. */
static void note_use(struct wide *w, size_t source, const char *name)
{
	struct wide_source *s = &w->sources[source];

	if (!strcmp(name, "retval") && s->table->kind != SQL_EVENT &&
	    !(s->second && s->table->kind == SQL_CALLS) && !ends_with_return(w, event_word(s)))
		return;
	translate_append(&s->uses, " ", name);
}

/* Notes the word's field with the sources of its table. */
static void note_word(struct wide *w, struct sql_word word)
{
	struct sql_word field;
	size_t table;
	char *name;

	if (!word.n || !split_word(w, word, &table, &field))
		return;
	if (!cut_side(w, &field, "start."))
		cut_side(w, &field, "end.");
	name = mem_strndup(w->t.s->text + field.at, field.n);
	note_use(w, w->first[table], name);
	if (w->t.s->tables[table].kind == SQL_SPAN ||
	    (w->t.s->tables[table].kind == SQL_CALLS && !strcmp(name, "retval")))
		note_use(w, w->first[table] + 1, name);
	free(name);
}

/* All words that name fields, wherever they stand in the statement: an event of a function
 * fetches only the arguments that are used. */
static void note_words(struct wide *w)
{
	const struct sql_statement *s = w->t.s;

	for (size_t i = 0; i < s->exprs.n; i++)
		if (s->exprs.at[i].kind == SQL_EXPR_FIELD)
			note_word(w, s->exprs.at[i].word);
		else if (s->exprs.at[i].kind == SQL_EXPR_CAST)
			note_word(w, s->exprs.at[i].cast.a);
	for (size_t i = 0; i < s->matches.n; i++) {
		note_word(w, s->matches.at[i].a);
		note_word(w, s->matches.at[i].b);
	}
	for (size_t i = 0; i < s->nodes.n; i++)
		note_word(w, s->nodes.at[i].field);
}

/* uses: the words that the statement has of the event. 0, or -errno and the error at the word. */
int wide_find_event(struct wide *w, struct sql_word word, bool calls, bool second,
		    const char *uses, const struct event_format **out)
{
	char *name = mem_printf("%s%.*s%s", calls ? "calls." : "", (int)word.n,
				w->t.s->text + word.at, calls && second ? RETURN : "");
	struct err why = { 0 };

	*out = w->t.o->find(w->t.o->arg, name, strlen(name), uses, &why);
	free(name);
	if (*out)
		return 0;
	if (*why.text)
		return sql_fault(w->t.s->text, word.at, w->t.err, "%s", why.text);
	return translate_fault(&w->t, word, calls ? "there is no such function: calls are of a program "
						    "behind --, or a process with -p"
						  : "there is no such event");
}

/* A call's two events are matched by the frame's address, which each has to fetch. */
static void add_source(struct wide *w, const struct sql_table *t, bool second)
{
	bool framed = t->kind == SQL_CALLS;

	w->sources[w->n_sources++] = (struct wide_source){
		.table = t, .second = second, .uses = mem_strdup(framed ? WIDE_FRAME : "")
	};
}

/* Events come in the order of their tables; w->first[i] is the first one of table i. What was found
 * before a failure is freed by wide_free_sources(). All words are noted before any event is asked
 * for, since an event of a function is made with the arguments that are used. */
int wide_find_sources(struct wide *w)
{
	int e = 0;

	for (size_t i = 0; i < w->t.s->n_tables; i++) {
		const struct sql_table *t = &w->t.s->tables[i];

		if (w->n_sources + (t->kind != SQL_EVENT) >= WIDE_SOURCES_MAX)
			return translate_fault(&w->t, t->event, "at most %u events can be joined; "
					       "calls and spans have two", WIDE_SOURCES_MAX);
		w->first[i] = w->n_sources;
		add_source(w, t, false);
		if (t->kind != SQL_EVENT)
			add_source(w, t, true);
	}
	note_words(w);
	for (size_t i = 0; i < w->n_sources && !e; i++)
		e = wide_find_event(w, event_word(&w->sources[i]),
				    w->sources[i].table->kind == SQL_CALLS, w->sources[i].second,
				    w->sources[i].uses, &w->sources[i].event);
	return e;
}

/* Formats of events are the catalogue's and stay; texts were made for this statement. */
void wide_free_sources(struct wide *w)
{
	for (size_t i = 0; i < w->n_sources; i++)
		free(w->sources[i].uses);
	for (size_t i = 0; i < w->columns.n; i++)
		free(w->columns.at[i].field.name);
	vec_free(&w->columns);
}

/* --- columns ---------------------------------------------------------------------------------- */

/* Takes the name over. A column that is there already is the same one. */
static size_t add_column(struct wide *w, struct wide_column c)
{
	for (size_t i = 0; i < w->columns.n; i++) {
		const struct wide_column *known = &w->columns.at[i];

		if (known->source != c.source || known->duration != c.duration ||
		    strcmp(known->field.name, c.field.name) != 0)
			continue;
		free(c.field.name);
		return i;
	}
	*vec_add(&w->columns) = c;
	return w->columns.n - 1;
}

/* Sets what the name is of; false: the event has no such field. */
static bool set_field(const struct wide *w, struct wide_column *c)
{
	struct named_field *f = &c->field;

	f->time = !strncmp(f->name, "common_timestamp", strlen("common_timestamp"));
	f->stack = !strcmp(f->name, "common_stacktrace");
	if (!f->time && !f->stack)
		f->field = event_find_field(w->sources[c->source].event, f->name,
					    strcspn(f->name, "."), &f->kind);
	return f->time || f->stack || f->field;
}

size_t wide_column(struct wide *w, size_t source, const char *name)
{
	struct wide_column c = { .source = source, .field.name = mem_strdup(name) };

	set_field(w, &c);
	return add_column(w, c);
}

/* The source of the table that has the field; the begin, if none has. */
static size_t source_of(const struct wide *w, size_t table, struct sql_word *field)
{
	const struct sql_table *t = &w->t.s->tables[table];
	size_t first = w->first[table];
	enum event_field_kind kind;

	if (t->kind == SQL_EVENT || (t->kind == SQL_SPAN && cut_side(w, field, "start.")))
		return first;
	if (t->kind == SQL_CALLS)
		return first + is_word(w, *field, "retval");
	if (cut_side(w, field, "end."))
		return first + 1;
	if (translate_special_name(w->t.s->text + field->at, field->n) ||
	    event_find_field(w->sources[first].event, w->t.s->text + field->at, field->n, &kind))
		return first;
	return first + !!event_find_field(w->sources[first + 1].event, w->t.s->text + field->at,
					  field->n, &kind);
}

/* A system call's string is an address in its record, beside which a copy stands: that is meant,
 * as in brace hist. */
static char *name_of(const struct wide *w, size_t source, struct sql_word field)
{
	const struct event_format *event = w->sources[source].event;
	char *name = mem_strndup(w->t.s->text + field.at, field.n),
	     *copy = mem_printf("__%s_val", name);
	enum event_field_kind kind;
	bool copied = !strcmp(event->system, "syscalls") &&
		      event_find_field(event, copy, strlen(copy), &kind) && kind == EVENT_DYNAMIC;

	free(copied ? name : copy);
	return copied ? copy : name;
}

/* For free(). Copies of a system call's texts are fields __NAME_val, which the user knows as
 * NAME. */
char *wide_shown_name(const struct wide *w, size_t column)
{
	const char *name = w->columns.at[column].field.name;
	size_t n = strcspn(name, "."), end = strlen("_val");

	if (n > 2 + end && !strncmp(name, "__", 2) && !strncmp(name + n - end, "_val", end))
		return mem_strndup(name + 2, n - 2 - end);
	return mem_strndup(name, n);
}

/* Adds the column if it is new. 0, or -errno and the error at the word. A call or a span always has
 * a `duration`, which hides a field of that name. */
int wide_find_column(struct wide *w, struct sql_word word, size_t *out)
{
	struct wide_column c = { 0 };
	struct sql_word field;
	const char *special;
	size_t table;

	if (!split_word(w, word, &table, &field))
		return translate_fault(&w->t, word, "of which table? Write TABLE.FIELD, or the "
				       "table's name behind AS");
	if (w->t.s->tables[table].kind != SQL_EVENT && is_word(w, field, "duration")) {
		c.source = w->first[table] + 1;
		c.duration = c.field.time = true;
		c.field.name = mem_strdup("duration");
		*out = add_column(w, c);
		return 0;
	}
	c.source = source_of(w, table, &field);
	special = translate_special_name(w->t.s->text + field.at, field.n);
	c.field.name = special ? mem_strdup(special) : name_of(w, c.source, field);
	if (set_field(w, &c)) {
		*out = add_column(w, c);
		return 0;
	}
	free(c.field.name);
	return translate_no_field(&w->t, word, field, w->sources[c.source].event);
}
