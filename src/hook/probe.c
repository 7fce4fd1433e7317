/* SPDX-License-Identifier: MIT */
/* Plans probes at any instruction. image/probes.c and syscalls.c ask, on a planner's thread; a
 * prober belongs to one thread. A probe that cannot be is a result with its reason, no error.
 *
 * At a function's entry every caller arrives at the first byte. In its middle nothing is known but
 * what the sweep over the module has seen, so these rules are stricter: the instructions are
 * counted from the function's begin, and a function with a jump to an address computed from its own
 * addresses is not probed at all. */
#include "hook/probe.h"

#include <errno.h>
#include <string.h>

#include "arch/code.h"
#include "arch/insn.h"
#include "arch/page.h"
#include "hook/planner.h"
#include "hook/special.h"

#define LEAD_MAX 16u /* bytes before the probed instruction that a window may begin at */
#define LEAD_INSNS 6

/* A probe that has been planned: the same question gets the same answer, and padding is taken
 * once. */
struct known { struct hook_probe probe; uint64_t from, to; };
typedef VEC(struct known *) probe_list;

struct hook_prober {
	const struct sym_module *m;
	struct sym_module *own; /* the module if it is the prober's own, to be closed; or NULL */
	struct hook_plan *plan;
	struct sweep sweep;
	struct padding padding;
	probe_list known;
};

/* One question: the place, and what is known around it. */
struct spot {
	struct hook_prober *p;
	struct hook_probe *out;
	uint32_t i;                   /* index of the function around it */
	const struct sym_function *f;
	const struct address_range *r;
	/* Addresses of the instruction itself and of those before it, nearest first. */
	uint64_t starts[LEAD_INSNS + 1];
	size_t n;
	uint64_t from, to;            /* bounds of a window; 0, UINT64_MAX: none */
	bool computed;                /* the function jumps to addresses that it computes */
};

static const uint8_t *insn_at(const struct spot *s, uint64_t vaddr)
{
	return s->r->bytes + (vaddr - s->r->vaddr);
}

/* A function's size may reach over its section's end: the bytes there are not code. */
static uint64_t function_end(const struct spot *s)
{
	uint64_t end = s->f->vaddr + s->f->size, limit = s->r->vaddr + s->r->size;

	return end < limit ? end : limit;
}

/* --- the function around -------------------------------------------------------------------- */

/* A lea of an address in the function: the base of a table, or a computed label. */
static bool is_own_address(const struct spot *s, const struct insn *in)
{
	return in->relative && insn_takes_address(in) && in->target > s->f->vaddr &&
	       in->target < s->f->vaddr + s->f->size;
}

/* Keeps the last LEAD_INSNS + 1 instructions' addresses, the newest first. */
static void remember_insn(struct spot *s, uint64_t vaddr)
{
	memmove(&s->starts[1], &s->starts[0], LEAD_INSNS * sizeof(s->starts[0]));
	s->starts[0] = vaddr;
	s->n += s->n <= LEAD_INSNS;
}

/* Decodes the function from its begin; false if no instruction begins at `vaddr`. */
static bool walk_function(struct spot *s, uint64_t vaddr)
{
	bool jumps = false, own = false, found = false;
	uint64_t end = function_end(s);
	struct insn in;

	for (uint64_t here = s->f->vaddr; here < end; here += in.len) {
		if (here <= vaddr)
			remember_insn(s, here);
		found |= here == vaddr;
		if (!insn_decode(insn_at(s, here), end - here, here, &in)) {
			/* Not an instruction: those before it may not lead to `vaddr`, and are
			 * forgotten. */
			in.len = 1;
			s->n = here < vaddr ? 0 : s->n;
			continue;
		}
		jumps |= in.flow == FLOW_JUMP_INDIRECT;
		own |= is_own_address(s, &in);
	}
	s->computed = jumps && own;
	return found;
}

/* Finds the function around the address, and what forbids any probe there; REASON_NONE: nothing
 * does. */
