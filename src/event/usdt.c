/* SPDX-License-Identifier: MIT */
/* Compiles the arguments of USDT markers, SIZE@OPERAND each, to fetch programs; a negative size
 * means a signed value. Compilers write any operand that an instruction may have: $5, %edi, %ah,
 * -16(%rbp), (%rax,%rbx,8), 44+CheckpointStats(%rip), table(,%rcx,4). The text is a file's, so it
 * is not trusted. image/ calls it for each site. An operand that cannot be fetched is 0. */
#include "event/usdt.h"

#include "arch/reg_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* n: length of the operand. size 0: the argument cannot be fetched. */
struct argument { const char *operand; size_t n; int size; /* 0: none */ };

/* Returns the next argument. Blanks separate them, since names have none. */
static bool next_argument(const char **at, struct argument *a)
{
	const char *sign;
	char *end;

	*at += strspn(*at, " \t");
	if (!**at)
		return false;
	sign = strchr(*at, '@');
	a->n = strcspn(*at, " \t");
	a->operand = *at;
	/* Without SIZE@ the argument is an unsigned number of 8 bytes. */
	a->size = 8;
	if (sign && sign < *at + a->n) {
		a->size = (int)strtol(*at, &end, 10);
		if (end != sign) /* 8f: the bits of a floating-point number */
			a->size = *end == 'f' && end + 1 == sign ? a->size : 0;
		a->n -= (size_t)(sign + 1 - *at);
		a->operand = sign + 1;
	}
	/* Vectors and other sizes have no type. */
	if (!fetch_type_number((unsigned)abs(a->size), a->size < 0))
		a->size = 0;
	*at = a->operand + a->n;
	return true;
}

/* Places of one marker may have arguments of different sizes: the fields become wide enough for
 * all. */
void usdt_fields_meet(struct usdt_fields *f, const char *arguments)
{
	struct argument a;
	unsigned i = 0;

	for (; i < USDT_ARGUMENTS_MAX && next_argument(&arguments, &a); i++) {
		unsigned size = (unsigned)abs(a.size);

		if (size > f->size[i])
			f->size[i] = (uint8_t)size;
		f->is_signed[i] |= a.size < 0;
	}
	f->n = i > f->n ? i : f->n;
}

/* --- operands ------------------------------------------------------------------------------- */

/* One operand in AT&T syntax, as the assembler wrote it into the note; `names` finds objects by
 * their symbols. */
struct operand { const char *at, *end; const struct usdt_names *names; };

/* Returns the length of the number or name at o->at. Names of the assembler's may contain ., $ and
 * @. */
static size_t parse_word(const struct operand *o)
{
	size_t n = 0;

	while (o->at + n < o->end && (isalnum((unsigned char)o->at[n]) || strchr("_.$@", o->at[n])))
		n++;
	return n;
}

/* Adds the number or the object's address at o->at to *sum. Addresses are those of the linked file;
 * *named: the caller has to add the load bias. */
static bool parse_term(struct operand *o, uint64_t *sum, bool minus, bool *named)
{
	uint64_t value = 0;
	char *end, digits[32];
	size_t n = parse_word(o);

	if (!n)
		return false;
	if (isdigit((unsigned char)*o->at)) {
		if (n >= sizeof(digits))
			return false;
		memcpy(digits, o->at, n);
		digits[n] = '\0';
		value = strtoull(digits, &end, 0);
		if (*end)
			return false;
	} else if (!o->names || !o->names->find(o->names->module, o->at, n, &value)) {
		return false;
	} else {
		*named = true;
	}
	o->at += n;
	*sum += minus ? -value : value;
	return true;
}

/* Adds up 44+CheckpointStats, -16, 0x10; nothing: 0. */
static bool parse_displacement(struct operand *o, uint64_t *sum, bool *named)
{
	*sum = 0;
	while (o->at < o->end && *o->at != '(') {
		bool minus = *o->at == '-';

		o->at += minus || *o->at == '+';
		if (!parse_term(o, sum, minus, named))
			return false;
	}
	return true;
}

/* Reads %rax: returns its number, FETCH_REGS for %rip; -1: none. */
static int base_register(struct operand *o)
{
	unsigned shift;
	size_t n;
	int r;

	if (o->at == o->end || *o->at != '%')
		return -1;
	o->at++;
	n = parse_word(o);
	r = reg_names_assembler(o->at, n, &shift);
	if (r < 0 || (*o->at != 'r' && n)) /* 32-bit addresses, which no compiler uses */
		return -1;
	o->at += n;
	return r;
}

/* Reads ",%REGISTER[,SCALE]". strchr() also finds the NUL at the end of `scales`, hence the test of
 * *scale. */
