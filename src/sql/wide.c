/* SPDX-License-Identifier: MIT */
/* From a wide statement to writes. Each stage's first event keeps in variables what is wanted of
 * the sources so far, by the fields of ON; the second one's histogram has the same keys, reads
 * them, and makes a synthetic event, which is the first event of the next stage. Called by
 * sql_translate(), on its thread. The first fault ends it, with a place in the statement. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hist/command.h"
#include "sql/wide.h"

/* Valid until the statement is freed: expressions are complete. */
static const struct sql_expr *expr_at(const struct wide *w, size_t x)
{
	return &w->t.s->exprs.at[x];
}

/* --- what is read where ----------------------------------------------------------------------- */

/* Says that the stage reads the column, so that it is carried that far. Columns are only marked
 * here: add_fields() makes fields of them when all needs are known. */
void wide_need(struct wide *w, size_t column, size_t stage)
{
	struct wide_column *c = &w->columns.at[column];

	c->needed = stage > c->needed ? stage : c->needed;
}

/* Columns of what the last stage gives. */
static int need_expr(struct wide *w, size_t x)
{
	const struct sql_expr *e = expr_at(w, x);
	size_t column;
	int r = 0;

	if (e->kind == SQL_EXPR_BINARY) {
		r = need_expr(w, e->a);
		return r ? r : need_expr(w, e->b);
	}
	if (e->kind != SQL_EXPR_FIELD && e->kind != SQL_EXPR_CAST)
		return 0;
	r = wide_find_column(w, e->kind == SQL_EXPR_FIELD ? e->word : e->cast.a, &column);
	if (!r)
		wide_need(w, column, w->n_sources - 1);
	return r;
}

/* Columns that the last stage gives: keys and values of groups, or what is selected. */
static int need_outputs(struct wide *w)
{
	int e = 0;

	if (!w->grouped)
		for (size_t i = 0; i < w->t.s->items.n && !e; i++)
			e = need_expr(w, w->t.s->items.at[i].expr);
	for (size_t i = 0; i < w->keys.n && !e; i++)
		e = need_expr(w, w->keys.at[i]);
	for (size_t i = 0; i < w->values.n && !e; i++)
		e = need_expr(w, w->values.at[i].argument);
	return e;
}

/* The pairs of ON of the table whose source comes at the stage. */
static void matches_of(const struct wide *w, size_t stage, size_t *from, size_t *to)
{
	const struct sql_statement *s = w->t.s;
	const struct wide_source *source = &w->sources[stage];
	size_t table = (size_t)(source->table - s->tables);

	*from = source->second ? 0 : source->table->matches;
	*to = source->second	       ? 0
	      : table + 1 < s->n_tables ? s->tables[table + 1].matches
					: s->matches.n;
}

/* Finds the columns of one pair of ON: which is of the earlier sources, and which of the source
 * that comes. It is called twice, first to mark what is needed, then to write the keys: it finds
 * the same columns, and marks nothing new. */
static int find_pair(struct wide *w, size_t stage, const struct sql_match *m, size_t *left,
		     size_t *right)
{
	int e = wide_find_column(w, m->a, left);
	struct sql_word word = m->b;

	if (!e)
		e = wide_find_column(w, m->b, right);
	if (e)
		return e;
	if (w->columns.at[*left].source == stage) {
		size_t swapped = *left;

		*left = *right;
		*right = swapped;
		word = m->a;
	}
	if (w->columns.at[*right].source != stage || w->columns.at[*left].source >= stage)
		return translate_fault(&w->t, m->b, "a field of this table is matched with one of the "
				       "tables before; what a call returns is known too late");
	if (w->columns.at[*left].duration || w->columns.at[*left].field.time ||
	    w->columns.at[*right].field.time)
		return translate_fault(&w->t, word, "times are never equal: match by a field");
	if (translate_is_text(&w->columns.at[*left].field) !=
	    translate_is_text(&w->columns.at[*right].field))
		return translate_fault(&w->t, m->b, "a string and a number never match");
	wide_need(w, *left, stage);
	return 0;
}

