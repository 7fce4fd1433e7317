/* SPDX-License-Identifier: MIT */
/* The arguments of probes, in the kernel's words (Documentation/trace/uprobetracer.rst): each is one field and a few
 * instructions. What is inside out in the text, +8(+0(%di)), is fetched from the inside. */
#include "event/fetch.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIELDS_MAX 128u       /* the kernel's */
#define DEPTH_MAX 16u         /* of memory fetched by what was fetched from memory */

/* --- types ---------------------------------------------------------------------------------- */

static const struct fetch_type types[] = {
	{ "u8", "u8", "%u", 1, false, false },    { "u16", "u16", "%u", 2, false, false },
	{ "u32", "u32", "%u", 4, false, false },  { "u64", "u64", "%Lu", 8, false, false },
	{ "s8", "s8", "%d", 1, true, false },     { "s16", "s16", "%d", 2, true, false },
	{ "s32", "s32", "%d", 4, true, false },   { "s64", "s64", "%Ld", 8, true, false },
	{ "x8", "u8", "0x%x", 1, false, false },  { "x16", "u16", "0x%x", 2, false, false },
	{ "x32", "u32", "0x%x", 4, false, false }, { "x64", "u64", "0x%Lx", 8, false, false },
	{ "string", "__data_loc char[]", "\\\"%s\\\"", 4, true, true },
	{ "ustring", "__data_loc char[]", "\\\"%s\\\"", 4, true, true },
};
static const struct fetch_type ip_type = { "ip", "unsigned long", "(%lx)", 8, false, false };
#define TYPES (sizeof(types) / sizeof(types[0]))

static bool is_text(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(text, word, n) == 0;
}

const struct fetch_type *fetch_type_named(const char *name, size_t n)
{
	for (size_t i = 0; i < TYPES; i++)
		if (is_text(name, n, types[i].name))
			return &types[i];
	return NULL;
}

const struct fetch_type *fetch_type_number(unsigned size, bool is_signed)
{
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].size == size && types[i].is_signed == is_signed && !types[i].is_string)
			return &types[i];
	return NULL;
}

int fetch_register(const char *name, size_t n)
{
	static const char *const names[] = { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8", "r9", "r10", "r11",
					     "r12", "r13", "r14", "r15", "flags", "ip" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_text(name, n, names[i]))
			return (int)i;
	return -1;
}

/* --- fields --------------------------------------------------------------------------------- */

void fetch_insn(struct fetch_build *b, struct fetch_insn i)
{
	*vec_add(&b->code) = i;
}

void fetch_begin(struct fetch_build *b)
{
	*b = (struct fetch_build){ .fixed = EVENT_COMMON_BYTES };
	*vec_add(&b->fields) = (struct fetch_field){ mem_strdup("__probe_ip"), &ip_type, (uint16_t)b->fixed };
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_IP });
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_STORE, .size = 8, .at = (uint16_t)b->fixed });
	b->fixed += 8;
}

void fetch_free(struct fetch_build *b)
{
	for (size_t i = 0; i < b->fields.n; i++)
		free(b->fields.at[i].name);
	vec_free(&b->fields);
	vec_free(&b->code);
}

static bool is_name(const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return n && n < 64 && !isdigit((unsigned char)*name);
}

int fetch_add_field(struct fetch_build *b, const char *name, size_t n, const struct fetch_type *type, struct err *err)
{
	if (!is_name(name, n))
		return err_set(err, EINVAL, "\"%.*s\" is no name for a field: letters, digits and _", (int)n, name);
	for (size_t i = 0; i < b->fields.n; i++)
		if (is_text(name, n, b->fields.at[i].name))
			return err_set(err, EINVAL, "there is a field \"%.*s\" already", (int)n, name);
	if (b->fields.n > FIELDS_MAX || b->fixed + type->size > FETCH_RECORD_MAX)
		return err_set(err, E2BIG, "there are too many arguments: a record has %u bytes", FETCH_RECORD_MAX);
	*vec_add(&b->fields) = (struct fetch_field){ mem_printf("%.*s", (int)n, name), type, (uint16_t)b->fixed };
	b->fixed += type->size;
	return (int)(b->fixed - type->size);
}

/* --- arguments ------------------------------------------------------------------------------ */

struct text { const char *begin, *stop, *at, *end; struct err *err; }; /* whole; what is looked at */

