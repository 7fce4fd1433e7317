/* SPDX-License-Identifier: MIT */
/* The grammar of histograms: a line to a struct hist_command. On the thread that writes to a
 * trigger file. The order of checks and the places of carets are those of Linux 6.12, which finds
 * the column of a fault by looking for the first occurrence of the words at fault in the line, and
 * points at the line's begin if they are empty. Where the kernel has no sentence brace has one of
 * its own; error_log gets it, too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/stamp.h"
#include "hist/parse.h"

#define KIND_BYTES 4u /* "hist" */
/* Entries: the kernel's TRACING_MAP_BITS_DEFAULT, _MIN and _MAX as numbers of entries. */
#define SIZE_DEFAULT 2048u
#define SIZE_MIN 128u
#define SIZE_MAX_ENTRIES 131072u

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

/* As the kernel's errpos(), which looks for the text in the line: the caret may stand under an
 * earlier occurrence. */
int hist_refuse(const struct hist_line *line, struct filter_fault *fault, int code,
		const char *sentence, const char *at, size_t n)
{
	const char *found = n ? memmem(line->at, line->n, at, n) : NULL;

	return fill_fault(line, fault, code, sentence, found ? (size_t)(found - line->at) : 0);
}

int parse_refuse(struct hist_parse *p, const char *sentence, struct words at)
{
	return hist_refuse(p->line, p->fault, EINVAL, sentence, at.at, at.n);
}

int parse_refuse_here(struct hist_parse *p, const char *sentence, struct words at)
{
	return fill_fault(p->line, p->fault, EINVAL, sentence, (size_t)(at.at - p->line->at));
}

/* --- keys and values ------------------------------------------------------------------ */

/* Whether values or variables may not have the modifier. */
static bool is_bad_modifier(const struct hist_field *f, enum parse_role role)
{
	if (f->source == HIST_EXPRESSION && f->modifier == HIST_PLAIN)
		return false;
	if (f->source == HIST_HITCOUNT && hist_field_is_sketched(f))
		return true;
	if (role == PARSE_VARIABLE)
		return hist_modifier_row(f->modifier)->range;
	return !hist_modifier_row(f->modifier)->of_values || f->source == HIST_STACK;
}

/* Values are summed: strings have no sum, and some modifiers are for keys alone. */
static int check_value(struct hist_parse *p, const struct hist_field *f, struct words text)
{
	if (is_bad_modifier(f, PARSE_VALUE))
		return parse_refuse(p, "Invalid field modifier",
				    f->modifier == HIST_SYM_OFFSET ? (struct words){ NULL, 0 }
								    : text);
	if (!hist_field_is_number(f))
		return parse_refuse_here(p, "A string has no sum: make it a key", text);
	return 0;
}

static int read_value(struct hist_parse *p, struct words text)
{
	struct hist_command *c = p->c;
	struct hist_field f;
	int r;

	/* The hit count is there anyway; a second one is a value, as in the kernel. */
	if (words_are(text, "hitcount") && !p->counted) {
		p->counted = true;
		return 0;
	}
	r = parse_value(p, &f, text, PARSE_VALUE);
	if (r == 0)
		r = check_value(p, &f, text);
	if (r == 0 && c->n_values == HIST_VALUES_MAX)
		r = parse_refuse_here(p, "Too many values (Max = 8)", text);
	if (r == 0)
		c->values[c->n_values++] = f;
	return r;
}

/* Reads a key. Modifiers that compare sums, and references, are refused as in the kernel. */
static int read_key(struct hist_parse *p, struct words text)
{
	struct hist_command *c = p->c;
	struct hist_field f;
	int r = parse_value(p, &f, text, PARSE_KEY);
	struct words modifier = text;

	words_split(&modifier, '.');
	if (r == 0 && (f.modifier == HIST_PERCENT || f.modifier == HIST_GRAPH))
		r = parse_refuse(p, "Invalid field modifier", modifier);
	if (r == 0 && f.source == HIST_REFERENCE)
		r = parse_refuse(p, "Using variable references in keys not supported", text);
	if (r == 0 && f.modifier == HIST_STACKTRACE && f.source != HIST_STACK)
		r = parse_refuse(p, "Invalid field modifier", text);
	if (r == 0 && c->n_keys == HIST_KEYS_MAX)
		r = parse_refuse_here(p, "Too many keys (Max = 8)", text);
	if (r == 0)
		c->keys[c->n_keys++] = f;
	return r;
}

/* Calls read for each of the words between commas. */
static int read_list(struct hist_parse *p, struct words list,
		     int (*read)(struct hist_parse *p, struct words text))
{
	int r = 0;

	while (r == 0 && list.at) {
		struct words text = words_split(&list, ',');

		r = read(p, text);
	}
	return r;
}