/* Columns by which later sources are found. The frame of a call is matched with that of its
 * return. */
static int need_matches(struct wide *w)
{
	int e = 0;

	for (size_t k = 1; k < w->n_sources && !e; k++) {
		const struct wide_source *s = &w->sources[k];
		size_t from, to, left, right;

		matches_of(w, k, &from, &to);
		for (; from < to && !e; from++)
			e = find_pair(w, k, &w->t.s->matches.at[from], &left, &right);
		if (s->second && s->table->kind == SQL_CALLS)
			wide_need(w, wide_column(w, k - 1, WIDE_FRAME), k);
	}
	return e;
}

/* Names of a tree's variables are one space: the statement's number keeps two apart. For free(). */
static char *new_variable(struct wide *w, const char *word)
{
	return mem_printf("__%s_%u_%u", word, w->t.number, ++w->variables);
}

/* --- stages ----------------------------------------------------------------------------------- */

/* One stage that is being written. */
struct stage {
	struct wide *w;
	size_t k;
	bool last;
	char *left, *right;       /* variables */
	unsigned n_left, n_right;
	char *fields, *params;
};

/* The name of a column of the sources before, in the event that this stage begins with. */
static char *left_name(const struct stage *s, size_t column)
{
	if (s->k == 1)
		return mem_strdup(s->w->columns.at[column].field.name);
	return mem_printf("c%zu", column);
}

/* A variable of the first event; each is read once. Returns "$NAME". */
static char *keep_value(struct stage *s, const char *value)
{
	char *name = new_variable(s->w, "arg"), *set = mem_printf("%s=%s", name, value),
	     *read = mem_printf("$%s", name);

	translate_append(&s->left, ",", set);
	s->n_left++;
	free(set);
	free(name);
	return read;
}

/* wide_names.name: a column as the second event's histogram reads it. */
static char *right_name(void *arg, size_t column)
{
	struct stage *s = arg;
	const struct wide_column *c = &s->w->columns.at[column];
	char *left, *read, *text;

	if (c->source == s->k && !c->duration)
		return mem_strdup(c->field.name);
	if (c->source == s->k) {
		read = keep_value(s, "common_timestamp");
		text = mem_printf("(common_timestamp-%s)", read);
		free(read);
		return text;
	}
	left = left_name(s, column);
	read = keep_value(s, left);
	free(left);
	return read;
}

/* A field of the synthetic event: a variable of the second event. An action's trace() takes no
 * expressions, so that each value is a variable first. */
static void add_field(struct stage *s, const char *field, const char *value, const char *word)
{
	char *name = new_variable(s->w, word), *set = mem_printf("%s=%s", name, value),
	     *param = mem_printf("$%s", name);

	translate_append(&s->right, ",", set);
	translate_append(&s->params, ",", param);
	translate_append(&s->fields, " ", field);
	s->n_right++;
	free(set);
	free(param);
	free(name);
}

/* A column under its own name: for later stages and conditions. */
static void add_column(struct stage *s, size_t column)
{
	char *name = mem_printf("c%zu", column), *value = right_name(s, column),
	     *field = s->w->columns.at[column].duration
			      ? mem_printf("u64 %s;", name)
			      : translate_field(&s->w->columns.at[column].field, name);

	add_field(s, field, value, name);
	free(field);
	free(value);
	free(name);
}

/* A value of the last stage, under `name`. A lone column is written without parentheses: they
 * would make a number of a text. */
