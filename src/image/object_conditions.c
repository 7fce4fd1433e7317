/* SPDX-License-Identifier: MIT */
/* Makes the text of a filter over fields t0, t1, ... and the program that fetches these: a load
 * that fails leaves 0, which may let a call through that the reader then drops. Called while a
 * process is planned (objects.c); no state. Any thread. */
#include "image/object_conditions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/filter_compile.h"
#include "follow/expression.h"
#include "image/conditions.h"
#include "model/function_list.h"

#define WORD 8u

static const char *const compares[FOLLOW_COMPARISONS_N] = {
	[FOLLOW_EQUAL] = "==", [FOLLOW_UNEQUAL] = "!=", [FOLLOW_LESS] = "<",
	[FOLLOW_LESS_EQUAL] = "<=", [FOLLOW_GREATER] = ">", [FOLLOW_GREATER_EQUAL] = ">=",
};

/* A condition under way: fields of the record, the instructions that fill them, the text. */
struct object_condition {
	struct event_field fields[CONDITION_VALUES];
	char names[CONDITION_VALUES][8];
	struct fetch_insn code[FETCH_INSNS_MAX];
	uint32_t n_fields, n;
	char *text;
};

static void add_text(struct object_condition *o, char *more)
{
	char *all = mem_printf("%s%s", o->text, more);

	free(o->text);
	free(more);
	o->text = all;
}

/* Whole numbers alone: bits of one, and masks, are left to the reader. A test that is left out only
 * weakens the condition: the reader makes all tests again. */
static bool is_expressible(const struct follow_test *t)
{
	const uint64_t all = t->field.bytes >= WORD ? UINT64_MAX
						    : (UINT64_C(1) << 8 * t->field.bytes) - 1;

	return t->field.bytes && !t->field.shift && (t->field.mask & all) == all &&
	       (t->mask & all) == all &&
	       (!t->field.sign || t->field.sign == 8 * t->field.bytes);
}

/* Beyond the end nothing is added: object_conditions_make() drops a full program, which may have
 * lost its last instructions. */
static void add_insn(struct object_condition *o, struct fetch_insn insn)
{
	if (o->n < FETCH_INSNS_MAX)
		o->code[o->n++] = insn;
}

/* Fetches the field that the test is about, and compares it. Each test has a field of 8 bytes at
 * the record's end, whatever the width of what it loads. */
static void add_test(struct object_condition *o, const struct object_argument *argument,
		     const struct follow_test *t)
{
	const struct follow_field *f = &t->field;
	const uint32_t k = o->n_fields++;
	const uint16_t at = (uint16_t)(ARGUMENTS_FIRST + WORD * k);

	for (uint32_t i = 0; i < argument->n; i++)
		add_insn(o, argument->insns[i]);
	for (uint32_t i = 0; i < f->steps; i++)
		add_insn(o, (struct fetch_insn){ .op = FETCH_LOAD, .size = WORD,
						 .value = f->offset[i] });
	add_insn(o, (struct fetch_insn){ .op = FETCH_LOAD, .size = (uint8_t)f->bytes,
					 .flags = f->sign ? FETCH_SIGNED : 0, .value = f->last });
	add_insn(o, (struct fetch_insn){ .op = FETCH_STORE, .size = WORD, .at = at });
	snprintf(o->names[k], sizeof(o->names[k]), "t%u", k);
	o->fields[k] = (struct event_field){ "long", o->names[k], at, WORD, f->sign != 0 };
	add_text(o, f->sign ? mem_printf("t%u %s %" PRId64, k, compares[t->compare],
					 (int64_t)t->value)
			    : mem_printf("t%u %s %" PRIu64, k, compares[t->compare], t->value));
}

/* All tests of one argument, joined by &&. Returns whether there is any. */
static bool add_argument_tests(struct object_condition *o, const struct object_argument *argument,
			       const struct follow_plan *plan)
{
	uint32_t tests = 0;

	for (uint32_t i = 0; i < plan->n_tests; i++) {
		if (!is_expressible(&plan->tests[i]) || o->n_fields == CONDITION_VALUES)
			continue;
		add_text(o, mem_strdup(tests++ ? " && " : *o->text ? " || (" : "("));
		add_test(o, argument, &plan->tests[i]);
	}
	if (tests)
		add_text(o, mem_strdup(")"));
	return tests;
}

/* A text that does not compile leaves no condition: all calls are recorded, and the reader
 * chooses. */
static void compile(const struct object_condition *o, struct condition *out)
{
	const struct event_format format = { "brace", "object", 0, (struct event_field *)o->fields,
					     o->n_fields, NULL };
	const struct filter_context context = { 0 };
	struct filter_fault fault;

	if (filter_compile(&format, o->text, strlen(o->text), &context, &out->filter, &fault) < 0) {
		*out = (struct condition){ 0 };
		return;
	}
	out->fetch_bytes = (uint32_t)(sizeof(*out->fetch) + o->n * sizeof(o->code[0]));
	out->fetch = mem_zalloc(out->fetch_bytes);
	out->fetch->n = (uint16_t)o->n;
	out->fetch->fixed = (uint16_t)(ARGUMENTS_FIRST + WORD * o->n_fields);
	memcpy(out->fetch->code, o->code, o->n * sizeof(o->code[0]));
}

void object_conditions_make(const struct object_argument *arguments, uint32_t n,
			    const struct follow_plan *plan, struct condition *out)
{
	struct object_condition *o = mem_zalloc(sizeof(*o));
	bool all = n > 0;

	*out = (struct condition){ 0 };
	o->text = mem_strdup("");
	/* An argument without a test passes always. */
	for (uint32_t i = 0; i < n; i++)
		all = all && add_argument_tests(o, &arguments[i], plan);
	if (all && o->n < FETCH_INSNS_MAX)
		compile(o, out);
	free(o->text);
	free(o);
}

/* nth of FOLLOW_ARGUMENTS and more: the object may be any of the arguments in registers. */
void object_conditions_by_value(uint32_t nth, uint64_t value, struct condition *out)
{
	char *text = nth < FOLLOW_ARGUMENTS ? mem_printf("arg%u == %" PRIu64, nth + 1, value)
					    : mem_strdup("");
	struct function_pattern p;

	for (uint32_t i = 0; nth >= FOLLOW_ARGUMENTS && i < FOLLOW_ARGUMENTS; i++) {
		char *more = mem_printf("%s%sarg%u == %" PRIu64, text, i ? " || " : "", i + 1, value);

		free(text);
		text = more;
	}
	p = (struct function_pattern){ .text = text, .condition = text };
	if (condition_compile(&p, "", NULL, false, out, NULL) < 0)
		*out = (struct condition){ 0 };
	free(text);
}