/* --- variables ------------------------------------------------------------------------ */

/* Splits NAME=VALUE[,NAME=VALUE...]. */
static int split_variables(struct hist_parse *p, struct words list)
{
	while (list.at) {
		struct words value = words_split(&list, ','), name = words_split(&value, '=');

		if (!value.at)
			return parse_refuse(p, "Malformed assignment", name);
		if (p->n_variables == HIST_VARIABLES_MAX)
			return parse_refuse(p, "Too many variables defined", name);
		p->variables[p->n_variables].name = name;
		p->variables[p->n_variables++].value = value;
	}
	return 0;
}

/* Splits all assignments before any value is parsed: a value may name a variable of the line
 * (is_own_field in expression.c). */
static int split_all_variables(struct hist_parse *p)
{
	int r = 0;

	for (size_t i = 0; i < p->n_assignments && r == 0; i++)
		r = split_variables(p, p->assignments[i]);
	return r;
}

/* Whether this line, or another histogram of the event, has a variable of that name. Whoever pauses
 * or clears writes the line of that other one. */
static bool is_defined(struct hist_parse *p, struct words name)
{
	for (size_t i = 0; i < p->c->n_variables; i++)
		if (words_are(name, p->c->variables[i].name))
			return true;
	return p->c->order == HIST_ADD && parse_is_taken(p, name);
}

/* Reads one variable. A line that removes a histogram names variables that are defined: by the
 * histogram that it removes. */
static int read_variable(struct hist_parse *p, struct words name, struct words value)
{
	struct hist_variable *v;
	struct hist_field f;
	int r;

	if (!p->line->remove && is_defined(p, name))
		return parse_refuse(p, "Variable already defined", name);
	r = parse_value(p, &f, value, PARSE_VARIABLE);
	if (r == 0 && is_bad_modifier(&f, PARSE_VARIABLE))
		r = parse_refuse(p, "Invalid field modifier", value);
	if (r < 0)
		return r;
	v = &p->c->variables[p->c->n_variables++];
	v->name = words_copy(name);
	v->field = f;
	return 0;
}

static int read_variables(struct hist_parse *p)
{
	int r = 0;

	for (size_t i = 0; i < p->n_variables && r == 0; i++)
		r = read_variable(p, p->variables[i].name, p->variables[i].value);
	/* Slots of variables come first in an entry; actions.c appends its own. */
	p->c->n_slots = p->c->n_variables;
	return r;
}

/* --- the order of rows ------------------------------------------------------------------ */

/* Returns field i, from 1, of struct hist_sort's numbering: values, then keys. */
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

/* Finds a value by its name and modifier, as size.p99, which is brace's own; *rest is what stands
 * behind it. -1: there is none. */
static int find_sketched(const struct hist_command *c, struct words text, struct words *rest)
{
	int found = -1;

	for (size_t i = 0; i < c->n_values && found < 0; i++) {
		char *shown;
		size_t n;
		FILE *to = mem_stream(&shown, &n);

		hist_field_show(&c->values[i], to);
		mem_stream_close(to, &shown);
		if (hist_field_is_sketched(&c->values[i]) && words_begin(text, shown) &&
		    (text.n == n || text.at[n] == '.')) {
			found = (int)i + 1;
			*rest = (struct words){ text.n == n ? NULL : text.at + n + 1,
						text.n == n ? 0 : text.n - n - 1 };
		}
		free(shown);
	}
	return found;
}

/* Takes one level of the order: NAME[.ascending|.descending]. */
static int read_sort(struct hist_parse *p, struct words text)
{
	struct words rest = text, name = words_split(&rest, '.');
	int field = find_sketched(p->c, text, &rest);

	if (field < 0)
		field = find_sorted(p->c, name);
	if (field < 0)
		return parse_refuse(p, "Sort field must be a key or a val", name);
	if (rest.at && !words_are(rest, "descending") && !words_are(rest, "ascending"))
		return parse_refuse(p, "Invalid sort modifier", rest);
	p->c->sort[p->c->n_sort++] =
		(struct hist_sort){ (size_t)field, rest.at && *rest.at == 'd' };
	return 0;
}

/* As the kernel has it, the hit count is the order when none is given. */
static int read_sorts(struct hist_parse *p)
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
			return parse_refuse(p, "Empty sort field", p->sort);
		/* The second level is the last: more text behind it is one too many. */
		if (p->c->n_sort == HIST_SORT_MAX - 1 && list.at)
			return parse_refuse(p, "Too many sort fields (Max = 2)", p->sort);
		r = read_sort(p, text);
	}
	return r;
}

/* --- the rest --------------------------------------------------------------------------- */

/* Rounds up to a power of two, as the kernel does. 64 and less would be a power below its
 * smallest. */
