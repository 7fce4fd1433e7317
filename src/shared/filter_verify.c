/* SPDX-License-Identifier: MIT */
/* Tells a filter program that the compiler can have made from bytes that only look like one.
 * filter_run() survives any bytes; tests hold the compiler to filter.h by this check. No state;
 * cannot fail. Any thread. */
#include "shared/filter.h"

/* Resources that an instruction of each kind uses. */
static const struct {
	uint8_t field;    /* bytes of the record it loads at offset; 0: none; 255: `size` of them */
	uint8_t compares; /* how many comparisons it may have */
	bool data;        /* a pattern or a mask */
	uint16_t needs;
} tests[FILTER_TESTS] = {
	[FILTER_NUMBER] = { 255, FILTER_COMPARES, false, 0 },
	[FILTER_FUNCTION] = { 8, FILTER_NE + 1, false, FILTER_NEEDS_RESOLVE },
	[FILTER_STRING] = { 0, FILTER_MATCHES, true, 0 },
	[FILTER_DYNAMIC] = { 4, FILTER_MATCHES, true, 0 },
	[FILTER_RELATIVE] = { 4, FILTER_MATCHES, true, 0 },
	[FILTER_POINTER] = { 8, FILTER_MATCHES, true, FILTER_NEEDS_FETCH },
	[FILTER_COMM] = { 0, FILTER_MATCHES, true, FILTER_NEEDS_COMM },
	[FILTER_CPU] = { 0, FILTER_COMPARES, false, FILTER_NEEDS_CPU },
	[FILTER_CPU_IN] = { 0, FILTER_COMPARES, true, FILTER_NEEDS_CPU },
	[FILTER_NUMBER_IN] = { 255, FILTER_COMPARES, true, 0 },
	[FILTER_CPUS] = { 4, FILTER_COMPARES, true, 0 },
};

static bool size_good(uint8_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* True if the bytes of the record that the instruction uses lie within the fixed fields. */
static bool field_good(const struct filter_insn *i, uint32_t record_bytes)
{
	uint32_t size = tests[i->test].field == 255 ? i->size : tests[i->test].field;

	if (i->test == FILTER_STRING)
		size = i->room;
	if (tests[i->test].field == 255 && !size_good(i->size))
		return false;
	return i->offset + size <= record_bytes;
}

static bool insn_good(const struct filter_program *p, uint32_t at, uint32_t record_bytes)
{
	const struct filter_insn *i = &p->at[at];
	uint32_t begin = sizeof(*p) + p->n * (uint32_t)sizeof(*i);

	if (i->test >= FILTER_TESTS || i->target <= at || i->target > p->n + 1)
		return false;
	if (i->test == FILTER_NEVER)
		return true;
	if (i->compare >= tests[i->test].compares ||
	    (p->needs & tests[i->test].needs) != tests[i->test].needs)
		return false;
	if (tests[i->test].data &&
	    (i->data < begin || i->data > p->bytes || i->length > p->bytes - i->data))
		return false;
	return field_good(i, record_bytes);
}

bool filter_verify(const void *program, uint32_t bytes, uint32_t record_bytes)
{
	const struct filter_program *p = program;

	if (bytes < sizeof(*p) || p->magic != FILTER_MAGIC || p->bytes != bytes ||
	    bytes > FILTER_BYTES_MAX || bytes % 8 || (p->code && 8u * p->code >= bytes) || !p->n ||
	    p->n > FILTER_INSNS_MAX || p->n > (bytes - sizeof(*p)) / sizeof(p->at[0]))
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		if (!insn_good(p, i, record_bytes))
			return false;
	return true;
}
