/* SPDX-License-Identifier: MIT */
/* Keys, values and variables of a line: fields with modifiers, constants, references to variables,
 * and expressions of them. On the thread that writes to a trigger file. Precedence is the kernel's:
 * the root of an expression is the last operator of those that bind least; a minus stands before
 * one operand in parentheses or between two. command.c calls it. A fault is a place in the line and
 * the kernel's sentence. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "event/synthetic.h"
#include "hist/parse.h"

#define SUBEXPRESSIONS_MAX 3u
#define GROUPS_MAX 8u /* parentheses in one value */

static const struct words nowhere;

/* --- modifiers -------------------------------------------------------------------------- */

/* Reads "buckets=N" or "bucket=N". The fault is at what is no number. */
static int set_buckets(struct hist_parse *p, struct hist_field *f, struct words text)
{
	static const char *const skipped[] = { "bucket", "s", "=" };

	for (size_t i = 0; i < 3; i++) {
		size_t n = words_begin(text, skipped[i]) ? strlen(skipped[i]) : 0;

		text = (struct words){ text.at + n, text.n - n };
	}
	f->modifier = HIST_BUCKETS;
	if (words_number(text, &f->buckets) && f->buckets)
		return 0;
	return parse_refuse(p, "Invalid field modifier", text);
}

/* A modifier that may not stand here gets the sentence of one that does not exist, as in the
 * kernel. */
static int set_modifier(struct hist_parse *p, struct hist_field *f, struct words name,
			struct words text, enum parse_role role)
{
	if (words_begin(text, "bucket"))
		return set_buckets(p, f, text);
	for (enum hist_modifier m = HIST_PLAIN + 1; m < HIST_MODIFIERS_N; m++) {
		const struct hist_modifier_row *row = hist_modifier_row(m);

		if (row->prefix ? !words_begin(text, row->name) : !words_are(text, row->name))
			continue;
		f->modifier = m;
		/* The name is the thread's that made the record: of no other number. */
		if (m == HIST_EXECNAME && !words_are(name, "common_pid"))
			break;
		if (row->prefix && role != PARSE_VALUE && role != PARSE_OPERAND)
			break;
		if (row->sketched && role != PARSE_VALUE)
			break;
		return 0;
	}
	return parse_refuse(p, "Invalid field modifier", text);
}

/* --- fields ----------------------------------------------------------------------------- */

/* Things that every event has, beside the fields of its record. */
static const struct {
	const char *name;
	enum hist_source source;
	const char *type;
	uint32_t size;
} generic[] = {
	{ "common_timestamp", HIST_TIMESTAMP, "u64", 8 },
	{ "common_stacktrace", HIST_STACK, "unsigned long[]", 8 },
	{ "common_cpu", HIST_CPU, "unsigned int", 4 },
	{ "hitcount", HIST_HITCOUNT, "u64", 8 },
};
#define GENERIC (sizeof(generic) / sizeof(generic[0]))

/* Makes *f row i of the table. The texts are constants, so that the field may keep them. */
static void set_generic(struct hist_field *f, size_t i)
{
	f->source = generic[i].source;
	f->name = generic[i].name;
	f->type = generic[i].type;
	f->size = generic[i].size;
	f->shape = f->source == HIST_STACK ? HIST_IS_STACK : HIST_IS_NUMBER;
}

static const enum hist_source source_of[EVENT_STACK + 1] = {
	[EVENT_NUMBER] = HIST_NUMBER, [EVENT_STRING] = HIST_STRING,
	[EVENT_DYNAMIC] = HIST_STRING, [EVENT_RELATIVE] = HIST_STRING,
	[EVENT_POINTER] = HIST_NUMBER, [EVENT_CPUMASK] = HIST_NUMBER,
	[EVENT_COMM] = HIST_STRING, [EVENT_CPU] = HIST_CPU, [EVENT_STACK] = HIST_STACK,
};