static int read_size(struct hist_parse *p)
{
	struct words number = p->size;
	uint64_t n;

	p->c->size = SIZE_DEFAULT;
	if (!number.at)
		return 0;
	words_split(&number, '=');
	if (!words_number(number, &n))
		return parse_refuse_here(p, "The size is not a number", number);
	if (n <= SIZE_MIN / 2 || n > SIZE_MAX_ENTRIES)
		return parse_refuse_here(p, "The size is not between 65 and 131072", number);
	for (p->c->size = SIZE_MIN; p->c->size < n;)
		p->c->size *= 2;
	return 0;
}

/* Any text is a name. Whether another histogram has it is looked up when the trigger is added
 * (join_named in trigger.c). */
static int read_name(struct hist_parse *p)
{
	struct words name = p->name;

	if (!name.at)
		return 0;
	words_split(&name, '=');
	p->c->name = mem_strndup(name.at, name.n);
	return 0;
}

/* Keeps the clock's name; a line without one has the kernel's default. */
static int read_clock(struct hist_parse *p)
{
	static const char *const clocks[] = { "local", "global", "counter", "uptime", "perf",
					      "mono", "mono_raw", "boot", "tai", STAMP_CLOCK };
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
	return p->c->timestamps ? parse_refuse(p, "Couldn't set trace_clock", name) : 0;
}

/* Takes a part "NAME=...". */
static int take_assignment(struct hist_parse *p, struct words part)
{
	const struct { const char *name; struct words *to; } known[] = {
		{ "key=", &p->keys },	  { "keys=", &p->keys },     { "val=", &p->values },
		{ "vals=", &p->values },  { "values=", &p->values }, { "sort=", &p->sort },
		{ "size=", &p->size },	  { "clock=", &p->clock },   { "name=", &p->name },
	};
	struct words value = part;

	words_split(&value, '=');
	if (!value.n)
		return parse_refuse(p, "Empty assignment", part);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (words_begin(part, known[i].name)) {
			*known[i].to = part;
			return 0;
		}
	}
	/* Every other NAME=... sets variables. */
	if (p->n_assignments == HIST_VARIABLES_MAX)
		return parse_refuse(p, "Too many variables defined", part);
	p->assignments[p->n_assignments++] = part;
	return 0;
}

/* Takes a part without `=`: an order to a histogram that is there, a switch, or an action. */
static int take_word(struct hist_parse *p, struct words part)
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
	if (words_are(part, "nested")) {
		p->c->nested = true;
		return 0;
	}
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		if (!words_begin(part, handlers[i]))
			continue;
		if (p->n_actions == HIST_ACTIONS_MAX)
			return parse_refuse_here(p, "Too many actions (Max = 8)", part);
		p->actions[p->n_actions++] = part;
		return 0;
	}
	return parse_refuse_here(p, "A part is NAME=..., pause, continue, clear, nohitcount or nested", part);
}

/* Only tells the parts apart: read_all() then reads each kind in an order of its own, so that the
 * line's does not matter. */
static int take_parts(struct hist_parse *p, struct words rest)
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

/* Values of one field share what an entry keeps of it. */
static void number_sketches(struct hist_command *c)
{
	for (size_t i = 0; i < c->n_values; i++) {
		struct hist_field *f = &c->values[i];
		size_t k = 0;

		if (!hist_field_is_sketched(f))
			continue;
		while (k < i && (!hist_field_is_sketched(&c->values[k]) ||
				 strcmp(c->values[k].name, f->name) != 0))
			k++;
		f->is_first = k == i;
		f->sketch = f->is_first ? c->n_sketches++ : c->values[k].sketch;
	}
}

/* Whether a record has to come with its stack. */
static bool wants_stack(const struct hist_field *f)
{
	return f->source == HIST_STACK && !hist_field_is_kept_stack(f);
}

/* Keys and values are there: what follows from them. */
static int finish(struct hist_parse *p)
{
	struct hist_command *c = p->c;

	number_sketches(c);
	for (size_t i = 0; i < c->n_keys; i++)
		c->stacks |= wants_stack(&c->keys[i]);
	for (size_t i = 0; i < c->n_variables; i++)
		c->stacks |= wants_stack(&c->variables[i].field);
	for (size_t i = 0; i < c->n_actions; i++)
		for (size_t k = 0; k < c->actions[i].fields.n; k++)
			c->stacks |= wants_stack(&c->actions[i].fields.at[k]);
	if (c->nohitcount && !c->n_values)
		return hist_refuse(p->line, p->fault, ENOENT,
				   "Non-hitcount value is required for 'nohitcount'", NULL, 0);
	return 0;
}

/* Parses the parts in the kernel's order, which decides which one of several faults a writer is
 * told. A line that removes does not look for the events of its actions: they may be gone. */
