/* SPDX-License-Identifier: MIT */
/* The planner: for each function the best way to hook it that its bytes allow. A function is left
 * alone whenever something about it is not understood; it is then listed with the reason. Two
 * rounds: short jumps take the padding that the first round left, and where there is none, callers
 * are redirected. module.c and the prober call it on their thread (0.1 s for 8 MB of code); it
 * reads nothing but the open module, and fails only for a file with too many functions. */
#include "hook/plan.h"

#include <errno.h>
#include <string.h>

#include "base/aside.h"

#include "arch/code.h"
#include "arch/insn.h"
#include "hook/callers.h"
#include "hook/planner.h"
#include "hook/special.h"
#include "sym/imports.h"

#define SWITCH_MAX 256 /* a switch of stacks is shorter than this; an unwinder is longer */

struct planner {
	const struct sym_module *m;
	struct hook_plan *plan;
	struct sweep_hooks fentry, mcount;
	struct sweep *sweep;
	struct padding *padding;
	enum special_runtime runtime;
};

/* A function while it is planned: its code from the place where a patch would begin. */
struct candidate {
	uint32_t i;
	const struct sym_function *f;
	struct hook_plan_entry *e;
	uint64_t at;
	const uint8_t *code;
	size_t own;       /* bytes up to the function's end */
	size_t readable;  /* bytes up to the segment's end */
};

/* --- facts that forbid a hook --- */

/* Returns why the function must not be patched at all; REASON_NONE: it may. */
static enum hook_reason forbidden_reason(const struct planner *p, uint32_t i,
					 struct special special)
{
	const struct sym_function *f = &p->m->functions.at[i];
	uint16_t facts = p->sweep->facts[i];

	if (f->cold)
		return REASON_COLD;
	/* A SYM_SWITCH is believed only if the sweep has seen it leave its stack. */
	if (!address_set_range(&p->sweep->targets, f->vaddr) || (facts & FACT_READ_AS_DATA) ||
	    (f->source == SYM_CALLED && (facts & FACT_HOLDS_DATA)) ||
	    (f->source == SYM_SWITCH && !(facts & FACT_LEAVES_STACK)))
		return REASON_NOT_CODE;
	if (special.never)
		return special.reason;
	if (p->runtime == RUNTIME_MONO_AOT)
		return REASON_RUNTIME;
	if (f->cfa_unusual && !f->name && f->vaddr != p->m->entry)
		return REASON_CONVENTION;
	return facts & FACT_READS_FLAGS ? REASON_READS_FLAGS : REASON_NONE;
}

/* Returns how the function may leave its stack. Go moves between stacks as it likes, and no return
 * is followed there; code that V8 generated restores stack pointers that it kept. */
static enum nonlocal_kind nonlocal_of(const struct planner *p, uint32_t i)
{
	const char *name = sym_name(p->m, &p->m->functions.at[i]);
	enum nonlocal_kind by_name = name ? special_nonlocal(name) : NONLOCAL_NOT;

	if (by_name || p->m->language == SYM_LANG_GO ||
	    (p->runtime && name && special_called_by_runtime(p->runtime, name)))
		return by_name;
	if (p->sweep->facts[i] & FACT_LEAVES_STACK)
		return NONLOCAL_SOMEWHERE;
	return p->sweep->facts[i] & FACT_LENDS_THREAD ? NONLOCAL_LENDING : NONLOCAL_NOT;
}

/* libc's clone tells by its arguments what it makes. Other code that has the system call does not,
 * where it is entered. */
static enum start_kind start_of(const struct planner *p, uint32_t i)
{
	const char *name = sym_name(p->m, &p->m->functions.at[i]);

	if (!(p->sweep->facts[i] & FACT_STARTS_THREADS))
		return START_NOT;
	if (name && (strcmp(name, "clone") == 0 || strcmp(name, "__clone") == 0))
		return START_BY_CLONE;
	return p->plan->starts_threads ? START_BY_HAND : START_NOT;
}