static int add_expr(struct stage *s, size_t x, const char *name)
{
	const struct wide_names names = { right_name, s };
	bool plain = wide_column_of(s->w, x) != SQL_NONE;
	char *value, *field;
	size_t n;
	FILE *to;
	int e = 0;

	if (expr_at(s->w, x)->kind == SQL_EXPR_NUMBER)
		return translate_fault(&s->w->t, expr_at(s->w, x)->word,
				       "a number is the same for all: select a field");
	to = mem_stream(&value, &n);
	if (plain) {
		char *own = right_name(s, wide_column_of(s->w, x));

		fputs(own, to);
		free(own);
	} else {
		fputc('(', to);
		e = wide_write_expr(s->w, x, &names, to);
		fputc(')', to);
	}
	mem_stream_close(to, &value);
	field = wide_field(s->w, x, name);
	if (!e)
		add_field(s, field, value, name);
	free(field);
	free(value);
	return e;
}

/* The name of a selected value: its label, or its field's own name. */
static char *item_name(struct wide *w, const struct sql_item *i)
{
	size_t column = wide_column_of(w, i->expr);

	if (i->label.n)
		return mem_strndup(w->t.s->text + i->label.at, i->label.n);
	return column == SQL_NONE ? NULL : wide_shown_name(w, column);
}

/* A selected value as a field of the last event: its name has to be one, and no other's. */
static int add_item(struct stage *s, const struct sql_item *i)
{
	char *name = item_name(s->w, i), *field;
	int e = 0;

	if (!name)
		return translate_fault(&s->w->t, i->a, "needs a name: AS NAME");
	field = mem_printf(" %s;", name);
	if (!translate_is_name(name))
		e = translate_fault(&s->w->t, i->a, "%s is no name of a field: AS NAME", name);
	else if (strstr(s->fields, field))
		e = translate_fault(&s->w->t, i->a, "a value is called %s already: AS NAME", name);
	if (!e)
		e = add_expr(s, i->expr, name);
	free(field);
	free(name);
	return e;
}

/* Adds the columns of the last event: the items, or the keys and the arguments of values. */
static int add_outputs(struct stage *s)
{
	struct wide *w = s->w;
	char name[32];
	int e = 0;

	for (size_t i = 0; i < w->t.s->items.n && !w->grouped && !e; i++)
		e = add_item(s, &w->t.s->items.at[i]);
	for (size_t i = 0; i < w->keys.n && !e; i++) {
		snprintf(name, sizeof(name), "k%zu", i);
		e = add_expr(s, w->keys.at[i], name);
	}
	for (size_t i = 0; i < w->values.n && !e; i++) {
		snprintf(name, sizeof(name), "v%zu", i);
		if (wide_first_value(w, i) == i)
			e = add_expr(s, w->values.at[i].argument, name);
	}
	return e;
}

/* Whether a condition on the last event asks for the field. The name has to end there: c1 is not
 * c10. */
static bool is_asked(const char *last, const char *field)
{
	size_t n = strlen(field);

	for (const char *at = last; (at = strstr(at, field)); at += n)
		if ((at == last || strchr(" (", at[-1])) && strchr(" ~", at[n]))
			return true;
	return false;
}

/* Taking the time away ends the first record's pair: it meets nobody else. */
static void add_age(struct stage *s)
{
	char *time = keep_value(s, "common_timestamp"),
	     *age = mem_printf("common_timestamp-%s", time),
	     *name;

	if (s->w->t.s->expire_ns) {
		add_field(s, "u64 age;", age, "age");
	} else {
		name = new_variable(s->w, "age");
		free(s->right);
		s->right = mem_printf("%s=%s", name, age);
		s->n_right++;
		free(name);
	}
	free(age);
	free(time);
}

/* Whether the name is "cN" of this column. */
static bool is_numbered(const char *name, size_t column)
{
	char *numbered = mem_printf("c%zu", column);
	bool is = !strcmp(name, numbered);

	free(numbered);
	return is;
}

/* The event's fields: what is selected in the last stage; in others, columns that a later one
 * reads. */
