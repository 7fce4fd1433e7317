/* SPDX-License-Identifier: MIT */
/* Parses one comparison of a filter, for filter_compile.c. It reads in the kernel's order and by
 * its rules, since the order decides which of several errors is reported. Any thread, as its
 * caller. A fault is a place in the text and ftrace's sentence. */
#include "event/filter_predicate.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "event/cpu_list.h"

enum op { OP_GLOB, OP_NE, OP_EQ, OP_LE, OP_LT, OP_GE, OP_GT, OP_AND, OPS };

/* parse_operator() takes the first that fits: <= stands before <, and >= before >. */
static const struct {
	const char *text;
	enum filter_compare compare;
} ops[OPS] = {
	[OP_GLOB] = { "~", FILTER_EQ }, [OP_NE] = { "!=", FILTER_NE }, [OP_EQ] = { "==", FILTER_EQ },
	[OP_LE] = { "<=", FILTER_LE },  [OP_LT] = { "<", FILTER_LT },  [OP_GE] = { ">=", FILTER_GE },
	[OP_GT] = { ">", FILTER_GT },   [OP_AND] = { "&", FILTER_AND },
};

/* One comparison as it is being parsed. `at` moves through b->text; `insn` becomes a step of the
 * program when all is well. */
struct predicate {
	struct filter_build *b;
	size_t at;
	const struct event_field *field;
	enum event_field_kind kind;
	enum op op;
	bool function; /* field.function */
	struct filter_insn insn;
};

static char current_char(const struct predicate *p)
{
	return p->b->text[p->at];
}

/* Skips the word if the text goes on with it. b->text ends with a NUL, so that the comparison stops
 * there. */
static bool skip_word(struct predicate *p, const char *word)
{
	size_t n = strlen(word);
	bool is = !strncmp(p->b->text + p->at, word, n);

	p->at += is ? n : 0;
	return is;
}

/* Newlines, too: a filter may be written in several lines. */
static void skip_blanks(struct predicate *p)
{
	while (isspace((unsigned char)current_char(p)))
		p->at++;
}

/* The kernel has moved one past the predicate's first character when it begins to count. */
static int bad_at(struct predicate *p, enum filter_error error, size_t at)
{
	return filter_fault_set(p->b->fault, error, EINVAL, at + 1);
}

/* Points the caret at where parsing stands. Returns -EINVAL. */
static int set_fault(struct predicate *p, enum filter_error error)
{
	return bad_at(p, error, p->at);
}

/* Appends n bytes to the program's data. Returns their place, counted from the begin of the data;
 * assemble() adds that begin. */
static uint32_t add_data(struct filter_build *b, const void *bytes, size_t n)
{
	size_t at = b->data.n;

	vec_reserve(&b->data, at + n + 1);
	memcpy(b->data.at + at, bytes, n);
	b->data.n = at + n;
	return (uint32_t)at;
}

/* True for the kinds of fields that hold or point to characters. */
static bool is_string(enum event_field_kind kind)
{
	return kind == EVENT_STRING || kind == EVENT_DYNAMIC || kind == EVENT_RELATIVE ||
	       kind == EVENT_POINTER || kind == EVENT_COMM;
}

