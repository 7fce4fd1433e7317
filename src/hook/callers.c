/* SPDX-License-Identifier: MIT */
/* Plans the functions that have no room for a jump: their direct callers are redirected. plan.c
 * calls it on the planner's thread.
 *
 * Two steps. Any four bytes that would lead to such a function as a displacement are a candidate;
 * there are few. Then the function around them is decoded from its first byte, and the candidate
 * must be the end of an instruction in a straight line that something is known to lead to. Bytes of
 * which any doubt remains stay as they are, and the function is listed as one with callers that are
 * not seen. */
#include "hook/callers.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/aside.h"

#include "arch/insn.h"

#define FIELD HOOK_CALL_BYTES
#define LOOK_BYTES 65536 /* how often it looks whether anybody waits for the result (aside_until) */

struct caller_search {
	const struct sweep *s;
	struct hook_plan *plan;
	struct address_set wanted;    /* addresses of the functions */
	uint64_t low, high;           /* the lowest and the highest of them */
	uint32_t *unseen, *jumps; /* by function: ways to it that stay; redirected jumps to it */
	/* The state of decoding, which goes on from one candidate to the next. */
	const struct sym_function *around;
	const uint8_t *bytes;         /* at its first byte */
	uint64_t at, line; /* the instruction; the begin of the straight line before it */
	bool lost; /* the rest is not decoded: no instruction, or it may be data */
};

/* True if the bytes of the function are code for certain. */
static bool is_proven(const struct caller_search *c, const struct sym_function *f)
{
	uint16_t facts = c->s->facts[f - c->s->m->functions.at];

	return f->source <= SYM_GOPCLNTAB && !f->plt &&
	       !(facts & (FACT_READ_AS_DATA | FACT_HOLDS_DATA));
}

/* Begins to decode another function. */
static void begin_function(struct caller_search *c, const struct sym_function *f)
{
	c->around = f;
	c->at = c->line = f->vaddr;
	c->bytes = sym_bytes(c->s->m, f->vaddr, f->size);
	c->lost = !c->bytes || !is_proven(c, f);
}

/* Decodes the instruction around an address; false: nothing certain is known of it. */
static bool decode_until(struct caller_search *c, uint64_t address, struct insn *in)
{
	const struct sym_function *f = sym_around(c->s->m, address);

	if (!f)
		return false;
	if (f != c->around || address < c->at)
		begin_function(c, f);
	while (!c->lost) {
		uint64_t into = c->at - f->vaddr;

		c->lost =
			into >= f->size || !insn_decode(c->bytes + into, f->size - into, c->at, in);
		if (c->lost || c->at + in->len > address)
			break;
		c->at += in->len;
		if (in->flow == FLOW_STOP || in->flow == FLOW_JUMP ||
		    in->flow == FLOW_JUMP_INDIRECT)
			c->line = c->at;
	}
	return !c->lost;
}

static bool is_transfer(const struct insn *in)
{
	return (in->flow == FLOW_CALL || in->flow == FLOW_JUMP || in->flow == FLOW_BRANCH) &&
	       insn_has_field(in);
}

/* Looks at a candidate: the four bytes at `field` would lead to `target`. */
static void check_branch(struct caller_search *c, uint64_t field, uint64_t target)
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
		return; /* a loop to its own entry is no call */
	/* Nothing may jump into the instruction, and something must lead to the line that it stands
	 * in: else it may be data. */
	if (address_set_any(&c->s->targets, c->at + 1, c->at + in.len) ||
	    !address_set_any(&c->s->targets, c->line, c->at + 1)) {
		c->unseen[i] += in.flow == FLOW_CALL;
		return;
	}
	c->jumps[i] += in.flow != FLOW_CALL;
	*vec_add(&c->plan->calls) = (struct hook_call){ .at = field, .function = i };
}

/* Looks at every four bytes of one range of code. */
static void search_range(struct caller_search *c, const struct address_range *r)
{
	for (uint64_t i = 0; i + FIELD <= r->size; i++) {
		if (i % LOOK_BYTES == 0 && aside_is_over())
			return;
		uint64_t target;
		int32_t distance;

		memcpy(&distance, r->bytes + i, FIELD);
		target = r->vaddr + i + FIELD + (uint64_t)(int64_t)distance;
		if (target - c->low <= c->high - c->low && address_set_has(&c->wanted, target))
			check_branch(c, r->vaddr + i, target);
	}
}

static int by_function(const void *a, const void *b)
{
	const struct hook_call *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* True if data or a relocation has the function's address. */
static bool is_named_by_data(const struct sym_module *m, uint64_t vaddr)
{
	size_t n = vec_bisect(&m->code_refs, at, *at < vaddr);

	return n < m->code_refs.n && m->code_refs.at[n] == vaddr;
}

/* True if the function may be entered in ways that the search does not see: other modules can find
 * it by its name. */
static bool is_reached_otherwise(const struct caller_search *c, uint32_t i)
{
	const struct sym_module *m = c->s->m;
	const struct sym_function *f = &m->functions.at[i];
	bool library = m->e_type == ET_DYN && !m->interp;

	return c->unseen[i] || c->s->facts[i] & FACT_NAMED || is_named_by_data(m, f->vaddr) ||
	       f->source == SYM_DYNSYM || (library && f->name);
}

/* Gives each function its calls, which are sorted by function, and its kind. */
static void assign_callers(struct caller_search *c)
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

/* Jumps from other functions, as the sweep counted them, less those that are redirected. */
static void count_unseen_jumps(struct caller_search *c)
{
	for (size_t i = 0; i < c->s->tails.n; i++)
		c->unseen[c->s->tails.at[i].to]++;
	for (uint32_t i = 0; i < c->plan->n; i++)
		c->unseen[i] -= c->jumps[i] < c->unseen[i] ? c->jumps[i] : c->unseen[i];
}

void callers_plan(const struct sweep *s, const bool *led, struct hook_plan *plan)
{
	struct caller_search c = {
		.s = s, .plan = plan, .low = UINT64_MAX, .wanted = address_set_new(s->m, true)
	};

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
	assign_callers(&c);
	address_set_free(&c.wanted);
	free(c.unseen);
	free(c.jumps);
}