static int add_fields(struct stage *s, const char *last)
{
	int e = 0;

	add_age(s);
	if (s->last)
		e = add_outputs(s);
	for (size_t i = 0; i < s->w->columns.n && !e; i++) {
		const struct wide_column *c = &s->w->columns.at[i];
		char *name = s->last ? wide_field_name(s->w, i) : NULL;

		/* A selected column is there already. */
		if (s->last ? *name == 'c' && is_numbered(name, i) && is_asked(last, name)
			    : c->source <= s->k && c->needed > s->k)
			add_column(s, i);
		free(name);
	}
	return e;
}

/* Keys of both events: ON's, or those that make a pair of a begin and an end. */
static int write_keys(struct stage *s, char **left, char **right)
{
	const struct wide_source *source = &s->w->sources[s->k];
	size_t from, to, a, b;
	char *name;

	if (source->second) {
		bool calls = source->table->kind == SQL_CALLS;

		name = calls ? left_name(s, wide_column(s->w, s->k - 1, WIDE_FRAME)) : NULL;
		*left = mem_printf("common_pid%s%s", calls ? "," : "", calls ? name : "");
		*right = mem_strdup(calls ? "common_pid," WIDE_FRAME : "common_pid");
		free(name);
		return 0;
	}
	*left = mem_strdup("");
	*right = mem_strdup("");
	matches_of(s->w, s->k, &from, &to);
	for (; from < to; from++) {
		int e = find_pair(s->w, s->k, &s->w->t.s->matches.at[from], &a, &b);

		if (e)
			return e;
		name = left_name(s, a);
		translate_append(left, ",", name);
		translate_append(right, ",", s->w->columns.at[b].field.name);
		free(name);
	}
	return 0;
}

/* The name of the event that a stage makes. */
static char *event_of(const struct wide *w, size_t k)
{
	return k + 1 == w->n_sources ? mem_strdup(w->t.o->name)
				     : mem_printf("%s_%zu", w->t.o->name, k);
}

/* Adds a condition to others, if it is one. */
static void both(char **filter, const char *more)
{
	if (*more)
		translate_append(filter, " && ", more);
}

/* "age <= N", if pairs expire. */
static char *age_filter(const struct wide *w)
{
	return w->t.s->expire_ns ? mem_printf("age <= %" PRIu64, w->t.s->expire_ns) : mem_strdup("");
}

/* The histogram of the stage's first event: the statement's own one, or the one that the last
 * stage made. */
static void write_left(const struct stage *s, const char *keys, char *const *filters,
		       struct sql_writes *out)
{
	const struct wide *w = s->w;
	const struct wide_source *source = &w->sources[s->k];
	bool span = source->second && source->table->kind == SQL_SPAN;
	char *name = s->k > 1 ? event_of(w, s->k - 1) : NULL,
	     *filter = s->k > 1 ? age_filter(w) : mem_strdup(filters[0]);

	translate_add(out, s->k > 1 ? mem_printf("events/synthetic/%s/trigger", name)
				    : translate_trigger_file(w->sources[0].event),
		      mem_printf("hist:keys=%s:%s%s:size=" WIDE_SIZE "%s%s", keys, s->left,
				 span ? ":nested" : "", *filter ? " if " : "", filter), true);
	free(filter);
	free(name);
}

/* The histogram of the stage's second event, which makes the stage's synthetic one where the
 * keys match. */
static void write_right(const struct stage *s, const char *keys, char *const *filters,
			struct sql_writes *out)
{
	const struct wide *w = s->w;
	const struct wide_source *before = &w->sources[s->k - 1], *source = &w->sources[s->k];
	char *name = event_of(w, s->k), *left = s->k > 1 ? event_of(w, s->k - 1) : NULL;
	const char *filter = filters[s->k];

	translate_add(out, translate_trigger_file(source->event),
		      mem_printf("hist:keys=%s:%s:size=" WIDE_SIZE ":onmatch(%s.%s).trace(%s,%s)%s%s",
				 keys, s->right, left ? "synthetic" : before->event->system,
				 left ? left : before->event->name, name, s->params,
				 *filter ? " if " : "", filter), true);
	free(left);
	free(name);
}

