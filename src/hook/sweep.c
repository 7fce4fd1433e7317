/* SPDX-License-Identifier: MIT */
/* Decodes all code of a module once, in address order, starting anew at every function. Inside of
 * functions that is exact; between them it may decode data, which can only add targets. The planner
 * calls it; memory is a few bits a byte of code; it cannot fail.
 *
 * A function's changes of its stack pointer are followed in a straight line from its entry. Where
 * the line breaks after the stack has been used, nothing is claimed any more, until an address that
 * an earlier jump leads to. */
#include "hook/sweep.h"

#include <linux/sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/old_calls.h"
#include "base/aside.h"

#include "arch/insn.h"

#define NO_FUNCTION UINT32_MAX
#define TABLE_MAX 4096     /* entries of a jump table */
#define KEPT_MAX 16
/* Forward jumps whose target is still to come; beyond that the oldest are forgotten. */
#define AHEAD_MAX 64
#define ANY_FLAGS UINT32_MAX
/* First bytes of a function: if an instruction loads from them they are data. */
#define DATA_REACH 8

/* A call after which the caller reads flags. */
struct flag_reader { uint64_t callee, from, at; };

struct sweep_walk {
	struct sweep *s;
	const struct sweep_hooks *hooks;
	struct address_set starts;     /* addresses of functions */
	struct address_set named;      /* data whose address is taken */
	VEC(uint64_t) tables;          /* data that may begin a jump table */
	VEC(struct flag_reader) readers;
	bool over;     /* nobody waits for the result any more (aside_until) */
	bool absolute; /* the file is linked for fixed addresses, so immediates may be addresses */

	/* The place of decoding. */
	uint64_t at, next;             /* next function's start */
	uint32_t i_next;
	uint32_t f;                    /* the function around, or NO_FUNCTION */
	uint64_t f_end;
	size_t f_tables;               /* tables.n when the function began */
	bool jumps_indirect;
	/* The function's stack: the pointer minus that at entry. */
	int64_t depth;
	bool known, touched, framed;
	uint32_t own;                  /* registers that hold addresses of its stack, as bits */
	/* Callee-saved ones that ever did; ones that it was loaded from while they did not. */
	uint32_t owned, loaded;
	/* Places in its frame that hold addresses of its stack. */
	struct { int64_t at; uint8_t base; } kept[KEPT_MAX];
	unsigned n_kept;
	/* Targets of forward jumps of this function, and the depth there. */
	struct { uint64_t at; int64_t depth; } ahead[AHEAD_MAX];
	unsigned n_ahead;
	/* The flags. */
	uint16_t watched; /* flags not written since the entry, or since the call of `callee` */
	uint64_t callee, since;        /* callee; 0 = the entry */
	uint32_t number;               /* the constant last loaded as a system call's number */
	uint32_t first; /* and as its first argument since the last jump or call, or ANY_FLAGS */
};

static const struct sym_function *sweep_function(const struct sweep_walk *w, uint32_t i)
{
	return &w->s->m->functions.at[i];
}

static void add_fact(struct sweep_walk *w, const struct sym_function *f, uint16_t fact)
{
	w->s->facts[f - w->s->m->functions.at] |= fact;
}

/* The block that saves the stack pointer in a register may stand after the one that restores it, so
 * loads are judged at the end. */
static void judge_loads(struct sweep_walk *w)
{
	if (w->f != NO_FUNCTION && w->loaded & ~w->owned)
		w->s->facts[w->f] |= FACT_LEAVES_STACK;
	w->loaded = 0;
}

/* Ends the function: without an indirect jump in it, the addresses that it took are no jump
 * tables. */
static void leave_function(struct sweep_walk *w)
{
	judge_loads(w);
	if (!w->jumps_indirect)
		w->tables.n = w->f_tables;
	w->f_tables = w->tables.n;
	w->jumps_indirect = false;
	w->known = w->framed = false;
	w->watched = 0;
	w->f = NO_FUNCTION;
}

/* Begins a function: the stack is at its entry state, all flags are watched. A cold fragment has no
 * such entry. */
