/* SPDX-License-Identifier: MIT */
/* Walks a function and its cold fragments from their begins to their ends. image/probes.c asks, on
 * a planner's thread; the prober is the caller's. What cannot be followed is a bar, no error. */
#include "hook/returns.h"

#include <stdlib.h>

#include "arch/insn.h"

#define PARTS_MAX 16u

const char *const return_bar_texts[RETURN_BARS_N] = {
#define X(id, text) text,
	RETURN_BARS(X)
#undef X
};

struct return_walk {
	struct hook_prober *p;
	const struct sym_module *m;
	const struct sym_function *parts[PARTS_MAX]; /* the function, then its cold fragments */
	unsigned n;
	struct hook_returns *out;
};

/* The first bar is kept: it is the one that is told. */
static void set_bar(struct return_walk *w, enum return_bar bar, uint64_t where)
{
	if (w->out->bar)
		return;
	w->out->bar = bar;
	w->out->where = where;
}

static bool lies_in(const struct sym_function *f, uint64_t vaddr)
{
	return vaddr - f->vaddr < f->size;
}

/* Follows a jump: into a part, or into a cold fragment, which becomes one. Anything else leaves. */
static void follow_jump(struct return_walk *w, uint64_t at, uint64_t target)
{
	const struct sym_function *f;

	for (unsigned i = 0; i < w->n; i++)
		if (lies_in(w->parts[i], target))
			return;
	f = sym_around(w->m, target);
	if (f && f->cold && w->n < PARTS_MAX)
		w->parts[w->n++] = f;
	else
		set_bar(w, RETURN_BAR_TAIL_CALL, at);
}

/* Notes a return and its plan; a return without room for a probe bars the whole function. */
static void add_return(struct return_walk *w, uint64_t at)
{
	const struct hook_probe *plan = hook_probe_plan(w->p, at);

	if (plan->kind == HOOK_NONE) {
		set_bar(w, RETURN_BAR_WINDOW, at);
		w->out->reason = plan->reason ? plan->reason : REASON_NOT_CODE;
	}
	*vec_add(&w->out->at) = plan;
}

/* Calls go on behind themselves. A jump to a computed place may lead to a return that nobody
 * sees. */
static void walk_insn(struct return_walk *w, uint64_t at, const struct insn *in)
{
	switch (in->flow) {
	case FLOW_BRANCH:
	case FLOW_JUMP: follow_jump(w, at, in->target); break;
	case FLOW_JUMP_INDIRECT: set_bar(w, RETURN_BAR_COMPUTED, at); break;
	case FLOW_STOP:
		if (insn_is_return(in))
			add_return(w, at);
		break;
	default: break;
	}
}

/* Decodes a part from its begin to its end; bytes that do not decode, such as data between
 * instructions, are a bar. */
static void walk_part(struct return_walk *w, const struct sym_function *f)
{
	const uint8_t *bytes = sym_bytes(w->m, f->vaddr, f->size);
	struct insn in;

	for (uint64_t at = 0; at < f->size && !w->out->bar; at += in.len) {
		if (!bytes || !insn_decode(bytes + at, f->size - at, f->vaddr + at, &in)) {
			set_bar(w, RETURN_BAR_UNDECODABLE, f->vaddr + at);
			break;
		}
		walk_insn(w, f->vaddr + at, &in);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct hook_probe *x = *(const struct hook_probe *const *)a,
				*y = *(const struct hook_probe *const *)b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Windows may share bytes only if one jump serves both, which never is so of two returns. */
static void check_overlaps(struct return_walk *w)
{
	struct hook_returns *out = w->out;

	for (size_t i = 1; i < out->at.n; i++)
		if (hook_probes_overlap(out->at.at[i - 1], out->at.at[i]))
			set_bar(w, RETURN_BAR_OVERLAP, out->at.at[i]->vaddr);
}

void hook_returns_find(struct hook_prober *p, uint64_t vaddr, struct hook_returns *out)
{
	struct return_walk w = { .p = p, .m = hook_prober_module(p), .out = out };
	const struct sym_function *f = sym_at(w.m, vaddr);

	*out = (struct hook_returns){ 0 };
	if (!f || f->cold || f->plt) {
		set_bar(&w, RETURN_BAR_NO_FUNCTION, 0);
		return;
	}
	w.parts[w.n++] = f;
	/* Parts are added while they are walked. */
	for (unsigned i = 0; i < w.n && !out->bar; i++)
		walk_part(&w, w.parts[i]);
	if (!out->bar && !out->at.n)
		set_bar(&w, RETURN_BAR_NEVER, 0);
	if (out->at.n)
		qsort(out->at.at, out->at.n, sizeof(out->at.at[0]), by_address);
	check_overlaps(&w);
	/* A function with a bar gets no probe, not even at the returns that were found. */
	if (out->bar)
		vec_free(&out->at);
}

void hook_returns_free(struct hook_returns *r)
{
	vec_free(&r->at);
}