/* A switch of stacks reads its return address in order to come back there, and vfork keeps it from
 * its child: such a read does not count. An unwinder without a name may look like a switch, but is
 * bigger. */
static bool keeps_caller(const struct planner *p, uint32_t i)
{
	enum nonlocal_kind kind = nonlocal_of(p, i);

	return kind == NONLOCAL_BY_SECOND_CONTEXT ||
	       ((kind == NONLOCAL_SOMEWHERE || kind == NONLOCAL_LENDING) &&
		p->m->functions.at[i].size <= SWITCH_MAX);
}

/* --- facts that forbid following the return --- */

/* True if the function uses its return address: it would see that of a stub. */
static bool reads_caller(const struct planner *p, uint32_t i, const struct special *special)
{
	/* -finstrument-functions reads it, too, for the hook that it calls. */
	return special[i].reason == REASON_READS_CALLER ||
	       ((p->sweep->facts[i] & (FACT_READS_CALLER | FACT_MCOUNT)) == FACT_READS_CALLER &&
		!keeps_caller(p, i));
}

/* A function that jumps to a reader of the return address leaves its own there: it is a reader,
 * too. */
static void follow_tail_calls(struct planner *p, const struct special *special)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < p->sweep->tails.n; i++) {
			const struct tail_call *t = &p->sweep->tails.at[i];

			if (p->sweep->facts[t->from] & FACT_READS_CALLER ||
			    !reads_caller(p, t->to, special))
				continue;
			p->sweep->facts[t->from] |= FACT_READS_CALLER;
			more = true;
		}
	}
}

/* Returns why the function's return cannot be followed, so that only its entry is recorded;
 * REASON_NONE: it can. */
static enum hook_reason entry_only(const struct planner *p, uint32_t i,
				   const struct special *special)
{
	const struct sym_function *f = &p->m->functions.at[i];
	uint16_t facts = p->sweep->facts[i];

	if (p->m->language == SYM_LANG_GO)
		return REASON_GO;
	if (special[i].reason)
		return special[i].reason;
	if (f->cfa_unusual || f->vaddr == p->m->entry || (facts & FACT_UNUSUAL_ENTRY))
		return REASON_NO_RETURN_ADDRESS;
	if (reads_caller(p, i, special))
		return REASON_READS_CALLER;
	if (facts & FACT_RETURNS_FLAGS)
		return REASON_RETURNS_FLAGS;
	if (p->runtime && f->name && special_called_by_runtime(p->runtime, sym_name(p->m, f)))
		return REASON_RUNTIME;
	return REASON_NONE;
}

/* --- the ways to hook, best first --- */

/* True if control may arrive inside the first len bytes, behind the first one. */
static bool window_targeted(const struct planner *p, const struct candidate *c, size_t len)
{
	return address_set_any(&p->sweep->targets, c->at + 1, c->at + len);
}

/* Decides on this way to hook. */
static void decide_hook(struct candidate *c, enum hook_kind kind)
{
	c->e->kind = (uint8_t)kind;
	c->e->reason = REASON_NONE;
	c->e->patch_len = kind == HOOK_SHORT ? CODE_SHORT_JUMP_BYTES : CODE_JUMP_BYTES;
}

/* The patched instructions were made to be patched: they are not copied. */
static bool take_over(struct candidate *c, enum hook_kind kind, size_t len)
{
	c->e->recipe = (struct relocate_recipe){ .len = (uint8_t)len, .falls = true };
	decide_hook(c, kind);
	return true;
}

/* Compilers leave nops at the entry for patching, with -fpatchable-function-entry for example. */
static bool try_nops(const struct planner *p, struct candidate *c)
{
	size_t len = 0;

	while (len < CODE_JUMP_BYTES) {
		size_t n = len < c->own ? insn_nop(c->code + len, c->own - len) : 0;

		if (!n)
			return false;
		len += n;
	}
	return !window_targeted(p, c, CODE_JUMP_BYTES) && take_over(c, HOOK_NOP, len);
}

