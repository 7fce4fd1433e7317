/* SPDX-License-Identifier: MIT */
/* Tells a fetch program that the compiler can have made from other bytes. fetch_run() survives any
 * bytes; tests hold the compiler to fetch.h by this check. No state; cannot fail. Any thread. */
#include "shared/fetch.h"

static bool size_good(uint8_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool is_of_array(const struct fetch_insn *i)
{
	return i->op == FETCH_ARRAY || i->op == FETCH_BITS;
}

/* Bytes of the fixed fields that the instruction writes, or reads. */
static unsigned bytes_written(const struct fetch_insn *i)
{
	if (is_of_array(i))
		return (unsigned)i->size * i->count;
	if (i->op == FETCH_STORE)
		return i->size;
	if (i->op == FETCH_BLOCK)
		return i->count + 1u;
	if (i->op == FETCH_RECORD)
		return 8;
	return i->op == FETCH_STRING || i->op == FETCH_TEXT ? 4 : 0;
}

static bool insn_good(const struct fetch_program *p, const struct fetch_insn *i)
{
	unsigned writes = bytes_written(i);

	if (i->op >= FETCH_OPS || i->reg >= FETCH_REGS)
		return false;
	if ((i->op == FETCH_LOAD || i->op == FETCH_NARROW || i->op == FETCH_STORE ||
	     is_of_array(i)) &&
	    !size_good(i->size))
		return false;
	if (is_of_array(i) && (!i->count || i->count > FETCH_COUNT_MAX))
		return false;
	if (i->op == FETCH_BLOCK && (!i->count || i->count > FETCH_BLOCK_MAX))
		return false;
	if (i->op == FETCH_TEXT && i->size > 8)
		return false;
	if (i->op == FETCH_ADD_REG && i->size > 3)
		return false;
	if (i->op == FETCH_ENTRY && i->at >= FETCH_ENTRY_WORDS)
		return false;
	return !writes || (i->at >= 8 && i->at + writes <= p->fixed);
}

bool fetch_verify(const struct fetch_program *p, uint32_t bytes)
{
	if (bytes < sizeof(*p) || p->n > FETCH_INSNS_MAX ||
	    bytes != sizeof(*p) + p->n * sizeof(p->code[0]) || p->fixed < 8 ||
	    p->fixed > FETCH_RECORD_MAX)
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		if (!insn_good(p, &p->code[i]))
			return false;
	return true;
}