static int read_all(struct hist_parse *p, struct words text)
{
	int r = take_parts(p, text);

	if (r == 0 && !p->keys.at)
		r = parse_refuse_here(p, "A key is missing: keys=FIELD", (struct words){ p->line->at, 0 });
	if (r == 0)
		r = read_size(p);
	if (r == 0)
		r = parse_actions(p);
	if (r == 0)
		r = split_all_variables(p);
	if (r == 0 && p->values.at)
		r = read_list(p, behind_equals(p->values), read_value);
	if (r == 0)
		r = read_variables(p);
	if (r == 0)
		r = read_list(p, behind_equals(p->keys), read_key);
	if (r == 0)
		r = read_sorts(p);
	if (r == 0 && !p->line->remove)
		r = parse_finish_actions(p);
	if (r == 0)
		r = finish(p);
	if (r == 0)
		r = read_name(p);
	return r == 0 ? read_clock(p) : r;
}

int hist_command_parse(const struct event_format *e, const struct hist_line *line,
		       struct hist_command **out, struct filter_fault *fault)
{
	struct hist_parse p = { .event = e,
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

/* Operands and names of expressions are the command's own, whichever fields point to them. */
void hist_command_free(struct hist_command *c)
{
	for (size_t i = 0; i < c->n_variables; i++)
		free(c->variables[i].name);
	for (size_t i = 0; i < c->n_actions; i++)
		parse_free_action(&c->actions[i]);
	for (size_t i = 0; i < c->references.n; i++)
		hist_shared_put(c->references.at[i].shared);
	for (size_t i = 0; i < c->nodes.n; i++)
		free(c->nodes.at[i]);
	for (size_t i = 0; i < c->strings.n; i++)
		free(c->strings.at[i]);
	vec_free(&c->references);
	vec_free(&c->nodes);
	vec_free(&c->strings);
	free(c->name);
	free(c->clock);
	free(c);
}

/* --- showing and comparing -------------------------------------------------------------- */

/* `nested` follows the variables that it is said of. */
static void show_variables(const struct hist_command *c, FILE *to)
{
	for (size_t i = 0; i < c->n_variables; i++) {
		fprintf(to, "%c%s=", i ? ',' : ':', c->variables[i].name);
		hist_field_show(&c->variables[i].field, to);
	}
	if (c->nested)
		fputs(":nested", to);
}

/* The default is shown as well, as in the kernel. */
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

/* The parts come in the order of the kernel's event_hist_trigger_print(): tools read its lines. */
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
	show_variables(c, to);
	show_sort(c, to);
	fprintf(to, ":size=%u", c->size);
	if (c->timestamps)
		fprintf(to, ":clock=%s", c->clock);
	if (c->nohitcount)
		fputs(":nohitcount", to);
	for (size_t i = 0; i < c->n_actions; i++)
		hist_action_show(&c->actions[i], to);
}

/* Compares what has no order of its own by its text. */
static bool same_text(const struct hist_command *a, const struct hist_command *b,
		      void (*show)(const struct hist_command *c, FILE *to))
{
	char *x = NULL, *y = NULL;
	size_t n;
	FILE *to = mem_stream(&x, &n);
	bool same;

	show(a, to);
	mem_stream_close(to, &x);
	to = mem_stream(&y, &n);
	show(b, to);
	mem_stream_close(to, &y);
	same = !strcmp(x, y);
	free(x);
	free(y);
	return same;
}

static void show_actions(const struct hist_command *c, FILE *to)
{
	for (size_t i = 0; i < c->n_actions; i++)
		hist_action_show(&c->actions[i], to);
}

/* Compares by name: histograms that share a table may be of different events. */
static bool same_fields(const struct hist_field *a, const struct hist_field *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i].name, b[i].name) || a[i].modifier != b[i].modifier ||
		    a[i].buckets != b[i].buckets || a[i].source != b[i].source)
			return false;
	return true;
}

/* Two triggers of one name count into one table: only with the same keys and values. */
bool hist_command_shares(const struct hist_command *a, const struct hist_command *b)
{
	if (a->n_keys != b->n_keys || a->n_values != b->n_values || a->n_sort != b->n_sort)
		return false;
	for (size_t i = 0; i < a->n_sort; i++)
		if (a->sort[i].field != b->sort[i].field ||
		    a->sort[i].descending != b->sort[i].descending)
			return false;
	return same_fields(a->keys, b->keys, a->n_keys) &&
	       same_fields(a->values, b->values, a->n_values) &&
	       same_text(a, b, show_variables) && same_text(a, b, show_actions);
}

/* Two names are two histograms, however equal the rest is. */
bool hist_command_same(const struct hist_command *a, const struct hist_command *b)
{
	if (!a->name != !b->name || (a->name && strcmp(a->name, b->name)))
		return false;
	return hist_command_shares(a, b);
}