static enum hook_reason find_insn(struct spot *s, uint64_t vaddr)
{
	const struct sym_function *f = sym_around(s->p->m, vaddr);
	const char *name = f ? sym_name(s->p->m, f) : NULL;
	const struct hook_plan_entry *e;
	struct special special = { 0 };

	if (!f || f->plt)
		return REASON_NOT_CODE;
	s->f = f;
	s->i = (uint32_t)(f - s->p->m->functions.at);
	s->r = address_set_range(&s->p->sweep.targets, vaddr);
	e = &s->p->plan->entries[s->i];
	if (!s->r || e->reason == REASON_NOT_CODE)
		return REASON_NOT_CODE;
	if (name)
		special = special_function(name);
	if (special.never && special.reason == REASON_RUNTIME)
		return REASON_RUNTIME;
	if (s->p->m->language == SYM_LANG_GO)
		return REASON_GO;
	if (!walk_function(s, vaddr))
		return REASON_UNDECODABLE;
	return s->computed ? REASON_BRANCH_TARGET : REASON_NONE;
}

/* --- windows -------------------------------------------------------------------------------- */

/* Translates the error of relocate_scan(). */
static enum hook_reason reason_of_scan(int r)
{
	return r == -EILSEQ ? REASON_UNDECODABLE : r == -EBUSY ? REASON_CALL_IN_WINDOW :
	       r == -ENODATA ? REASON_TOO_SHORT : REASON_UNMOVABLE;
}

/* True if the next function begins before `to`: it may be entered by a call. */
static bool starts_within(const struct spot *s, uint64_t to)
{
	return s->i + 1 < s->p->m->functions.n && s->p->m->functions.at[s->i + 1].vaddr < to;
}

/* Scans the lead: instructions before the probed one, that lead to it and nowhere else. */
static bool scan_lead(struct spot *s, uint64_t from, struct hook_probe *out)
{
	size_t column;

	out->lead = (struct relocate_recipe){ .falls = true };
	if (from == out->vaddr)
		return true;
	if (relocate_scan(insn_at(s, from), out->vaddr - from, from, out->vaddr - from, &out->lead,
			  &column) < 0)
		return false;
	/* A call returns into the window, whose bytes are changed. */
	for (unsigned i = 0; i < out->lead.n; i++)
		if (relocate_is_call(&out->lead.insn[i]))
			return false;
	return out->lead.falls && out->lead.len == out->vaddr - from;
}

/* Scans the probed instruction and those after it. */
static int scan_rest(struct spot *s, size_t want, struct hook_probe *out)
{
	size_t column;

	out->rest = (struct relocate_recipe){ .falls = true };
	if (out->vaddr == s->to) /* nothing: the instruction at the bound stays where it is */
		return want ? -ENODATA : 0;
	return relocate_scan(insn_at(s, out->vaddr), function_end(s) - out->vaddr, out->vaddr, want,
			     &out->rest, &column);
}

/* True if the window would cover instructions that the caller of hook_probe_within() excludes. */
static bool leaves_bounds(const struct spot *s, uint64_t from, uint64_t end)
{
	return from < s->from || end > s->to;
}

/* Plans a window with a patch of `len` bytes at `from`. */
static enum hook_reason window_fits(struct spot *s, uint64_t from, uint8_t len)
{
	struct hook_probe *out = s->out;
	uint64_t to = from + len > out->vaddr + 1 ? from + len : out->vaddr + 1;
	size_t want = from + len > out->vaddr ? from + len - out->vaddr : 0;
	int r = scan_rest(s, want, out);

