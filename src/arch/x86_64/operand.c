/* SPDX-License-Identifier: MIT */
/* arch/operand.h for x86-64, in AT&T syntax. Compilers write any operand that an instruction may
 * have: $5, %edi, %ah, -16(%rbp), (%rax,%rbx,8), 44+CheckpointStats(%rip), table(,%rcx,4). Called
 * by event/usdt.c for each site of a marker. Any thread. An operand that is none of these is
 * refused. */
#include "arch/operand.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "arch/reg_names.h"
#include "shared/probe.h"

/* There is room: no operand takes more than OPERAND_INSNS. */
static void add_insn(struct operand_code *out, struct fetch_insn i)
{
	out->at[out->n++] = i;
}

/* The text that is left of the operand, as the assembler wrote it into the note; `names` finds
 * objects by their symbols. */
struct operand { const char *at, *end; const struct operand_names *names; };

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
static bool parse_memory(struct operand_code *out, struct operand *o, uint64_t *sum)
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
	add_insn(out, begin);
	if (index.op != FETCH_OPS)
		add_insn(out, index);
	if (moves)
		add_insn(out, (struct fetch_insn){ .op = FETCH_BASE });
	return true;
}

/* %ah is bits 8 to 15 of register 0: the code shifts first, and narrows then. */
static bool in_register(struct operand_code *out, const struct operand *o)
{
	unsigned shift;
	int r = reg_names_assembler(o->at + 1, (size_t)(o->end - o->at - 1), &shift);

	if (r < 0 || r >= (int)FETCH_FLAGS_REG)
		return false;
	add_insn(out, (struct fetch_insn){ .op = FETCH_REG, .reg = (uint8_t)r });
	if (shift)
		add_insn(out, (struct fetch_insn){ .op = FETCH_SHIFT, .value = shift });
	return true;
}

/* Compiles $5, or $table: the address of an object. */
static bool parse_immediate(struct operand_code *out, struct operand *o)
{
	bool named = false;
	uint64_t value;

	o->at++;
	if (!parse_displacement(o, &value, &named) || o->at < o->end)
		return false;
	add_insn(out, (struct fetch_insn){ .op = FETCH_IMM, .value = (int64_t)value });
	if (named)
		add_insn(out, (struct fetch_insn){ .op = FETCH_BASE });
	return true;
}

bool operand_read(const char *text, size_t n, uint8_t size, bool is_signed,
		  const struct operand_names *names, struct operand_code *out)
{
	struct operand o = { text, text + n, names };
	struct fetch_insn last = { .op = FETCH_NARROW, .size = size,
				   .flags = is_signed ? FETCH_SIGNED : 0 };
	uint64_t sum;

	out->n = 0;
	if (!n || (*text == '%' && memchr(text, ':', n)))
		return false; /* %fs:8 */
	if (*text == '%'   ? !in_register(out, &o)
	    : *text == '$' ? !parse_immediate(out, &o)
			   : !parse_memory(out, &o, &sum))
		return false;
	if (*text != '%' && *text != '$') {
		last.op = FETCH_LOAD;
		last.value = (int64_t)sum;
	}
	add_insn(out, last);
	return true;
}
