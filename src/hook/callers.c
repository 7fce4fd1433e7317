/* SPDX-License-Identifier: MIT */
/* Two steps. Any four bytes that would lead to such a function as a displacement are a candidate: those are few. Then the
 * function around is decoded from its first byte, and the candidate must be the end of an instruction in a straight line that
 * something is known to lead to. Bytes of which any doubt remains stay as they are, and the function is listed as one that is
 * not seen from everywhere. */
#include "hook/callers.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/insn.h"

#define FIELD HOOK_CALL_BYTES

struct search {
	const struct sweep *s;
	struct hook_plan *plan;
	struct address_set wanted;    /* the functions' addresses */
	uint64_t low, high;           /* of the first and the last of them */
	uint32_t *unseen, *jumps;     /* by function: ways to it that stay; jumps to it that are led */
	/* where decoding stands: `around` from its first byte on. */
	const struct sym_function *around;
	const uint8_t *bytes;         /* at its first byte */
	uint64_t at, line;            /* the instruction; where the straight line before it begins */
	bool lost;                    /* what follows is no instruction, or may be data */
};

static bool is_proven(const struct search *c, const struct sym_function *f)
{
	uint16_t facts = c->s->facts[f - c->s->m->functions.at];

	return f->source <= SYM_GOPCLNTAB && !f->plt && !(facts & (FACT_READ_AS_DATA | FACT_HOLDS_DATA));
}

static void begin_function(struct search *c, const struct sym_function *f)
{
	c->around = f;
	c->at = c->line = f->vaddr;
	c->bytes = sym_bytes(c->s->m, f->vaddr, f->size);
	c->lost = !c->bytes || !is_proven(c, f);
}

/* The instruction around an address; false: nothing certain is known of it. */
static bool decode_until(struct search *c, uint64_t address, struct insn *in)
{
	const struct sym_function *f = sym_around(c->s->m, address);

	if (!f)
		return false;
	if (f != c->around || address < c->at)
		begin_function(c, f);
	while (!c->lost) {
		uint64_t into = c->at - f->vaddr;

		c->lost = into >= f->size || !insn_decode(c->bytes + into, f->size - into, c->at, in);
		if (c->lost || c->at + in->len > address)
			break;
		c->at += in->len;
		if (in->flow == FLOW_STOP || in->flow == FLOW_JUMP || in->flow == FLOW_JUMP_INDIRECT)
			c->line = c->at;
	}
	return !c->lost;
}

/* A jump of two bytes has no room for more; a prefix cuts the target on some processors. */
static bool is_transfer(const struct insn *in)
{
	return (in->flow == FLOW_CALL || in->flow == FLOW_JUMP || in->flow == FLOW_BRANCH) && in->len > FIELD &&
	       !(in->prefixes & PREFIX_66);
}

static void look_at(struct search *c, uint64_t field, uint64_t target)
{
	struct insn in;
	bool certain = decode_until(c, field, &in);
	uint32_t i = (uint32_t)(sym_at(c->s->m, target) - c->s->m->functions.at);
	bool own;

	if (!certain) {
		c->unseen[i]++;
		return;
	}
	if (c->at + in.len != field + FIELD || in.target != target || !is_transfer(&in))
		return;
	own = c->around == &c->s->m->functions.at[i];
	if (own && in.flow != FLOW_CALL)
		return; /* a loop */
	if (address_set_any(&c->s->targets, c->at + 1, c->at + in.len) ||
	    !address_set_any(&c->s->targets, c->line, c->at + 1)) {
		c->unseen[i] += in.flow == FLOW_CALL;
		return;
	}
	c->jumps[i] += in.flow != FLOW_CALL;
	*vec_add(&c->plan->calls) = (struct hook_call){ .at = field, .function = i };
}

static void search_range(struct search *c, const struct address_range *r)
{
	for (uint64_t i = 0; i + FIELD <= r->size; i++) {
		uint64_t target;
		int32_t distance;

		memcpy(&distance, r->bytes + i, FIELD);
		target = r->vaddr + i + FIELD + (uint64_t)(int64_t)distance;
		if (target - c->low <= c->high - c->low && address_set_has(&c->wanted, target))
			look_at(c, r->vaddr + i, target);
	}
}

static int by_function(const void *a, const void *b)
{
	const struct hook_call *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool is_named_by_data(const struct sym_module *m, uint64_t vaddr)
{
	size_t n = vec_bisect(&m->code_refs, at, *at < vaddr);

	return n < m->code_refs.n && m->code_refs.at[n] == vaddr;
}

/* Others may find a library's functions by their names. */
static bool is_reached_otherwise(const struct search *c, uint32_t i)
{
	const struct sym_module *m = c->s->m;
	const struct sym_function *f = &m->functions.at[i];
	bool library = m->e_type == ET_DYN && !m->interp;

	return c->unseen[i] || c->s->facts[i] & FACT_NAMED || is_named_by_data(m, f->vaddr) || f->source == SYM_DYNSYM ||
	       (library && f->name);
}

static void settle(struct search *c)
{
	struct hook_plan *p = c->plan;

	if (p->calls.n)
		qsort(p->calls.at, p->calls.n, sizeof(p->calls.at[0]), by_function);
	for (uint32_t k = 0, n; k < p->calls.n; k += n) {
		uint32_t i = p->calls.at[k].function;
		struct hook_plan_entry *e = &p->entries[i];

		for (n = 1; k + n < p->calls.n && p->calls.at[k + n].function == i; n++)
			;
		e->first_call = k;
		e->n_calls = n;
		e->kind = is_reached_otherwise(c, i) ? HOOK_SOME_CALLERS : HOOK_CALLERS;
		e->reason = REASON_NONE;
		e->patch_len = e->patch_offset = 0;
		e->recipe = (struct relocate_recipe){ .falls = true };
	}
}

/* Jumps from other functions, of which not all are led. */
static void count_unseen_jumps(struct search *c)
{
	for (size_t i = 0; i < c->s->tails.n; i++)
		c->unseen[c->s->tails.at[i].to]++;
	for (uint32_t i = 0; i < c->plan->n; i++)
		c->unseen[i] -= c->jumps[i] < c->unseen[i] ? c->jumps[i] : c->unseen[i];
}

void callers_plan(const struct sweep *s, const bool *led, struct hook_plan *plan)
{
	struct search c = { .s = s, .plan = plan, .low = UINT64_MAX, .wanted = address_set_new(s->m, true) };

	c.unseen = mem_zalloc((plan->n + 1) * sizeof(*c.unseen));
	c.jumps = mem_zalloc((plan->n + 1) * sizeof(*c.jumps));
	for (uint32_t i = 0; i < plan->n; i++) {
		uint64_t vaddr = plan->entries[i].vaddr;

		if (!led[i])
			continue;
		address_set_add(&c.wanted, vaddr);
		c.low = vaddr < c.low ? vaddr : c.low;
		c.high = vaddr;
	}
	for (size_t i = 0; i < s->targets.ranges.n; i++)
		search_range(&c, &s->targets.ranges.at[i]);
	count_unseen_jumps(&c);
	settle(&c);
	address_set_free(&c.wanted);
	free(c.unseen);
	free(c.jumps);
}