	if (r == 0 && s->to != UINT64_MAX)
		to = s->to + 1; /* control that arrives after the window has passed the probe by */
	if (starts_within(s, to))
		return REASON_TOO_SHORT;
	if (address_set_any(&s->p->sweep.targets, from + 1, to))
		return REASON_BRANCH_TARGET;
	if (r < 0)
		return reason_of_scan(r);
	if (leaves_bounds(s, from, out->vaddr + (out->rest.len > want ? out->rest.len : want)))
		return REASON_TOO_SHORT;
	if (!scan_lead(s, from, out))
		return REASON_UNMOVABLE;
	out->before = (uint8_t)(out->vaddr - from);
	out->patch_len = len;
	out->len = (uint8_t)(out->before + (out->rest.len > want ? out->rest.len : want));
	if (out->len > HOOK_WINDOW_MAX)
		return REASON_UNMOVABLE;
	if (out->rest.len < want &&
	    !padding_extend(&s->p->padding, s->i, out->vaddr + out->rest.len, from + len))
		return REASON_TOO_SHORT;
	return REASON_NONE;
}

/* True if the bytes lie on two pages. */
static bool crosses_page(uint64_t from, unsigned len)
{
	return from / ARCH_PAGE != (from + len - 1) / ARCH_PAGE;
}

/* Returns the lowest begin of a window: after the instructions that belong to the function's entry
 * hook. */
static uint64_t lowest_insn(const struct spot *s)
{
	const struct hook_plan_entry *e = &s->p->plan->entries[s->i];
	uint64_t patch = e->vaddr + e->patch_offset;
	unsigned len = e->recipe.len > e->patch_len ? e->recipe.len : e->patch_len;

	return e->kind != HOOK_NONE && s->out->vaddr >= patch + len ? patch + len : s->f->vaddr;
}

/* Decides on this window, and keeps the bytes that the patch expects there. */
static bool take_window(struct spot *s, uint64_t from, enum hook_kind kind)
{
	struct hook_probe *out = s->out;
	bool padded = out->rest.len + out->before < out->patch_len;

	out->kind = (uint8_t)(kind == HOOK_JUMP && padded ? HOOK_PADDED : kind);
	out->reason = REASON_NONE;
	memcpy(out->bytes, insn_at(s, from), out->len);
	return true;
}

/* Tries a jump at `from`. The reason that counts is that of the probed instruction
 * itself. */
static bool try_from(struct spot *s, uint64_t from, bool crossing)
{
	enum hook_reason reason;

	/* Bytes on two pages cannot be changed at once in a running process. */
	if (crosses_page(from, CODE_JUMP_BYTES) != crossing)
		return false;
	reason = window_fits(s, from, CODE_JUMP_BYTES);
	if (from == s->out->vaddr && reason)
		s->out->reason = (uint8_t)reason;
	return !reason && take_window(s, from, HOOK_JUMP);
}

/* Tries a short jump to an island. Neither patch may lie on two pages. */
static bool try_short(struct spot *s, uint64_t from)
{
	uint64_t island;

	if (!CODE_SHORT_JUMP_BYTES || crosses_page(from, CODE_SHORT_JUMP_BYTES) ||
	    window_fits(s, from, CODE_SHORT_JUMP_BYTES))
		return false;
	island = padding_island(&s->p->padding, s->i, from);
	if (!island || crosses_page(island, CODE_JUMP_BYTES))
		return false;
	s->out->island = (int16_t)(island - from);
	memcpy(s->out->island_bytes, insn_at(s, island), sizeof(s->out->island_bytes));
	return take_window(s, from, HOOK_SHORT);
}

/* First the instruction itself, then those before it. One page is better than two, and a jump
 * better than an island. */
static bool try_all(struct spot *s)
{
	size_t n = 0;

	while (n < s->n && s->starts[n] >= lowest_insn(s) &&
	       s->out->vaddr - s->starts[n] <= LEAD_MAX)
		n++;
	for (size_t k = 0; k < 2 * n; k++)
		if (try_from(s, s->starts[k % n], k >= n))
			return true;
	for (size_t k = 0; k < n; k++)
		if (try_short(s, s->starts[k]))
			return true;
	return false;
}

/* --- beside functions' entries -------------------------------------------------------------- */

/* Notes whether the window shares bytes with the function's entry hook. If both begin at the same
 * instruction, both can be had. */