static void enter_function(struct sweep_walk *w)
{
	const struct sym_function *f = sweep_function(w, w->i_next);
	bool last_called = address_set_has(&w->s->stops, w->at);

	if (w->f != NO_FUNCTION && w->known && w->depth && !last_called)
		/* Control falls in from the function before. */
		w->s->facts[w->i_next] |= FACT_UNUSUAL_ENTRY;
	leave_function(w);
	w->over = aside_is_over();
	w->f = w->i_next++;
	w->f_end = f->vaddr + f->size;
	w->next =
		w->i_next < w->s->m->functions.n ? sweep_function(w, w->i_next)->vaddr : UINT64_MAX;
	w->known = !f->cold;
	w->watched = f->cold ? 0 : FLAGS_ALL;
	w->touched = false;
	w->depth = 0;
	w->own = 1u << INSN_SP | 1u << INSN_FP;
	w->n_kept = w->n_ahead = 0;
	w->owned = w->loaded = 0;
	w->callee = 0;
	w->number = 0;
	w->first = ANY_FLAGS;
}

/* --- flags ---------------------------------------------------------------- */

/* Flags were read that nobody has written since the entry, or since a call; readers of calls are
 * judged at the end. */
static void flags_read(struct sweep_walk *w)
{
	if (w->callee)
		*vec_add(&w->readers) = (struct flag_reader){ w->callee, w->since, w->at };
	else
		w->s->facts[w->f] |= FACT_READS_FLAGS;
}

/* Follows the flags in a straight line; a call, a jump or a return ends it. */
static void watch_flags(struct sweep_walk *w, const uint8_t *p, const struct insn *in)
{
	struct insn_flags flags;

	if (in->flow != FLOW_NEXT && in->flow != FLOW_BRANCH) {
		w->watched = 0;
		return;
	}
	flags = insn_flags(p, in);
	if (flags.read & w->watched) {
		flags_read(w);
		w->watched = 0;
	}
	w->watched &= (uint16_t)~flags.lost;
}

static void judge_readers(struct sweep_walk *w)
{
	for (size_t i = 0; i < w->readers.n; i++) {
		const struct flag_reader *r = &w->readers.at[i];
		const struct sym_function *f = sym_at(w->s->m, r->callee);

		/* A target in between: the call does not return, and another block with flags of
		 * its own follows. */
		if (f && !address_set_any(&w->s->targets, r->from, r->at + 1))
			add_fact(w, f, FACT_RETURNS_FLAGS);
	}
}

/* --- the stack ---------------------------------------------------------------- */

/* Follows the stack pointer, and notes loads of the return address: by it, or by the frame pointer
 * (8 above that), once there is one. */
static void watch_stack(struct sweep_walk *w, const uint8_t *p, const struct insn *in)
{
	int64_t offset = 0, before = w->depth;

	if (w->framed && insn_loads_by_fp(p, in, &offset) && offset == 8)
		w->s->facts[w->f] |= FACT_READS_CALLER;
	if (!w->known)
		return;
	if (insn_loads_by_sp(p, in, &offset) && offset == -w->depth)
		w->s->facts[w->f] |= FACT_READS_CALLER;
	w->known = insn_stack(p, in, &w->depth);
	w->touched |= !w->known || w->depth != before;
	if (w->depth > 0) {
		w->s->facts[w->f] |= FACT_READS_CALLER; /* the return address was popped */
		w->known = false;
	}
	w->framed |= w->depth == -8 && insn_makes_frame(p, in);
}

/* --- where a stack pointer comes from -------------------------------------------------------- */

static bool is_kept(const struct sweep_walk *w, const struct insn_copy *c)
{
	for (unsigned i = 0; i < w->n_kept && i < KEPT_MAX; i++)
		if (w->kept[i].at == c->slot && w->kept[i].base == c->base)
			return true;
	return false;
}

/* A ring: beyond KEPT_MAX places the oldest are forgotten, which can only find more leavers. */
static void keep_insn(struct sweep_walk *w, const struct insn_copy *c)
{
	w->kept[w->n_kept % KEPT_MAX].at = c->slot;
	w->kept[w->n_kept % KEPT_MAX].base = c->base;
	w->n_kept++;
}