/* A record without an open call around it sets nothing. The variable is the thread's, so that the
 * pair has to be one's, too. */
static int read_open(struct stage *s, const char *left, const char *right)
{
	const char *pid = "common_pid";
	char *name, *set;

	if (strncmp(left, pid, strlen(pid)) || strncmp(right, pid, strlen(pid)))
		return translate_fault(&s->w->t, s->w->t.s->within, "is open on a thread: match "
				       "common_pid first, ON a.common_pid = b.common_pid");
	name = new_variable(s->w, "in");
	set = mem_printf("%s=$%s", name, s->w->open);
	translate_append(&s->left, ",", set);
	s->n_left++;
	free(set);
	free(name);
	return 0;
}

/* Everything of the stage is known before it is written: the synthetic event stands first in the
 * writes. */
static int write_stage(struct stage *s, char *const *filters, const char *last,
		       struct sql_writes *out)
{
	struct wide *w = s->w;
	char *left = NULL, *right = NULL, *name = event_of(w, s->k);
	int e = add_fields(s, last);

	if (!e)
		e = write_keys(s, &left, &right);
	if (!e && w->open && s->k == 1)
		e = read_open(s, left, right);
	if (!e && (s->n_left > HIST_VARIABLES_MAX || s->n_right > HIST_VARIABLES_MAX))
		e = sql_fault(w->t.s->text, w->sources[s->k].table->event.at, w->t.err,
			      "too many values go through this join: there is room for %u, and one is "
			      "the time", HIST_VARIABLES_MAX);
	if (!e) {
		translate_add(out, mem_strdup("dynamic_events"),
			      mem_printf("s:%s %s", name, s->fields), true);
		write_left(s, left, filters, out);
		write_right(s, right, filters, out);
	}
	free(left);
	free(right);
	free(name);
	return e;
}

/* Makes a stage's texts, and frees them. */
static int run_stage(struct wide *w, size_t k, char *const *filters, const char *last,
		     struct sql_writes *out)
{
	struct stage s = { .w = w, .k = k, .last = k + 1 == w->n_sources,
			   .left = mem_strdup(""), .right = mem_strdup(""),
			   .fields = mem_strdup(""), .params = mem_strdup("") };
	int e = write_stage(&s, filters, last, out);

	free(s.left);
	free(s.right);
	free(s.fields);
	free(s.params);
	return e;
}

/* An event's record is its own partner, if it is joined with itself at once. Later stages begin
 * with the synthetic event of the one before, which is none of the statement's. */