static bool is_number_size(size_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

/* Whether the field of a synthetic event holds a stack. */
static bool is_kept_stack(const struct hist_parse *p, const struct hist_field *f)
{
	return synthetic_is_dynamic(f->field) && synthetic_is_stack(f->field) &&
	       strcmp(p->event->system, SYNTHETIC_SYSTEM) == 0;
}

/* f->field and f->kind are set. */
static int set_of_event(struct hist_parse *p, struct hist_field *f, struct words name)
{
	f->source = is_kept_stack(p, f) ? HIST_STACK : source_of[f->kind];
	for (size_t i = 0; i < GENERIC; i++) {
		if (generic[i].source == f->source && !hist_field_is_kept_stack(f)) {
			set_generic(f, i);
			return 0;
		}
	}
	f->name = f->field->name;
	f->type = f->field->type;
	f->size = f->field->size;
	f->is_signed = f->field->is_signed;
	f->shape = f->source == HIST_STRING  ? HIST_IS_STRING
		   : f->source == HIST_STACK ? HIST_IS_STACK
					     : HIST_IS_NUMBER;
	if (f->kind == EVENT_COMM) {
		f->type = "char[16]";
		f->size = 16;
	}
	if (f->source == HIST_NUMBER && !is_number_size(f->field->size))
		return parse_refuse_here(p, "An array is neither a key nor a value", name);
	if (f->source == HIST_STRING && f->modifier != HIST_PLAIN)
		return parse_refuse_here(p, "A string has no modifier", name);
	return 0;
}

/* Finds the field. A generic name hides a field of the event that is called alike. */
static int set_field(struct hist_parse *p, struct hist_field *f, struct words name)
{
	for (size_t i = 0; i < GENERIC; i++) {
		if (!words_are(name, generic[i].name))
			continue;
		set_generic(f, i);
		p->c->timestamps |= f->source == HIST_TIMESTAMP;
		return 0;
	}
	f->field = name.n ? event_find_field(p->event, name.at, name.n, &f->kind) : NULL;
	if (!f->field)
		return parse_refuse(p, "Couldn't find field", name);
	return set_of_event(p, f, name);
}

/* Reads NAME[.MODIFIER]. */
static int read_field(struct hist_parse *p, struct hist_field *f, struct words text,
		      enum parse_role role)
{
	struct words rest = text, name = words_split(&rest, '.');
	int r = rest.at ? set_modifier(p, f, name, rest, role) : 0;

	if (r == 0)
		r = set_field(p, f, name);
	/* A stack is one with or without `.stacktrace`, which is shown of fields alone. */
	if (r == 0 && f->source == HIST_STACK &&
	    (!hist_field_is_kept_stack(f) || f->modifier != HIST_STACKTRACE))
		f->modifier = HIST_PLAIN;
	f->usecs = r == 0 && f->source == HIST_TIMESTAMP && f->modifier == HIST_USECS;
	/* The name of the thread, where the kernel keeps a string. */
	if (r == 0 && f->modifier == HIST_EXECNAME && role == PARSE_VARIABLE) {
		f->shape = HIST_IS_STRING;
		f->type = "char[]";
	}
	return r;
}

/* --- constants and variables ------------------------------------------------------------ */

/* Gives the text to the command, which frees it. */
static const char *keep_string(struct hist_parse *p, char *text)
{
	*vec_add(&p->c->strings) = text;
	return text;
}

/* A constant is shown in decimal, whatever base it was written in. */
static void set_constant(struct hist_parse *p, struct hist_field *f, uint64_t value)
{
	*f = (struct hist_field){ .source = HIST_CONSTANT,
				  .constant = value,
				  .type = "u64",
				  .size = 8 };
	f->name = keep_string(p, mem_printf("%" PRIu64, value));
}

/* Whether the value is an expression, which does not stand for a field. */
static bool has_operator(struct words text)
{
	for (size_t i = 0; i < text.n; i++)
		if (strchr("+-*/", text.at[i]))
			return true;
	return false;
}

/* `$NAME` of a variable that this line sets to a plain field stands for that field, as in the
 * kernel. */
static bool is_own_field(const struct hist_parse *p, struct words name, struct words *field)
{
	for (size_t i = 0; i < p->n_variables; i++) {
		struct words value = p->variables[i].value;

		if (p->variables[i].name.n != name.n ||
		    memcmp(p->variables[i].name.at, name.at, name.n) != 0)
			continue;
		if (has_operator(value) || words_begin(value, "$"))
			continue;
		*field = value;
		return true;
	}
	return false;
}

/* SYSTEM.EVENT.NAME, or NAME alone. */
struct qualified {
	struct words system, event, name;
};

/* A qualified name has two dots; one dot alone separates a field from its modifier. */
static struct qualified split_qualified(struct words text)
{
	struct words rest = text;
	struct qualified q = { .name = text };

	q.system = words_split(&rest, '.');
	q.event = words_split(&rest, '.');
	if (rest.at)
		q.name = rest;
	else
		q.system = q.event = nowhere;
	return q;
}

/* Whether no event is named, or that of this line. */
static bool is_of_this(const struct hist_parse *p, const struct qualified *q)
{
	return !q->system.at ||
	       (words_are(q->system, p->event->system) && words_are(q->event, p->event->name));
}

/* Reads a leaf of an expression. A constant begins with a digit, a variable with `$`; everything
 * else is a field. */
static int read_atom(struct hist_parse *p, struct hist_field *f, struct words text,
		     enum parse_role role)
{
	struct qualified q = split_qualified(text);
	struct words variable = { q.name.at + 1, q.name.n ? q.name.n - 1 : 0 }, field;
	uint64_t value;
	int r;

	if (text.n && isdigit((unsigned char)*text.at)) {
		if (!words_number(text, &value))
			return parse_refuse(p, "Expecting numeric literal", text);
		set_constant(p, f, value);
		return 0;
	}
	if (!words_begin(q.name, "$") || !variable.n)
		return read_field(p, f, q.name, role);
	if (is_of_this(p, &q) && is_own_field(p, variable, &field))
		return read_field(p, f, field, role);
	r = parse_find_variable(p, q.system, q.event, variable, f);
	if (r == 0)
		r = parse_refuse(p, "Couldn't find variable", variable);
	if (r < 0)
		return r;
	f->name = keep_string(p, words_copy(text));
	return 0;
}

/* --- expressions ------------------------------------------------------------------------ */

/* Characters up to the parenthesis that closes the one at the begin; 0: there is none. */
static size_t group_length(struct words text)
{
	size_t depth = 0;

	for (size_t i = 0; i < text.n; i++) {
		depth += text.at[i] == '(';
		if (text.at[i] == ')' && !--depth)
			return i + 1;
	}
	return 0;
}

/* Whether parentheses group, which is brace's own. What begins with a minus, or does not close what
 * it opens, is read as the kernel reads it. */
static bool has_groups(struct words text)
{
	size_t depth = 0;

	for (size_t i = 0; i < text.n; i++) {
		depth += text.at[i] == '(';
		if (text.at[i] == ')' && !depth--)
			return false;
	}
	return !depth && !words_begin(text, "-");
}

/* Returns the place of the last of the operators, -1: none. */
static long last_of(struct words text, char a, char b)
{
	bool groups = has_groups(text);
	size_t depth = 0;

	for (size_t i = text.n; i-- > 0;) {
		depth += text.at[i] == ')';
		depth -= depth && text.at[i] == '(';
		if ((!groups || !depth) && (text.at[i] == a || text.at[i] == b))
			return (long)i;
	}
	return -1;
}

/* The place of the root operator, -1: there is none. */
static long find_root(struct words text)
{
	static const char offset[] = ".sym-offset";
	long minus = last_of(text, '-', '-'), plus = last_of(text, '+', '+');

	if (minus == 0)
		return 0;
	/* The minus of a modifier. */
	if (minus >= 4 && text.n - (size_t)(minus - 4) >= sizeof(offset) - 1 &&
	    !memcmp(text.at + minus - 4, offset, sizeof(offset) - 1))
		return -1;
	if (minus >= 0 || plus >= 0)
		return plus > minus ? plus : minus;
	return last_of(text, '/', '*');
}

/* Computes constants while a line is read, and each record's values (count.c): folding changes no
 * result. */
uint64_t hist_operate(char operator, uint64_t a, uint64_t b)
{
	switch (operator) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	default:
		return b ? a / b : UINT64_MAX;
	}
}