/* A value that the frame holds is the compiler's when it is loaded into the stack pointer: it keeps
 * it there around arrays of variable size. An argument that was spilled comes back through a
 * register. */
static void watch_copies(struct sweep_walk *w, const uint8_t *p, const struct insn *in)
{
	struct insn_copy c;
	bool own;

	if (!insn_copy(p, in, &c))
		return;
	if (c.from < COPY_FRAME)
		own = w->own >> c.from & 1;
	else
		own = c.from == COPY_FRAME && w->own >> c.base & 1 &&
		      (c.to == INSN_SP || is_kept(w, &c));
	if (c.exchange && c.to != INSN_SP && c.from != INSN_SP)
		own = false;
	if (c.to == INSN_SP && !own && c.from < COPY_FRAME && INSN_KEPT >> c.from & 1)
		w->loaded |= 1u << c.from;
	else if ((c.to == INSN_SP || (c.exchange && c.from == INSN_SP)) && !own)
		w->s->facts[w->f] |= FACT_LEAVES_STACK;
	if (c.to == COPY_FRAME && own)
		keep_insn(w, &c);
	else if (c.to < COPY_FRAME && c.to != INSN_SP)
		w->own = (w->own & ~(1u << c.to)) | (uint32_t)own << c.to;
	w->owned |= w->own;
}

/* A forward jump within the function: the stack at its target is as it is here. */
static void note_ahead(struct sweep_walk *w, uint64_t target)
{
	if (!w->known || target <= w->at || target >= w->f_end)
		return;
	w->ahead[w->n_ahead % AHEAD_MAX].at = target;
	w->ahead[w->n_ahead % AHEAD_MAX].depth = w->depth;
	w->n_ahead++;
}

/* At a target of earlier jumps: all that are known must agree on the stack. */
static void join_line(struct sweep_walk *w)
{
	for (unsigned i = 0; i < w->n_ahead && i < AHEAD_MAX; i++) {
		if (w->ahead[i].at != w->at)
			continue;
		if (w->known && w->depth != w->ahead[i].depth) {
			w->known = false;
			return;
		}
		w->known = true;
		w->depth = w->ahead[i].depth;
	}
}

/* After a jump or a return the next block's stack is known only if it was never used; so, too,
 * after a call that perhaps does not return. */
static void end_line(struct sweep_walk *w, const struct insn *in, uint64_t end)
{
	bool breaks =
		in->flow == FLOW_STOP || in->flow == FLOW_JUMP || in->flow == FLOW_JUMP_INDIRECT;

	if (in->flow == FLOW_BRANCH || in->flow == FLOW_JUMP)
		note_ahead(w, in->target);
	if (breaks || (in->flow == FLOW_CALL && address_set_has(&w->s->targets, end)))
		w->known &= !w->touched;
}

/* A jump to a function's first byte: its return address must be on top of the stack. */
static void jump_to_start(struct sweep_walk *w, uint64_t target)
{
	const struct sym_function *f = sym_at(w->s->m, target);
	bool own = w->f != NO_FUNCTION && f == sweep_function(w, w->f);

	if (own ? !w->known || w->depth : w->known && w->depth)
		add_fact(w, f, FACT_UNUSUAL_ENTRY);
	else if (!own && w->f != NO_FUNCTION && f)
		*vec_add(&w->s->tails) =
			(struct tail_call){ w->f, (uint32_t)(f - w->s->m->functions.at) };
}

/* --- addresses ---------------------------------------------------------------- */

static bool is_listed(const uint64_t *list, size_t n, uint64_t vaddr)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == vaddr)
			return true;
	return false;
}

bool sweep_hooks_called(const struct sweep_hooks *h, const struct insn *in)
{
	if (in->flow == FLOW_CALL)
		return is_listed(h->functions.at, h->functions.n, in->target);
	return in->flow == FLOW_CALL_INDIRECT && in->relative &&
	       is_listed(h->slots.at, h->slots.n, in->target);
}

/* Notes a call of a compiler's entry hook, direct or through the GOT. */
static void note_call(struct sweep_walk *w, const struct insn *in)
{
	if (sweep_hooks_called(w->hooks, in) && w->f != NO_FUNCTION)
		w->s->facts[w->f] |= FACT_MCOUNT;
}