static int check_partners(const struct wide *w)
{
	for (size_t k = 1; k < w->n_sources && k < 2; k++)
		if (w->sources[0].event == w->sources[k].event)
			return translate_fault(&w->t, w->sources[k].table->event,
					       "an event that is joined with itself meets itself");
	return 0;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* The number in `k` names is that of the list. */
static int write_listed(struct wide *w, size_t x, char letter, size_t i, FILE *to)
{
	const struct wide_names names = { wide_field_name, w };
	const struct sql_item *cast = &expr_at(w, x)->cast;
	size_t column = wide_column_of(w, x);
	char *modifier = NULL;
	int e = 0;

	if (w->n_sources == 1)
		return wide_write_expr(w, x, &names, to);
	fprintf(to, "%c%zu", letter, i);
	if (expr_at(w, x)->kind == SQL_EXPR_CAST && !translate_is_counter(&w->t, cast))
		e = translate_cast(&w->t, cast, &w->columns.at[column].field, &modifier);
	fputs(modifier ? modifier : "", to);
	free(modifier);
	return e;
}

/* A value with a modifier stands in parentheses if it is more than a name. */
static int write_value(struct wide *w, size_t i, FILE *to)
{
	const struct wide_value *v = &w->values.at[i];
	size_t column = wide_column_of(w, v->argument);
	bool grouped = w->n_sources == 1 &&
		       (column == SQL_NONE || strchr(w->columns.at[column].field.name, '.'));
	int e;

	fputs(grouped ? "(" : "", to);
	e = write_listed(w, v->argument, 'v', wide_first_value(w, i), to);
	fputs(grouped ? ")" : "", to);
	if (*v->modifier)
		fprintf(to, ".%s", v->modifier);
	return e;
}

/* Keys and values of the groups' histogram. A histogram has to have a key: 0 where there is no
 * group. */
static int write_lists(struct wide *w, FILE *to)
{
	int e = 0;

	fputs("hist:keys=", to);
	for (size_t i = 0; i < w->keys.n && !e; i++) {
		fputs(i ? "," : "", to);
		e = write_listed(w, w->keys.at[i], 'k', i, to);
	}
	/* Without keys all records are one group. */
	fputs(w->keys.n ? "" : "0", to);
	for (size_t i = 0; i < w->values.n && !e; i++) {
		fputs(i ? "," : ":vals=", to);
		e = write_value(w, i, to);
	}
	fputs(":size=" WIDE_SIZE, to);
	return e;
}

/* The histogram whose rows are the groups, on the last event. The SELECT over them goes with it
 * to *out. */
static int write_groups(struct wide *w, const char *filter, struct sql_writes *out)
{
	char *text;
	size_t n;
	FILE *to = mem_stream(&text, &n);
	int e = write_lists(w, to);

	if (*filter)
		fprintf(to, " if %s", filter);
	mem_stream_close(to, &text);
	if (e) {
		free(text);
		return e;
	}
	translate_add(out,
		      w->n_sources > 1 ? mem_printf("events/synthetic/%s/trigger", w->t.o->name)
				       : translate_trigger_file(w->sources[0].event),
		      text, true);
	out->select = w->select;
	out->n_keys = (unsigned)w->keys.n;
	out->n_values = (unsigned)w->values.n;
	w->select = NULL;
	return 0;
}

/* --- the statement ---------------------------------------------------------------------------- */

/* Records come as they are made. */
static int check_records(const struct wide *w)
{
	const struct sql_statement *s = w->t.s;
	size_t at = s->orders.n ? s->orders.at[0].expr : s->having;

	if (at != SQL_NONE)
		return translate_fault(&w->t, s->exprs.at[at].word, "records of a JOIN are shown as "
				       "they are made: GROUP BY what is to be sorted or chosen");
	if (s->every_ns)
		return sql_fault(s->text, 0, w->t.err, "records of a JOIN are shown as they are made: "
				 "EVERY is for groups");
	return 0;
}

/* A statement of one event is always a histogram, as in sqlhist. */
static bool is_grouped(const struct wide *w)
{
	bool calls = w->t.s->groups.n || w->n_sources == 1;

	for (size_t i = 0; i < w->t.s->items.n; i++)
		calls |= wide_has_call(w, w->t.s->items.at[i].expr);
	return calls;
}

/* The events of WITHIN, and the name of the variable that says whether a call is open. */
static int find_within(struct wide *w)
{
	struct sql_word word = w->t.s->within;
	const char *colon = word.n ? memrchr(w->t.s->text + word.at, ':', word.n) : NULL;
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
	int e;

	if (!word.n)
		return 0;
	if (digits && colon + 1 + digits == w->t.s->text + word.at + word.n)
		return translate_fault(&w->t, word, "events do not know how deep they lie: WITHIN "
				       "FUNCTION, without a depth");
	if (w->n_sources < 2)
		return translate_fault(&w->t, word, "WITHIN is for pairs of events: calls.FUNCTION, "
				       "A ~~ B, or a JOIN");
	w->open = new_variable(w, "open");
	e = wide_find_event(w, word, true, false, WIDE_FRAME, &w->opens);
	return e ? e : wide_find_event(w, word, true, true, WIDE_FRAME, &w->closes);
}

/* The function's calls of a thread are a stack; each return takes one away. */
static void write_within(struct wide *w, struct sql_writes *out)
{
	if (!w->open)
		return;
	translate_add(out, translate_trigger_file(w->opens),
		      mem_printf("hist:keys=common_pid:%s=" WIDE_FRAME ":nested:size=" WIDE_SIZE,
				 w->open), true);
	translate_add(out, translate_trigger_file(w->closes),
		      mem_printf("hist:keys=common_pid:%s_end=" WIDE_FRAME "-$%s:size=" WIDE_SIZE,
				 w->open, w->open), true);
}

/* sqlhist's options act on a synthetic event of its own two histograms, which a wide statement
 * does not have. */
static int check_options(const struct wide *w)
{
	const struct sql_options *o = w->t.o;

	if (o->max || o->change || o->save || o->trace || o->snapshot)
		return err_set(w->t.err, EINVAL, "-m, -c, -s, -T and -S are for sqlhist's statements: a "
			       "JOIN of two events without groups and functions");
	if (!translate_is_name(o->name))
		return err_at(w->t.err, EINVAL, o->name, 0,
			      "the name of an event has letters, digits and _");
	return 0;
}

/* Everything is known to be right before anything is written down. filters: by source; last: of
 * the last event. */
static int prepare(struct wide *w, char **filters, char **last)
{
	char *age;
	int e = check_options(w);

	if (!e)
		e = wide_find_sources(w);
	if (!e)
		e = check_partners(w);
	if (!e)
		e = find_within(w);
	w->grouped = !e && is_grouped(w);
	if (!e)
		e = w->grouped ? wide_group(w) : check_records(w);
	if (!e)
		e = need_matches(w);
	if (!e)
		e = need_outputs(w);
	if (!e)
		e = wide_sort_conditions(w, filters, last);
	if (e)
		return e;
	age = w->n_sources > 1 ? age_filter(w) : mem_strdup("");
	both(last, age);
	free(age);
	return 0;
}

/* The writes in the order in which they are to be made: what a line reads is there before it. */
static int write_all(struct wide *w, char *const *filters, const char *last,
		     struct sql_writes *out)
{
	int e = 0;

	write_within(w, out);
	for (size_t k = 1; k < w->n_sources && !e; k++)
		e = run_stage(w, k, filters, last, out);
	if (!e && w->grouped)
		e = write_groups(w, w->n_sources > 1 ? last : filters[0], out);
	else if (!e && *last)
		translate_add(out, mem_printf("events/synthetic/%s/filter", w->t.o->name),
			      mem_strdup(last), false);
	if (e)
		return e;
	out->joins = !w->grouped;
	out->result = w->n_sources > 1 ? mem_printf("synthetic:%s", w->t.o->name)
				       : mem_printf("%s:%s", w->sources[0].event->system,
						    w->sources[0].event->name);
	out->every_ns = w->t.s->every_ns;
	out->limited = w->t.s->limited;
	out->limit = w->t.s->limit;
	return 0;
}

/* *t is copied; what it points to stays the caller's. */
int wide_translate(const struct translation *t, struct sql_writes *out)
{
	char *filters[WIDE_SOURCES_MAX], *last = mem_strdup("");
	struct wide w = { .t = *t };
	int e;

	w.t.number = translate_number(t->s->text, t->o->name);
	for (size_t i = 0; i < WIDE_SOURCES_MAX; i++)
		filters[i] = mem_strdup("");
	e = prepare(&w, filters, &last);
	if (!e)
		e = write_all(&w, filters, last, out);
	for (size_t i = 0; i < WIDE_SOURCES_MAX; i++)
		free(filters[i]);
	free(last);
	free(w.select);
	free(w.open);
	vec_free(&w.keys);
	vec_free(&w.values);
	wide_free_sources(&w);
	if (e)
		sql_writes_free(out);
	return e;
}