/* A field of any other width is never equal to a number (FILTER_NEVER), as in the kernel. */
static bool compare_op(uint16_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Reads a number as kstrtoull() does: 0x.., 0.., decimal; all of the n characters. The text is not
 * cut at the number's end: strtoull() would read on, and take blanks and signs. */
static int number_of(const char *s, size_t n, uint64_t *v)
{
	unsigned base = n && s[0] == '0' ? n > 2 && (s[1] | 32) == 'x' ? 16 : 8 : 10;
	uint64_t sum = 0;

	for (size_t i = base == 16 ? 2 : 0; i < n; i++) {
		unsigned digit = isdigit((unsigned char)s[i])	? (unsigned)(s[i] - '0')
				 : isalpha((unsigned char)s[i]) ? (unsigned)((s[i] | 32) - 'a' + 10)
								: 99;

		if (digit >= base || __builtin_mul_overflow(sum, base, &sum) ||
		    __builtin_add_overflow(sum, digit, &sum))
			return -EINVAL;
	}
	*v = sum;
	return n ? 0 : -EINVAL;
}

/* Reads a number with a sign; the range is that of int64_t. */
static int signed_number_of(const char *s, size_t n, uint64_t *v)
{
	bool negative = n && *s == '-';

	if (number_of(s + negative, n - negative, v) < 0 || *v > (1ull << 63) - !negative)
		return -EINVAL;
	if (negative)
		*v = -*v;
	return 0;
}

/* Reads the digits at p->at, at most 23 of them, *n long: the kernel's buffer has 24 bytes. */
static int parse_digits(struct predicate *p, const char **s, size_t *n)
{
	size_t begin = p->at;

	p->at += current_char(p) == '-';
	while (isalnum((unsigned char)current_char(p)))
		p->at++;
	*s = p->b->text + begin;
	*n = p->at - begin;
	return *n >= 24 ? set_fault(p, FILTER_OPERAND_TOO_LONG) : 0;
}

/* Cuts the value to the field's type, as a comparison in C with that type would. */
static uint64_t as_type(uint64_t v, uint16_t size, bool is_signed)
{
	unsigned unused = 64 - 8u * size;

	v <<= unused;
	return is_signed ? (uint64_t)((int64_t)v >> unused) : v >> unused;
}

/* Compares a field that is a number with v. */
static void compare_number(struct predicate *p, uint64_t v, enum filter_compare compare,
			   bool is_signed)
{
	p->insn.compare = (uint8_t)compare;
	p->insn.size = (uint8_t)p->field->size;
	if (!compare_op(p->field->size)) {
		p->insn.test = FILTER_NEVER;
		return;
	}
	p->insn.test = FILTER_NUMBER;
	p->insn.flags = is_signed ? FILTER_SIGNED : 0;
	p->insn.value = as_type(v, p->field->size, is_signed);
}

/* Compares the CPU, an int that no record has: the interpreter has to find it out. */
static void compare_cpu(struct predicate *p, uint64_t v, enum filter_compare compare)
{
	p->insn.test = FILTER_CPU;
	p->insn.compare = (uint8_t)compare;
	p->insn.value = as_type(v, 4, true);
	p->b->needs |= FILTER_NEEDS_CPU;
}

/* Reads a number for a field that is one. The order of the checks is the kernel's. */
static int operand_number(struct predicate *p)
{
	size_t begin = p->at, n;
	const char *s;
	uint64_t v;

	if (is_string(p->kind))
		return set_fault(p, FILTER_EXPECT_STRING);
	if (p->op == OP_GLOB)
		return set_fault(p, FILTER_ILLEGAL_FIELD_OP);
	if (parse_digits(p, &s, &n) < 0)
		return -EINVAL;
	if ((p->field->is_signed ? signed_number_of(s, n, &v) : number_of(s, n, &v)) < 0)
		return bad_at(p, FILTER_ILLEGAL_INTVAL, begin);
	if (p->kind == EVENT_CPU)
		compare_cpu(p, v, ops[p->op].compare);
	else
		compare_number(p, v, ops[p->op].compare, p->field->is_signed);
	return 0;
}

/* Returns the kind of pattern, and leaves in *s the part that is compared. A `*` in the middle,
 * `?`, `[` or `\` need the whole glob; a `!` before it reverses it. */
static enum filter_match pattern_kind(const char **s, size_t *n, uint8_t *flags)
{
	bool front, end;

	if (*n && **s == '!') {
		*flags |= FILTER_NOT;
		++*s;
		--*n;
	}
	end = *n && **s == '*';
	front = *n > 1 && (*s)[*n - 1] == '*';
	for (size_t i = end; i < *n - front; i++)
		if (strchr("*?[\\", (*s)[i]))
			return FILTER_GLOB;
	*s += end;
	*n -= (size_t)end + front;
	return front && end ? FILTER_MIDDLE : front ? FILTER_FRONT : end ? FILTER_END : FILTER_FULL;
}

/* Fills in the comparison with the pattern s. Only ~ has wildcards; == and != compare the whole
 * string. */
static void compare_string(struct predicate *p, const char *s, size_t n)
{
	static const uint8_t tests[EVENT_STACK + 1] = {
		[EVENT_STRING] = FILTER_STRING,
		[EVENT_DYNAMIC] = FILTER_DYNAMIC,
		[EVENT_RELATIVE] = FILTER_RELATIVE,
		[EVENT_POINTER] = FILTER_POINTER, [EVENT_COMM] = FILTER_COMM,
	};
	struct filter_insn *i = &p->insn;

	i->test = tests[p->kind];
	i->flags = p->op == OP_NE ? FILTER_NOT : 0;
	i->compare = p->op == OP_GLOB ? pattern_kind(&s, &n, &i->flags) : FILTER_FULL;
	i->room = p->kind == EVENT_STRING ? p->field->size : 0;
	i->data = add_data(p->b, s, n);
	i->length = (uint16_t)n;
	if (p->kind == EVENT_COMM)
		p->b->needs |= FILTER_NEEDS_COMM;
	if (p->kind == EVENT_POINTER)
		p->b->needs |= FILTER_NEEDS_FETCH;
}

/* Reads a string between quotes; there is no way to have the quote itself in it. */
static int operand_string(struct predicate *p)
{
	char quote = current_char(p);
	size_t begin = p->at + 1;

	if (p->op != OP_NE && p->op != OP_GLOB && p->op != OP_EQ)
		return set_fault(p, FILTER_ILLEGAL_FIELD_OP);
	if (!is_string(p->kind))
		return set_fault(p, FILTER_EXPECT_DIGIT);
	for (p->at++; current_char(p) && current_char(p) != quote; p->at++)
		;
	if (!current_char(p))
		return set_fault(p, FILTER_MISSING_QUOTE);
	if (p->at - begin >= FILTER_STRING_MAX)
		return set_fault(p, FILTER_OPERAND_TOO_LONG);
	compare_string(p, p->b->text + begin, p->at - begin);
	p->at++;
	return 0;
}

/* Returns a function's name, to be freed: up to a blank, as in the kernel, or (the kernel has no
 * such names) to a `)` whose `(` is not part of it. */
static char *function_name(struct predicate *p)
{
	size_t begin = p->at;
	int open = 0;

	for (; current_char(p) && !isspace((unsigned char)current_char(p)); p->at++) {
		open += current_char(p) == '(';
		if (current_char(p) == ')' && !open--)
			break;
	}
	return mem_strndup(p->b->text + begin, p->at - begin);
}

/* Reads the address or name at p->at; *name is to be freed. name stays NULL for an address. A name
 * never begins with a digit, so that the first character decides. */
static int function_operand(struct predicate *p, char **name, uint64_t *address)
{
	const char *s;
	size_t n;

	if (!isdigit((unsigned char)current_char(p))) {
		*name = function_name(p);
		return 0;
	}
	if (parse_digits(p, &s, &n) < 0)
		return -EINVAL;
	return number_of(s, n, address) < 0 ? set_fault(p, FILTER_INVALID_VALUE) : 0;
}

/* `field.function == NAME` or ADDRESS: the field's address is anywhere in that function. The
 * function is resolved now, to an address and a length: a module that is loaded later is not
 * searched. */
static int operand_function(struct predicate *p)
{
	const struct filter_context *c = p->b->context;
	struct filter_function f;
	uint64_t address = 0;
	char *name = NULL;
	bool found;

	if (p->field->size != 8)
		return set_fault(p, FILTER_ILLEGAL_FIELD_OP);
	if (p->op != OP_NE && p->op != OP_EQ)
		return set_fault(p, FILTER_INVALID_OP);
	if (function_operand(p, &name, &address) < 0)
		return -EINVAL;
	found = c->function && c->function(c->arg, name, address, &f);
	free(name);
	if (!found)
		return set_fault(p, FILTER_NO_FUNCTION);
	p->b->needs |= FILTER_NEEDS_RESOLVE;
	p->insn.test = FILTER_FUNCTION;
	p->insn.compare = (uint8_t)ops[p->op].compare;
	p->insn.value = f.begin;
	p->insn.data = f.bytes;
	return 0;
}

/* Reads the list between the braces at p->at into a mask of `cpus`; p->at is then after them. The
 * list's syntax is cpu_list.h's. */
static int cpu_list(struct predicate *p, uint32_t cpus, uint8_t *mask)
{
	size_t begin;

	if (!skip_word(p, "{")) {
		p->at++;
		return set_fault(p, FILTER_MISSING_BRACE_OPEN);
	}
	begin = p->at;
	while (current_char(p) && current_char(p) != '}')
		p->at++;
	if (!current_char(p))
		return set_fault(p, FILTER_MISSING_BRACE_CLOSE);
	if (p->at == begin || !cpu_list_parse(p->b->text + begin, p->at - begin, cpus, mask))
		return set_fault(p, FILTER_INVALID_CPULIST);
	p->at++;
	return 0;
}

/* A mask with one CPU becomes a comparison of numbers, in which & means ==, as in the kernel. */
static void compare_mask(struct predicate *p, uint32_t cpus, const uint8_t *mask)
{
	uint32_t n = (cpus + 7) / 8, count = 0, only = 0;
	enum filter_compare compare = ops[p->op].compare,
			    scalar = compare == FILTER_AND ? FILTER_EQ : compare;

	/* Trailing zeros of a mask need no storage. */
	while (n && !mask[n - 1])
		n--;
	for (uint32_t i = 0; i < n; i++) {
		count += (uint32_t)__builtin_popcount(mask[i]);
		only = mask[i] ? i * 8 + (uint32_t)__builtin_ctz(mask[i]) : only;
	}
	p->insn.compare = (uint8_t)compare;
	if (p->kind == EVENT_CPU && count == 1) {
		compare_cpu(p, only, scalar);
		return;
	}
	if (p->kind == EVENT_NUMBER && (count == 1 || !compare_op(p->field->size))) {
		compare_number(p, only, scalar, false);
		return;
	}
	p->insn.test = p->kind == EVENT_CPU	  ? FILTER_CPU_IN
		       : p->kind == EVENT_CPUMASK ? FILTER_CPUS
						  : FILTER_NUMBER_IN;
	p->insn.size = (uint8_t)p->field->size;
	p->insn.value = cpus;
	p->insn.data = add_data(p->b, mask, n);
	p->insn.length = (uint16_t)n;
	p->b->needs |= p->kind == EVENT_CPU ? FILTER_NEEDS_CPU : 0;
}

/* `field & CPUS{1-3}` */
static int operand_cpus(struct predicate *p)
{
	uint8_t mask[FILTER_CPUS_MAX / 8];
	uint32_t cpus = p->b->context->cpus;

	if (!cpus || cpus > FILTER_CPUS_MAX)
		cpus = FILTER_CPUS_MAX;
	if ((p->kind != EVENT_CPUMASK && p->kind != EVENT_CPU && p->kind != EVENT_NUMBER) ||
	    (p->op != OP_EQ && p->op != OP_NE && p->op != OP_AND))
		return set_fault(p, FILTER_ILLEGAL_FIELD_OP);
	skip_word(p, "CPUS");
	if (cpu_list(p, cpus, mask) < 0)
		return -EINVAL;
	compare_mask(p, cpus, mask);
	return 0;
}

/* "FIELD[.ustring][.function]" */
static int parse_subject(struct predicate *p)
{
	size_t begin;

	skip_blanks(p);
	begin = p->at;
	while (isalnum((unsigned char)current_char(p)) || current_char(p) == '_')
		p->at++;
	if (p->at == begin)
		return filter_fault_set(p->b->fault, FILTER_ERROR_OTHER, EPERM, 0);
	p->field = event_find_field(p->b->event, p->b->text + begin, p->at - begin, &p->kind);
	if (!p->field)
		return set_fault(p, FILTER_FIELD_NOT_FOUND);
	skip_word(p, ".ustring"); /* every pointer here is one of user space */
	p->function = skip_word(p, ".function");
	return 0;
}

/* Reads the operator and the blanks after it. */
static int parse_operator(struct predicate *p)
{
	skip_blanks(p);
	for (int i = 0; i < OPS; i++) {
		if (skip_word(p, ops[i].text)) {
			p->op = (enum op)i;
			skip_blanks(p);
			return 0;
		}
	}
	return set_fault(p, FILTER_INVALID_OP);
}

/* Decides by the first character what the operand is. */
static int parse_operand(struct predicate *p)
{
	char c = current_char(p);

	if (p->function)
		return operand_function(p);
	if (!strncmp(p->b->text + p->at, "CPUS", 4))
		return operand_cpus(p);
	if (c == '\'' || c == '"')
		return operand_string(p);
	if (isdigit((unsigned char)c) || c == '-')
		return operand_number(p);
	return set_fault(p, FILTER_INVALID_VALUE);
}

/* *at moves only after success; b->fault has the error otherwise. */
int filter_predicate(struct filter_build *b, size_t *at)
{
	struct predicate p = { .b = b, .at = *at };
	int r = parse_subject(&p);

	if (r == 0)
		r = parse_operator(&p);
	if (r < 0)
		return r;
	p.insn.offset = p.field->offset;
	r = parse_operand(&p);
	if (r < 0)
		return r;
	*vec_add(&b->insns) = p.insn;
	*at = p.at;
	return 0;
}
