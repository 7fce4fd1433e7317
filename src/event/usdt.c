/* SPDX-License-Identifier: MIT */
/* Compiles the arguments of USDT markers, SIZE@OPERAND each, to fetch programs; a negative size
 * means a signed value. The operand is in the words of the machine's assembler (arch/operand.h).
 * The text is a file's, so it is not trusted. image/probes.c calls it for each site. An operand
 * that cannot be fetched is 0. Any thread. */
#include "event/usdt.h"

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

/* --- programs ------------------------------------------------------------------------------- */

/* Fetches the number, as wide as the argument. */
static bool add_operand(struct fetch_build *b, const struct argument *a,
			const struct operand_names *names)
{
	struct operand_code code;

	if (!a->size || !operand_read(a->operand, a->n, (uint8_t)abs(a->size), a->size < 0, names,
				      &code))
		return false;
	for (unsigned i = 0; i < code.n; i++)
		fetch_insn(b, code.at[i]);
	return true;
}

/* The fields are those of all sites together, because an event has one layout of records. */
int usdt_build(struct fetch_build *b, const struct usdt_fields *f, const char *arguments,
	       const struct operand_names *names, struct err *err)
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
		if (!there || !add_operand(b, &a, names)) {
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