/* Copies an operand, which lies on the parser's stack, to the command, which frees it. */
static struct hist_field *keep_node(struct hist_parse *p, const struct hist_field *f)
{
	struct hist_field *node = mem_zalloc(sizeof(*node));

	*node = *f;
	*vec_add(&p->c->nodes) = node;
	return node;
}

/* A variable that an expression reads is taken away by that, as in the kernel. */
static void consume(struct hist_parse *p, const struct hist_field *f)
{
	if (f->source == HIST_REFERENCE)
		p->c->references.at[f->reference].once = true;
}

/* Appends an operand as expressions show it. */
static void show_operand(FILE *to, const struct hist_field *f)
{
	fputs(f->name, to);
	if (f->modifier != HIST_PLAIN)
		fprintf(to, ".%s", hist_modifier_row(f->modifier)->name);
}

/* Makes the name that the `hist` file shows, in the form of the kernel's expr_str(). */
static const char *name_expression(struct hist_parse *p, char operator, const struct hist_field *a,
				   const struct hist_field *b)
{
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	if (!b)
		fputs(operator == 'n' ? "-(" : "(", to);
	show_operand(to, a);
	fputc(b ? operator : ')', to);
	if (b)
		show_operand(to, b);
	mem_stream_close(to, &text);
	return keep_string(p, text);
}