static int fault(const struct text *t, const char *what)
{
	char input[256];

	snprintf(input, sizeof(input), "%.*s", (int)(t->stop - t->begin), t->begin);
	return err_at(t->err, EINVAL, input, (size_t)(t->at - t->begin), "%s", what);
}

/* Up to the argument's end: decimal, octal or hexadecimal. */
static bool number(const char *from, const char *end, int64_t *out)
{
	char digits[32];
	size_t n = (size_t)(end - from);
	char *rest;

	if (!n || n >= sizeof(digits) || !isdigit((unsigned char)(from[0] == '-' && n > 1 ? from[1] : from[0])))
		return false;
	memcpy(digits, from, n);
	digits[n] = '\0';
	errno = 0;
	*out = *digits == '-' ? strtoll(digits, &rest, 0) : (int64_t)strtoull(digits, &rest, 0);
	return !*rest && !errno;
}

static int variable(struct fetch_build *b, struct text *t)
{
	size_t n = (size_t)(t->end - t->at - 1);
	const char *name = t->at + 1;
	int64_t slot;

	if (is_text(name, n, "comm")) {
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_COMM });
	} else if (is_text(name, n, "stack")) {
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_REG, .reg = 4 });
	} else if (n > 5 && !memcmp(name, "stack", 5) && number(name + 5, t->end, &slot) && slot >= 0 && slot < 1024) {
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_REG, .reg = 4 });
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_LOAD, .size = 8, .value = 8 * slot });
	} else {
		return fault(t, "there is no such variable: $stack, $stack0, $stack1, ..., $comm");
	}
	return 0;
}

static int reg(struct fetch_build *b, struct text *t)
{
	int r = fetch_register(t->at + 1, (size_t)(t->end - t->at - 1));

	if (r < 0)
		return fault(t, "there is no such register");
	if (r == (int)FETCH_REGS)
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_IP });
	else
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_REG, .reg = (uint8_t)r });
	return 0;
}

static int address(struct fetch_build *b, struct text *t)
{
	bool moves = t->at + 1 < t->end && t->at[1] == '+';
	int64_t value;

	if (!number(t->at + 1 + moves, t->end, &value))
		return fault(t, "@ wants an address, @+ one of the file");
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM, .value = value });
	if (moves)
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_BASE });
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_LOAD, .size = 8 });
	return 0;
}

static int immediate(struct fetch_build *b, struct text *t)
{
	int64_t value;

	if (!number(t->at + 1, t->end, &value))
		return fault(t, "\\ wants a number");
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM, .value = value });
	return 0;
}

/* What is no memory's content, or what the innermost parentheses hold. */
static int plain(struct fetch_build *b, struct text *t)
{
	switch (t->at < t->end ? *t->at : '\0') {
	case '%': return reg(b, t);
	case '$': return variable(b, t);
	case '@': return address(b, t);
	case '\\': return immediate(b, t);
	default: return fault(t, "an argument is %REG, $stackN, $comm, @ADDRESS, \\NUMBER or +OFFSET(ARGUMENT)");
	}
}

/* The parentheses are undone from outside; the offsets are used from inside. */
static int fetchargs(struct fetch_build *b, struct text *t)
{
	int64_t offsets[DEPTH_MAX];
	unsigned n = 0;

	for (; t->at < t->end && (*t->at == '+' || *t->at == '-'); n++) {
		const char *open = memchr(t->at, '(', (size_t)(t->end - t->at));
		const char *digits = t->at + 1 + (t->at + 1 < t->end && t->at[1] == 'u');

		if (n == DEPTH_MAX)
			return fault(t, "this goes through too many pointers");
		if (!open || t->end[-1] != ')' || !number(digits, open, &offsets[n]))
			return fault(t, "memory is fetched by +OFFSET(ARGUMENT)");
		offsets[n] = *t->at == '-' ? (int64_t)-(uint64_t)offsets[n] : offsets[n];
		t->at = open + 1;
		t->end--;
	}
	if (plain(b, t) < 0)
		return -EINVAL;
	while (n--)
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_LOAD, .size = 8, .value = offsets[n] });
	return 0;
}