/* fork is a clone with constant flags, without the parent's memory, so its child has no borrowed
 * thread pointer. */
static void note_new_task(struct sweep_walk *w)
{
	bool clones = w->number == SYS_clone3 || (w->number == SYS_clone && w->first & CLONE_VM);

	if (clones)
		w->s->facts[w->f] |= FACT_STARTS_THREADS;
	if (clones || old_calls_is_vfork(w->number))
		w->s->facts[w->f] |= FACT_LENDS_THREAD;
}

/* Follows the number and the first argument, if constant, up to a system call. Only the first
 * argument is dropped at a call or jump. */
static void watch_system_calls(struct sweep_walk *w, const uint8_t *p, const struct insn *in)
{
	if (insn_sets_number(p, in, &w->number) || insn_sets_first(p, in, &w->first))
		return;
	if (insn_is_system_call(p, in))
		note_new_task(w);
	else if (in->flow != FLOW_NEXT)
		w->first = ANY_FLAGS;
}

/* Notes an address that may be a function's. */
static void note_name(struct sweep_walk *w, uint64_t vaddr)
{
	const struct sym_function *f =
		address_set_has(&w->starts, vaddr) ? sym_at(w->s->m, vaddr) : NULL;

	if (f)
		add_fact(w, f, FACT_NAMED);
}

/* Notes an operand relative to the pc: code that is named or loaded from, or data whose address is
 * taken (perhaps a jump table). */
static void note_operand(struct sweep_walk *w, const struct insn *in)
{
	bool lea = insn_takes_address(in);

	if (address_set_range(&w->s->targets, in->target)) {
		const struct sym_function *f = sym_around(w->s->m, in->target);

		address_set_add(&w->s->targets, in->target);
		if (f && !insn_only_names(in))
			add_fact(w, f,
				 in->target - f->vaddr < DATA_REACH
					 ? FACT_READ_AS_DATA | FACT_HOLDS_DATA
					 : FACT_HOLDS_DATA);
		else if (f && lea)
			note_name(w, in->target);
	} else if (lea) {
		address_set_add(&w->named, in->target);
		if (w->f != NO_FUNCTION)
			*vec_add(&w->tables) = in->target;
	}
}

/* Notes targets, and the ends of straight lines. */
static void note_flow(struct sweep_walk *w, const struct insn *in, uint64_t end)
{
	switch (in->flow) {
	case FLOW_BRANCH: case FLOW_JUMP:
		address_set_add(&w->s->targets, in->target);
		if (address_set_has(&w->starts, in->target))
			jump_to_start(w, in->target);
		break;
	case FLOW_CALL:
		address_set_add(&w->s->targets, in->target);
		/* fall through */
	case FLOW_CALL_INDIRECT:
		if (w->hooks->functions.n || w->hooks->slots.n)
			note_call(w, in);
		break;
	case FLOW_JUMP_INDIRECT:
		w->jumps_indirect |= insn_jumps_by_register(in);
		break;
	}
	if (in->flow != FLOW_NEXT && in->flow != FLOW_BRANCH)
		address_set_add(&w->s->stops, end);
}

/* After a call its caller must not read flags: else the callee returns a result in them
 * (FACT_RETURNS_FLAGS). */
static void watch_call(struct sweep_walk *w, const struct insn *in, uint64_t end)
{
	w->watched = FLAGS_ALL;
	w->callee = in->target;
	w->since = end;
}

/* Notes all about one instruction. join_line() comes before watch_stack(): the stack that a jump
 * brings is that before its target runs. */
static void note_insn(struct sweep_walk *w, const uint8_t *p, const struct insn *in)
{
	uint64_t end = w->at + in->len, word;

	if (w->watched)
		watch_flags(w, p, in);
	if (w->n_ahead && address_set_has(&w->s->targets, w->at))
		join_line(w);
	if (w->known || w->framed)
		watch_stack(w, p, in);
	if (w->f != NO_FUNCTION) {
		watch_copies(w, p, in);
		watch_system_calls(w, p, in);
	}
	if (in->relative)
		note_operand(w, in);
	if (in->flow != FLOW_NEXT) {
		note_flow(w, in, end);
		end_line(w, in, end);
		if (in->flow == FLOW_CALL)
			watch_call(w, in, end);
	} else if (w->absolute) {
		word = insn_absolute(p, in);
		if (word) {
			address_set_add(&w->s->targets, word);
			note_name(w, word);
		}
	}
}