/* The type, the size, the sign and the unit of an expression are those of its left operand. */
static void make_expression(struct hist_parse *p, struct hist_field *f, char operator,
			    const struct hist_field *a, const struct hist_field *b)
{
	*f = (struct hist_field){ .source = HIST_EXPRESSION,
				  .operator = operator,
				  .type = a->type,
				  .size = a->size,
				  .is_signed = a->is_signed,
				  .usecs = a->usecs };
	/* An expression in parentheses is computed in 64 bits, and keeps that width. */
	if (operator == '(') {
		f->type = a->is_signed ? "s64" : "u64";
		f->size = 8;
	}
	f->operands[0] = keep_node(p, a);
	f->operands[1] = b ? keep_node(p, b) : NULL;
	f->name = name_expression(p, operator, a, b);
	consume(p, a);
	if (b)
		consume(p, b);
}

static int read_expression(struct hist_parse *p, struct hist_field *f, struct words text,
			   enum parse_role role);

/* Reads an operand, which is a field, a constant, a variable or another expression, but no text. */
static int read_number(struct hist_parse *p, struct hist_field *f, struct words text)
{
	int r = read_expression(p, f, text, PARSE_OPERAND);

	if (r == 0 && !hist_field_is_number(f))
		return parse_refuse(p, "String type can not be an operand in expression", text);
	return r;
}

/* Reads -(OPERAND). */
static int read_minus(struct hist_parse *p, struct hist_field *f, struct words text)
{
	struct words inner = { text.at + 1, text.n - 1 };
	struct hist_field a;
	long end;
	int r;

	if (!words_begin(inner, "("))
		return parse_refuse_here(p, "A minus stands before parentheses: -(FIELD)", text);
	inner = (struct words){ inner.at + 1, inner.n - 1 };
	end = last_of(inner, ')', ')');
	if (end < 0)
		return parse_refuse_here(p, "A closing parenthesis is missing", text);
	if ((size_t)end + 1 < inner.n)
		return parse_refuse(p, "Unary minus not supported in sub-expressions", inner);
	inner.n = (size_t)end;
	p->subexpressions++;
	r = read_number(p, &a, inner);
	if (r == 0)
		make_expression(p, f, 'n', &a, NULL);
	return r;
}