/* The last step fetches as much as the type has, or the string there. */
static int store(struct fetch_build *b, const struct text *t, const struct fetch_type *type, int at)
{
	struct fetch_insn *last = &b->code.at[b->code.n - 1];

	if (last->op == FETCH_COMM && !type->is_string)
		return fault(t, "$comm is a string");
	if (type->is_string && last->op == FETCH_LOAD) {
		*last = (struct fetch_insn){ .op = FETCH_STRING, .at = (uint16_t)at, .value = last->value };
		return 0;
	}
	if (type->is_string && last->op != FETCH_COMM)
		return fault(t, "a string is in memory: +0(ARGUMENT):string");
	if (last->op == FETCH_LOAD)
		last->size = type->size;
	fetch_insn(b, (struct fetch_insn){ .op = type->is_string ? FETCH_STRING : FETCH_STORE, .size = type->size,
					   .at = (uint16_t)at });
	return 0;
}

/* What is behind the colon; without one a number, or $comm's string. */
static const struct fetch_type *type_of(struct text *t)
{
	bool comm = t->end - t->at >= 5 && !memcmp(t->end - 5, "$comm", 5);
	const struct fetch_type *type;
	const char *colon = t->end - 1;

	while (colon > t->at && *colon != ':')
		colon--;
	if (colon == t->at)
		return fetch_type_named(comm ? "string" : "x64", comm ? 6 : 3);
	type = fetch_type_named(colon + 1, (size_t)(t->end - colon - 1));
	if (!type) {
		t->at = colon + 1;
		fault(t, "there is no such type: u8 to u64, s8 to s64, x8 to x64, string");
	}
	t->end = colon;
	return type;
}

int fetch_add(struct fetch_build *b, const char *text, size_t n, struct err *err)
{
	char own[16];
	const char *equals = memchr(text, '=', n), *name = text;
	size_t n_name = equals ? (size_t)(equals - text) : (size_t)snprintf(own, sizeof(own), "arg%zu", b->fields.n);
	struct text t = { text, text + n, equals ? equals + 1 : text, text + n, err };
	const struct fetch_type *type;
	int at;

	if (!equals)
		name = own;
	type = n && t.at < t.end ? type_of(&t) : NULL;
	if (!type)
		return t.at < t.end ? -EINVAL : fault(&t, "an argument is missing");
	at = fetch_add_field(b, name, n_name, type, err);
	if (at < 0)
		return at;
	return fetchargs(b, &t) < 0 || store(b, &t, type, at) < 0 ? -EINVAL : 0;
}

/* --- results -------------------------------------------------------------------------------- */

struct fetch_program *fetch_finish(const struct fetch_build *b, uint32_t *bytes)
{
	struct fetch_program *p;

	*bytes = (uint32_t)(sizeof(*p) + b->code.n * sizeof(p->code[0]));
	if (b->code.n > FETCH_INSNS_MAX)
		return NULL;
	p = mem_zalloc(*bytes);
	p->n = (uint16_t)b->code.n;
	p->fixed = (uint16_t)b->fixed;
	memcpy(p->code, b->code.at, b->code.n * sizeof(p->code[0]));
	return p;
}

static char *print_of(const struct fetch_build *b)
{
	char *text = mem_strdup("\"(%lx)"), *more;

	for (size_t i = 1; i < b->fields.n; i++, free(more)) {
		more = text;
		text = mem_printf("%s %s=%s", more, b->fields.at[i].name, b->fields.at[i].type->print);
	}
	more = text;
	text = mem_printf("%s\", REC->__probe_ip", more);
	free(more);
	for (size_t i = 1; i < b->fields.n; i++, free(more)) {
		const struct fetch_field *f = &b->fields.at[i];

		more = text;
		text = mem_printf(f->type->is_string ? "%s, __get_str(%s)" : "%s, REC->%s", more, f->name);
	}
	return text;
}

char *fetch_format(const struct fetch_build *b, const char *name)
{
	struct event_field *fields = mem_zalloc(b->fields.n * sizeof(*fields));
	char *print = print_of(b), *text;
	const struct event_format e = { "", name, 0, fields, b->fields.n, print };

	for (size_t i = 0; i < b->fields.n; i++) {
		const struct fetch_field *f = &b->fields.at[i];

		fields[i] = (struct event_field){ f->type->field, f->name, f->at, f->type->size, f->type->is_signed };
	}
	text = event_format_read(&e);
	free(print);
	free(fields);
	return text;
}