/* --- the pass ---------------------------------------------------------------- */

/* Decodes one range of code from its begin. */
static void walk_range(struct sweep_walk *w, const struct address_range *r)
{
	uint64_t end = r->vaddr + r->size;
	size_t n = w->s->m->functions.n;

	while (w->i_next < n && sweep_function(w, w->i_next)->vaddr < r->vaddr)
		w->i_next++;
	w->next = w->i_next < n ? sweep_function(w, w->i_next)->vaddr : UINT64_MAX;
	for (w->at = r->vaddr; w->at < end && !w->over;) {
		const uint8_t *p = r->bytes + (w->at - r->vaddr);
		struct insn in;

		if (w->at == w->next)
			enter_function(w);
		else if (w->f != NO_FUNCTION && w->at >= w->f_end)
			leave_function(w);
		/* Not an instruction: one byte is skipped, as data between functions. */
		if (!insn_decode(p, end - w->at, w->at, &in))
			in.len = 1;
		else
			note_insn(w, p, &in);
		/* Never past a function's start, even if an instruction seems to reach over it. */
		w->at = w->at + in.len > w->next ? w->next : w->at + in.len;
	}
	leave_function(w);
}

/* Follows tables of 32-bit distances from the table itself. Each ends where another begins, or with
 * the first entry that does not lead to code. */
static void follow_tables(struct sweep_walk *w)
{
	struct address_set followed = address_set_new(w->s->m, false);

	for (size_t i = 0; i < w->tables.n; i++) {
		uint64_t table = w->tables.at[i];

		if (address_set_has(&followed, table))
			continue;
		address_set_add(&followed, table);
		for (uint64_t at = table; at < table + 4 * TABLE_MAX; at += 4) {
			const struct address_range *r = address_set_range(&w->named, at);
			int32_t distance;

			if (!r || r->vaddr + r->size - at < 4 ||
			    (at != table && address_set_has(&w->named, at)))
				break;
			memcpy(&distance, r->bytes + (at - r->vaddr), 4);
			if (!address_set_range(&w->s->targets, table + (uint64_t)(int64_t)distance))
				break;
			address_set_add(&w->s->targets, table + (uint64_t)(int64_t)distance);
		}
	}
	address_set_free(&followed);
}

void sweep_run(const struct sym_module *m, const struct sweep_hooks *hooks, struct sweep *out)
{
	struct sweep_walk w = {
		.s = out, .hooks = hooks, .f = NO_FUNCTION, .absolute = m->e_type == ET_EXEC
	};

	*out = (struct sweep){ .m = m,
			       .facts = mem_zalloc((m->functions.n + 1) * sizeof(*out->facts)) };
	out->targets = address_set_new(m, true);
	out->stops = address_set_new(m, true);
	w.starts = address_set_new(m, true);
	w.named = address_set_new(m, false);
	for (size_t i = 0; i < m->functions.n; i++)
		address_set_add(&w.starts, m->functions.at[i].vaddr);
	for (size_t i = 0; i < m->code_refs.n; i++)
		address_set_add(&out->targets, m->code_refs.at[i]);
	for (size_t i = 0; i < out->targets.ranges.n; i++)
		walk_range(&w, &out->targets.ranges.at[i]);
	follow_tables(&w);
	for (size_t i = 0; i < m->functions.n; i++)
		address_set_add(&out->targets, m->functions.at[i].vaddr);
	judge_readers(&w);
	address_set_free(&w.starts);
	address_set_free(&w.named);
	vec_free(&w.tables);
	vec_free(&w.readers);
}

void sweep_free(struct sweep *s)
{
	address_set_free(&s->targets);
	address_set_free(&s->stops);
	vec_free(&s->tails);
	free(s->facts);
}