/* Reads (EXPRESSION) or (EXPRESSION).MODIFIER. */
static int read_group(struct hist_parse *p, struct hist_field *f, struct words text,
		      enum parse_role role)
{
	size_t n = group_length(text);
	struct words inner = { text.at + 1, n ? n - 2 : 0 }, rest = { text.at + n, text.n - n };
	struct hist_field a;
	int r;

	if (!inner.n || ++p->groups > GROUPS_MAX || (rest.n && !words_begin(rest, ".")))
		return parse_refuse(p, "Couldn't find field", text);
	r = read_number(p, &a, inner);
	if (r < 0)
		return r;
	make_expression(p, f, '(', &a, NULL);
	if (!rest.n)
		return 0;
	return set_modifier(p, f, nowhere, (struct words){ rest.at + 1, rest.n - 1 }, role);
}

static int read_binary(struct hist_parse *p, struct hist_field *f, struct words left, char operator,
		       struct words right)
{
	struct hist_field a, b;
	int r;

	if (!left.n || !right.n)
		return parse_refuse_here(p, "An operand is missing", left);
	p->subexpressions++;
	r = read_number(p, &a, left);
	if (r == 0)
		r = read_number(p, &b, right);
	if (r < 0)
		return r;
	if (a.usecs != b.usecs)
		return parse_refuse(p, "Timestamp units in expression don't match", nowhere);
	/* A field that is 0 cannot be refused here: count.c divides by it. */
	if (operator == '/' && b.source == HIST_CONSTANT && !b.constant)
		return hist_refuse(p->line, p->fault, EDOM, "Division by zero", right.at, right.n);
	if (a.source == HIST_CONSTANT && b.source == HIST_CONSTANT)
		set_constant(p, f, hist_operate(operator, a.constant, b.constant));
	else
		make_expression(p, f, operator, &a, &b);
	return 0;
}

/* The root is the operator that is carried out last: what stands on either side of it is an
 * expression of its own. */
static int read_expression(struct hist_parse *p, struct hist_field *f, struct words text,
			   enum parse_role role)
{
	long at;

	*f = (struct hist_field){ 0 };
	if (p->subexpressions > SUBEXPRESSIONS_MAX)
		return parse_refuse(p, "Too many subexpressions (3 max)", text);
	at = find_root(text);
	if (at < 0 && words_begin(text, "(") && has_groups(text))
		return read_group(p, f, text, role);
	if (at < 0)
		return read_atom(p, f, text, role);
	if (at == 0 && *text.at == '-')
		return read_minus(p, f, text);
	return read_binary(p, f, (struct words){ text.at, (size_t)at }, text.at[at],
			   (struct words){ text.at + at + 1, text.n - (size_t)at - 1 });
}

/* The limits on operators are of one value, not of the line. */
int parse_value(struct hist_parse *p, struct hist_field *f, struct words text,
		enum parse_role role)
{
	p->subexpressions = p->groups = 0;
	return read_expression(p, f, text, role);
}

/* --- showing ---------------------------------------------------------------------------- */

bool hist_field_is_sketched(const struct hist_field *f)
{
	return hist_modifier_row(f->modifier)->sketched;
}

bool hist_field_is_number(const struct hist_field *f)
{
	return f->shape == HIST_IS_NUMBER;
}

/* A reference has no modifier: that it counts microseconds is known by its variable. */
void hist_field_show(const struct hist_field *f, FILE *to)
{
	fputs(f->name, to);
	if (f->source == HIST_REFERENCE && f->usecs)
		fputs(".usecs", to);
	if (f->modifier != HIST_PLAIN)
		fprintf(to, ".%s", hist_modifier_row(f->modifier)->name);
	if (f->modifier == HIST_BUCKETS)
		fprintf(to, "=%lld", (long long)f->buckets);
}