static bool index_register(struct operand *o, struct fetch_insn *out)
{
	static const char scales[] = "1248";
	const char *scale = scales;
	int r;

	o->at++; /* the comma */
	r = base_register(o);
	if (r < 0 || r >= (int)FETCH_FLAGS_REG)
		return false;
	if (o->end - o->at >= 2 && *o->at == ',') {
		scale = strchr(scales, o->at[1]);
		o->at += 2;
	}
	*out = (struct fetch_insn){ .op = FETCH_ADD_REG,
				    .reg = (uint8_t)r,
				    .size = scale ? (uint8_t)(scale - scales) : 0 };
	return scale && *scale;
}

/* Compiles disp(base,index,scale) to the address without the displacement, which the load adds. */
static bool parse_memory(struct fetch_build *b, struct operand *o, uint64_t *sum)
{
	struct fetch_insn index = { .op = FETCH_OPS }, begin = { .op = FETCH_IMM };
	bool named = false, moves;
	int base = -1;

	if (!parse_displacement(o, sum, &named))
		return false;
	moves = named;
	if (o->at < o->end) {
		o->at++;
		base = o->at < o->end && *o->at == '%' ? base_register(o) : -1;
		if (o->at < o->end && *o->at == ',' && !index_register(o, &index))
			return false;
		if (o->end - o->at != 1 || *o->at != ')' || (base < 0 && index.op == FETCH_OPS))
			return false;
	}
	if (base == (int)FETCH_REGS && !named)
		return false; /* relative to an instruction that is not this one */
	if (base >= 0 && base < (int)FETCH_FLAGS_REG)
		begin = (struct fetch_insn){ .op = FETCH_REG, .reg = (uint8_t)base };
	fetch_insn(b, begin);
	if (index.op != FETCH_OPS)
		fetch_insn(b, index);
	if (moves)
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_BASE });
	return true;
}

/* %ah is bits 8 to 15 of register 0: the code shifts first, and narrows then. */
static bool in_register(struct fetch_build *b, const struct operand *o)
{
	unsigned shift;
	int r = reg_names_assembler(o->at + 1, (size_t)(o->end - o->at - 1), &shift);

	if (r < 0 || r >= (int)FETCH_FLAGS_REG)
		return false;
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_REG, .reg = (uint8_t)r });
	if (shift)
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_SHIFT, .value = shift });
	return true;
}

/* Compiles $5, or $table: the address of an object. */
static bool parse_immediate(struct fetch_build *b, struct operand *o)
{
	bool named = false;
	uint64_t value;

	o->at++;
	if (!parse_displacement(o, &value, &named) || o->at < o->end)
		return false;
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM, .value = (int64_t)value });
	if (named)
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_BASE });
	return true;
}

/* Fetches the number, as wide as the argument. */
static bool parse_operand(struct fetch_build *b, const struct argument *a,
			  const struct usdt_names *names)
{
	struct operand o = { a->operand, a->operand + a->n, names };
	struct fetch_insn last = { .op = FETCH_NARROW, .size = (uint8_t)abs(a->size),
				   .flags = a->size < 0 ? FETCH_SIGNED : 0 };
	uint64_t sum;

	if (!a->size || !a->n)
		return false;
	if (*o.at == '%' && memchr(o.at, ':', a->n))
		return false; /* %fs:8 */
	if (*o.at == '%'   ? !in_register(b, &o)
	    : *o.at == '$' ? !parse_immediate(b, &o)
			   : !parse_memory(b, &o, &sum))
		return false;
	if (*a->operand != '%' && *a->operand != '$') {
		last.op = FETCH_LOAD;
		last.value = (int64_t)sum;
	}
	fetch_insn(b, last);
	return true;
}

/* The fields are those of all sites together, because an event has one layout of records. */
int usdt_build(struct fetch_build *b, const struct usdt_fields *f, const char *arguments,
	       const struct usdt_names *names, struct err *err)
{
	struct argument a = { 0 };

	fetch_begin(b);
	for (unsigned i = 0; i < f->n; i++) {
		const struct fetch_type *type =
			fetch_type_number(f->size[i] ? f->size[i] : 8, f->is_signed[i]);
		bool there = next_argument(&arguments, &a);
		size_t before = b->code.n;
		char name[16];
		int at = fetch_add_field(
			b, name, (size_t)snprintf(name, sizeof(name), "arg%u", i + 1), type, err);

		if (at < 0)
			return at;
		if (!there || !parse_operand(b, &a, names)) {
			/* The field stays 0: fetch_run() zeroes the fixed fields first. */
			b->code.n = before;
			continue;
		}
		if (b->code.at[b->code.n - 1].op == FETCH_NARROW && abs(a.size) == type->size)
			b->code.n--; /* the store cuts it to that width anyway */
		fetch_insn(b, (struct fetch_insn){
				      .op = FETCH_STORE, .size = type->size, .at = (uint16_t)at });
	}
	return 0;
}