/* The call of __fentry__ (-pg -mfentry) is the function's first instruction: the jump replaces it,
 * so the compiler's hook is not called any more. */
static bool try_fentry(const struct planner *p, struct candidate *c)
{
	struct insn in;

	if (!p->fentry.functions.n && !p->fentry.slots.n)
		return false;
	if (!insn_decode(c->code, c->own, c->at, &in) || in.len < CODE_JUMP_BYTES)
		return false;
	return sweep_hooks_called(&p->fentry, &in) && !window_targeted(p, c, CODE_JUMP_BYTES) &&
	       take_over(c, HOOK_FENTRY, in.len);
}

/* XRay's library would write its own jump there. */
static bool try_xray(const struct planner *p, struct candidate *c)
{
	if (!p->m->xray || !insn_is_xray_sled(c->code, c->own))
		return false;
	return !window_targeted(p, c, CODE_JUMP_BYTES) &&
	       take_over(c, HOOK_XRAY, INSN_XRAY_SLED_BYTES);
}

/* Translates the error of relocate_scan(). */
static enum hook_reason reason_of_scan(int r)
{
	switch (r) {
	case -EILSEQ:
		return REASON_UNDECODABLE;
	case -EBUSY:
		return REASON_CALL_IN_WINDOW;
	case -ENODATA:
		return REASON_TOO_SHORT;
	default:
		return REASON_UNMOVABLE;
	}
}

/* True if the next function begins within the patch: it is entered there. */
static bool starts_within(const struct planner *p, const struct candidate *c, size_t len)
{
	size_t n = p->m->functions.n;

	return c->i + 1 < n && p->m->functions.at[c->i + 1].vaddr < c->at + len;
}

/* Scans the window for a patch of len bytes, extended into the padding behind it if need be. */
static enum hook_reason window_reason(struct planner *p, struct candidate *c, size_t len)
{
	size_t column;
	int r = relocate_scan(c->code, c->own, c->at, len, &c->e->recipe, &column);

	if (starts_within(p, c, len))
		return REASON_TOO_SHORT;
	if (window_targeted(p, c, len))
		return REASON_BRANCH_TARGET;
	if (r < 0)
		return reason_of_scan(r);
	if (c->e->recipe.len < len &&
	    !padding_extend(p->padding, c->i, c->at + c->e->recipe.len, c->at + len))
		return REASON_TOO_SHORT;
	return REASON_NONE;
}

/* Tries the common way: a jump over the first instructions, which are moved into the trampoline. */
static void try_jump(struct planner *p, struct candidate *c)
{
	c->e->reason = (uint8_t)window_reason(p, c, CODE_JUMP_BYTES);
	if (c->e->reason)
		return;
	if (c->e->recipe.len < CODE_JUMP_BYTES)
		decide_hook(c, HOOK_PADDED);
	else
		decide_hook(c, p->sweep->facts[c->i] & FACT_MCOUNT ? HOOK_MCOUNT : HOOK_JUMP);
}

/* Tries a short jump to an island: padding within its reach that holds a jump. */
static void try_short(struct planner *p, struct candidate *c)
{
	uint64_t island;

	/* Without a window of two bytes, or an island, the reason of the first try stays. */
	if (!CODE_SHORT_JUMP_BYTES || window_reason(p, c, CODE_SHORT_JUMP_BYTES) != REASON_NONE)
		return;
	island = padding_island(p->padding, c->i, c->at);
	if (!island)
		return;
	decide_hook(c, HOOK_SHORT);
	c->e->island = (int16_t)(island - c->f->vaddr);
}

/* --- rounds ---------------------------------------------------------------- */