static void meet_entry(struct spot *s)
{
	const struct hook_plan_entry *e = &s->p->plan->entries[s->i];
	struct hook_probe *out = s->out;
	uint64_t patch = e->vaddr + e->patch_offset, from = out->vaddr - out->before;
	unsigned len = e->recipe.len > e->patch_len ? e->recipe.len : e->patch_len;

	if (e->kind == HOOK_NONE || from >= patch + len || patch >= from + out->len)
		return;
	out->function = s->i;
	out->at_entry = out->vaddr == patch && !out->before && e->kind != HOOK_SHORT &&
			out->kind != HOOK_SHORT;
}

/* Answers one question; k->probe.kind is HOOK_NONE and `reason` says why if there is no way. */
static void plan_one(struct hook_prober *p, struct known *k)
{
	struct hook_probe *out = &k->probe;
	struct spot s = { .p = p, .out = out, .from = k->from, .to = k->to };

	out->reason = (uint8_t)find_insn(&s, out->vaddr);
	if (out->reason)
		return;
	/* After a landing pad nothing is lost: control that enters there enters here. */
	out->reason = REASON_TOO_SHORT;
	if (try_all(&s))
		meet_entry(&s);
	else
		out->kind = HOOK_NONE;
}

/* --- the interface --- */

const struct hook_probe *hook_probe_within(struct hook_prober *p, uint64_t vaddr, uint64_t from,
					   uint64_t to)
{
	struct known *k;

	for (size_t i = 0; i < p->known.n; i++) {
		k = p->known.at[i];
		if (k->probe.vaddr == vaddr && k->from == from && k->to == to)
			return &k->probe;
	}
	k = mem_zalloc(sizeof(*k));
	*k = (struct known){ { .vaddr = vaddr, .function = PROBE_ALONE }, from, to };
	*vec_add(&p->known) = k;
	plan_one(p, k);
	return &k->probe;
}

const struct hook_probe *hook_probe_plan(struct hook_prober *p, uint64_t vaddr)
{
	return hook_probe_within(p, vaddr, 0, UINT64_MAX);
}

bool hook_prober_jumped_into(const struct hook_prober *p, uint64_t from, uint64_t to)
{
	if (!address_set_range(&p->sweep.targets, from) ||
	    !address_set_range(&p->sweep.targets, to))
		return true;
	return address_set_any(&p->sweep.targets, from + 1, to + 1);
}

bool hook_probes_overlap(const struct hook_probe *a, const struct hook_probe *b)
{
	uint64_t x = a->vaddr - a->before, y = b->vaddr - b->before;

	return x < y + b->len && y < x + a->len;
}

int hook_prober_of(const struct sym_module *m, struct hook_prober **out, struct err *err)
{
	struct hook_prober *p = mem_zalloc(sizeof(*p));
	int r = hook_plan_keeping(m, &p->plan, &p->sweep, &p->padding, err);

	p->m = m;
	if (r < 0)
		free(p);
	else
		*out = p;
	return r;
}

/* Makes a prober that closes the module at its end; on an error the module is closed at once. */
static int make_prober(struct sym_module *m, struct hook_prober **out, struct err *err)
{
	int r = hook_prober_of(m, out, err);

	if (r < 0)
		sym_close(m);
	else
		(*out)->own = m;
	return r;
}

int hook_prober_open_fd(int fd, const char *path, struct hook_prober **out, struct err *err)
{
	struct sym_module *m;
	int r = sym_open_fd(fd, path, "", &m, err);

	return r < 0 ? r : make_prober(m, out, err);
}

int hook_prober_open(const char *path, struct hook_prober **out, struct err *err)
{
	struct sym_module *m;
	int r = sym_open(path, &m, err);

	return r < 0 ? r : make_prober(m, out, err);
}

void hook_prober_close(struct hook_prober *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->known.n; i++)
		free(p->known.at[i]);
	vec_free(&p->known);
	padding_free(&p->padding);
	sweep_free(&p->sweep);
	hook_plan_free(p->plan);
	if (p->own)
		sym_close(p->own);
	free(p);
}

const struct sym_module *hook_prober_module(const struct hook_prober *p)
{
	return p->m;
}