/* Returns the place of the function's patch, and how many bytes may be looked at from there. */
static struct candidate candidate_of(const struct planner *p, uint32_t i)
{
	const struct sym_function *f = &p->m->functions.at[i];
	const struct address_range *r = address_set_range(&p->sweep->targets, f->vaddr);
	struct candidate c = { .i = i, .f = f, .e = &p->plan->entries[i], .at = f->vaddr };
	uint64_t into = f->vaddr - r->vaddr;

	c.code = r->bytes + into;
	c.readable = r->size - into;
	/* A landing pad stays in its place: indirect calls must find it (CET). */
	if (c.readable > CODE_LANDING_BYTES && f->size > CODE_LANDING_BYTES) {
		size_t pad = code_landing(c.code, CODE_LANDING_BYTES);

		c.e->patch_offset = (uint8_t)pad;
		c.at += pad;
		c.code += pad;
		c.readable -= pad;
	}
	c.own = f->vaddr + f->size - c.at;
	c.own = c.own < c.readable ? c.own : c.readable;
	return c;
}

/* Tries all ways but the short jump, best first. */
static void first_round(struct planner *p, uint32_t i, struct special special)
{
	struct hook_plan_entry *e = &p->plan->entries[i];
	struct candidate c;

	e->reason = (uint8_t)forbidden_reason(p, i, special);
	if (e->reason)
		return;
	c = candidate_of(p, i);
	if (!try_nops(p, &c) && !try_fentry(p, &c) && !try_xray(p, &c))
		try_jump(p, &c);
}

/* True if the first round failed only for want of room. */
static bool could_be_short(const struct hook_plan_entry *e)
{
	return e->kind == HOOK_NONE &&
	       (e->reason == REASON_TOO_SHORT || e->reason == REASON_BRANCH_TARGET ||
		e->reason == REASON_CALL_IN_WINDOW || e->reason == REASON_UNMOVABLE);
}

/* Counts the entry for the summary of a module. */
static void count_entry(struct hook_plan *plan, const struct hook_plan_entry *e)
{
	plan->by_kind[e->kind]++;
	if (e->kind == HOOK_NONE)
		plan->by_reason[e->reason]++;
}

/* Plans the functions again that have no room for a jump. */
static void second_round(struct planner *p)
{
	bool *led = mem_zalloc(p->plan->n + 1);
	bool any = false;

	for (uint32_t i = 0; i < p->plan->n; i++) {
		struct candidate c;

		if (!could_be_short(&p->plan->entries[i]))
			continue;
		c = candidate_of(p, i);
		try_short(p, &c);
		led[i] = p->plan->entries[i].kind == HOOK_NONE;
		any |= led[i];
	}
	if (any)
		callers_plan(p->sweep, led, p->plan);
	free(led);
}

static void plan_all(struct planner *p)
{
	uint32_t n = p->plan->n;
	struct special *special = mem_zalloc((n + 1) * sizeof(*special));

	for (uint32_t i = 0; i < n && !aside_is_over(); i++) {
		const char *name = sym_name(p->m, &p->m->functions.at[i]);

		p->plan->entries[i].vaddr = p->m->functions.at[i].vaddr;
		p->plan->entries[i].function = i;
		if (name)
			special[i] = special_function(name);
		first_round(p, i, special[i]);
	}
	/* Needs special[] of all functions; entry_only() needs what it finds. */
	follow_tail_calls(p, special);
	second_round(p);
	for (uint32_t i = 0; i < n; i++) {
		struct hook_plan_entry *e = &p->plan->entries[i];

		if (e->kind != HOOK_NONE)
			e->reason = (uint8_t)entry_only(p, i, special);
		else
			e->recipe = (struct relocate_recipe){ 0 };
		e->entry_only = e->kind != HOOK_NONE && e->reason != REASON_NONE;
		e->leaves = e->kind != HOOK_NONE ? (uint8_t)nonlocal_of(p, i) : NONLOCAL_NOT;
		e->starts = (uint8_t)start_of(p, i);
		if (e->starts && e->leaves == NONLOCAL_NOT && e->kind != HOOK_NONE)
			e->leaves = NONLOCAL_LENDING;
		count_entry(p->plan, e);
	}
	free(special);
}

/* Finds the functions (PLT entries, too) and GOT slots that lead to compilers' entry hooks. */
static void find_hooks(struct planner *p)
{
	static const char *const names[] = { "__fentry__", "mcount", "_mcount",
					     "__cyg_profile_func_enter" };
	struct sym_imports imports = { 0 };

	for (size_t i = 0; i < p->m->functions.n; i++) {
		const char *name = sym_name(p->m, &p->m->functions.at[i]);

		for (size_t k = 0; name && k < sizeof(names) / sizeof(*names); k++)
			if (strcmp(name, names[k]) == 0)
				*vec_add(k ? &p->mcount.functions : &p->fentry.functions) =
					p->m->functions.at[i].vaddr;
	}
	sym_imports_find(p->m, names, sizeof(names) / sizeof(*names), &imports);
	for (size_t i = 0; i < imports.at.n; i++)
		*vec_add(imports.at.at[i].name ? &p->mcount.slots : &p->fentry.slots) =
			imports.at.at[i].slot;
	vec_free(&imports.at);
}

/* True if the module starts threads itself, or makes libc's clone do it; threads of
 * pthread_create() have thread pointers. A static program has libc's clone in it, which does not
 * count. */
static bool starts_threads(const struct planner *p)
{
	static const char *const names[] = { "clone", "__clone" };
	struct sym_imports imports = { 0 };
	bool starts, knows = false;

	sym_imports_find(p->m, names, sizeof(names) / sizeof(*names), &imports);
	starts = imports.at.n > 0;
	vec_free(&imports.at);
	for (size_t i = 0; i < p->m->functions.n && !knows; i++) {
		const struct sym_function *f = &p->m->functions.at[i];
		const char *name = sym_name(p->m, f);

		starts |= !!(p->sweep->facts[i] & FACT_STARTS_THREADS);
		knows = name && !f->plt && special_starts_threads(name);
	}
	return starts && !knows && (p->m->interp || p->m->needed.n);
}

static void free_hooks(struct sweep_hooks *h)
{
	vec_free(&h->functions);
	vec_free(&h->slots);
}

int hook_plan_keeping(const struct sym_module *m, struct hook_plan **out, struct sweep *sweep,
		      struct padding *padding, struct err *err)
{
	struct planner p = { .m = m, .plan = mem_zalloc(sizeof(*p.plan)) };

	if (m->functions.n > UINT32_MAX / 2) {
		free(p.plan);
		return err_set(err, E2BIG, "%s has too many functions", m->path);
	}
	p.plan->n = (uint32_t)m->functions.n;
	p.plan->entries = mem_zalloc((p.plan->n + 1) * sizeof(*p.plan->entries));
	p.runtime = special_runtime(m);
	find_hooks(&p);
	p.sweep = sweep;
	p.padding = padding;
	sweep_run(m, &p.mcount, sweep);
	padding_init(sweep, padding);
	p.plan->starts_threads = starts_threads(&p);
	plan_all(&p);
	free_hooks(&p.fentry);
	free_hooks(&p.mcount);
	if (aside_is_over()) {
		/* Parts of the plan were left out. */
		hook_plan_free(p.plan);
		padding_free(padding);
		sweep_free(sweep);
		return err_set(err, ECANCELED, "interrupted while %s was planned", m->path);
	}
	*out = p.plan;
	return 0;
}

int hook_plan(const struct sym_module *m, struct hook_plan **out, struct err *err)
{
	struct sweep sweep;
	struct padding padding;
	int r = hook_plan_keeping(m, out, &sweep, &padding, err);

	if (r < 0)
		return r;
	padding_free(&padding);
	sweep_free(&sweep);
	return 0;
}

void hook_plan_free(struct hook_plan *p)
{
	if (!p)
		return;
	vec_free(&p->calls);
	free(p->entries);
	free(p);
}
