/* SPDX-License-Identifier: MIT */
/* Finds the system calls in a module's code, the number of each as far as it is known, and the
 * probes around it; calls that are better left alone get a bar. image/probes.c asks, on a planner's
 * thread. The prober decides whether two instructions can be probed. Where nothing can, the call is
 * listed with its bar; nothing fails. */
#include "hook/syscalls.h"

#include <string.h>
#include <sys/syscall.h>

#include "arch/insn.h"
#include "arch/old_calls.h"

#define BACK_MAX 16u       /* bytes before the call that its window may use */

const char *const syscall_bar_words[SYSCALL_BARS_N] = {
#define X(id, word, text) word,
	SYSCALL_BARS(X)
#undef X
}, *const syscall_bar_texts[SYSCALL_BARS_N] = {
#define X(id, word, text) text,
	SYSCALL_BARS(X)
#undef X
};

static const struct hook_probe no_probe = { .kind = HOOK_NONE, .function = PROBE_ALONE };

/* Instructions in address order, as far as their effect on the number is followed. */
struct syscall_walk {
	struct hook_prober *p;
	const struct sym_module *m;
	hook_syscall_list *out;
	uint32_t function;
	uint64_t begin; /* begin of the function, or of the code after its last system call */
	uint64_t loaded;           /* address of the instruction that loaded the number */
	uint64_t loads;            /* begin of the run of such loads that ends here */
	uint32_t number;
	uint64_t end_of_loads;
	/* The last number put into another register; the end of that instruction and of the nops
	 * after it. */
	uint64_t kept, kept_end;
	uint32_t kept_number;
	unsigned kept_in;
};

/* --- the number ------------------------------------------------------------------------------- */

/* Follows the number through one instruction. */
static void follow_number(struct syscall_walk *w, uint64_t at, const uint8_t *p,
			  const struct insn *in)
{
	uint32_t number;

	if (insn_loads_number(p, in, &number)) {
		w->number = number;
		w->loaded = at;
		w->loads = w->end_of_loads == at ? w->loads : at;
		w->end_of_loads = at + in->len;
	} else if (!insn_keeps_number(in)) {
		w->number = SYSCALL_UNKNOWN;
	}
}

/* Follows a number that another register keeps. */
static void follow_kept(struct syscall_walk *w, uint64_t at, const uint8_t *p,
			const struct insn *in)
{
	if (w->kept_end == at && insn_is_nop(in)) {
		w->kept_end = at + in->len;
	} else if (insn_loads_other(p, in, &w->kept_in, &w->kept_number)) {
		w->kept = at;
		w->kept_end = at + in->len;
	}
}

/* The way in which glibc ends a thread: the call in a short loop, which leaves no room for a jump.
 * The code before the loop runs once, and then the call. */
static bool is_end_loop(const struct syscall_walk *w, uint64_t vaddr)
{
	const uint8_t *p = sym_bytes(w->m, vaddr - INSN_END_LOADS, INSN_END_BYTES);

	return p && w->kept_end == vaddr - INSN_END_LOADS && w->kept_number == SYS_exit &&
	       insn_is_end_loop(p, w->kept_in);
}

/* --- one call --------------------------------------------------------------------------------- */

static bool is_one_of(uint32_t number, const uint16_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == number)
			return true;
	return false;
}

/* Plans the probe before the loads of the number if they come last, where a short function's entry
 * hook is, too; else directly before the call. */
static const struct hook_probe *plan_before(const struct syscall_walk *w, uint64_t vaddr)
{
	uint64_t from = vaddr > w->begin + BACK_MAX ? vaddr - BACK_MAX : w->begin;
	const struct hook_probe *found = &no_probe;

	if (w->number != SYSCALL_UNKNOWN && w->end_of_loads == vaddr)
		found = hook_probe_within(w->p, w->loads, from, vaddr);
	return found->kind != HOOK_NONE ? found : hook_probe_within(w->p, vaddr, from, vaddr);
}

/* No lead: its instructions would come before the call. */
static const struct hook_probe *plan_behind(const struct syscall_walk *w, uint64_t vaddr)
{
	uint64_t behind = vaddr + INSN_SYSTEM_CALL_BYTES;

	return hook_probe_within(w->p, behind, behind, UINT64_MAX);
}

/* Returns why events of the call cannot be had: which probe is missing, or that the code is not to
 * be touched. */
static enum syscall_bar bar_of(const struct hook_syscall *c)
{
	bool before = c->before->kind != HOOK_NONE,
	     behind = c->behind->kind != HOOK_NONE || !c->returns;

	if (c->before->reason == REASON_NOT_CODE || c->before->reason == REASON_RUNTIME ||
	    c->before->reason == REASON_GO)
		return SYSCALL_BAR_CODE;
	return before	? behind ? SYSCALL_BAR_NONE : SYSCALL_BAR_LEAVE
	       : behind ? SYSCALL_BAR_ENTER
			: SYSCALL_BAR_BOTH;
}

/* Adds the call at vaddr with what is known of it, and plans its probes. */
static void add_syscall(struct syscall_walk *w, uint64_t vaddr)
{
	static const uint16_t last[] = { SYS_exit, SYS_exit_group };
	uint64_t end = vaddr + INSN_SYSTEM_CALL_BYTES;
	struct hook_syscall c = {
		.vaddr = vaddr, .function = w->function, .before = &no_probe, .behind = &no_probe
	};

	/* A jump to between the two brings a number of its own. */
	if (w->number != SYSCALL_UNKNOWN && hook_prober_jumped_into(w->p, w->loaded, vaddr))
		w->number = SYSCALL_UNKNOWN;
	c.ahead = w->number == SYSCALL_UNKNOWN && is_end_loop(w, vaddr);
	c.number = c.ahead ? SYS_exit : w->number;
	c.returns = !is_one_of(c.number, last, 2);
	c.twice = old_calls_makes_task(c.number);
	c.joined = hook_prober_jumped_into(w->p, end - 1, end);
	if (c.number == SYS_rt_sigreturn) {
		c.bar = SYSCALL_BAR_SIGNAL_RETURN;
	} else {
		c.before = c.ahead ? hook_probe_within(w->p, w->kept, w->begin,
						       w->kept + INSN_LOAD_BYTES)
				   : plan_before(w, vaddr);
		if (c.returns)
			c.behind = plan_behind(w, vaddr);
		c.bar = (uint8_t)bar_of(&c);
	}
	*vec_add(w->out) = c;
	w->begin = end;
}

/* --- a module --------------------------------------------------------------------------------- */

/* munmap, and then exit in the same function: in between the thread has no stack. */
static void find_gone(hook_syscall_list *list)
{
	for (size_t i = 0; i + 1 < list->n; i++) {
		struct hook_syscall *c = &list->at[i], *next = &list->at[i + 1];

		if (c->number != SYS_munmap || next->number != SYS_exit ||
		    c->function != next->function)
			continue;
		c->behind = next->before = &no_probe;
		c->bar = next->bar = SYSCALL_BAR_STACK_GONE;
	}
}

/* A call's return and the next call share bytes: the call is worth more than the return. */
static void find_overlaps(hook_syscall_list *list)
{
	for (size_t i = 0; i + 1 < list->n; i++) {
		struct hook_syscall *c = &list->at[i];
		const struct hook_probe *next = list->at[i + 1].before;

		if (c->behind->kind == HOOK_NONE || next->kind == HOOK_NONE ||
		    !hook_probes_overlap(c->behind, next))
			continue;
		c->behind = &no_probe;
		c->bar = (uint8_t)bar_of(c);
	}
}

/* Walks instructions from `at` on. What is no instruction is passed byte by byte; the number is not
 * known after it. */
static void walk_code(struct syscall_walk *w, uint64_t at, uint64_t end)
{
	struct insn in;

	w->begin = at;
	w->number = SYSCALL_UNKNOWN;
	for (w->end_of_loads = 0; at < end; at += in.len) {
		const uint8_t *p = sym_bytes(w->m, at, end - at);

		if (!p)
			return;
		if (!insn_decode(p, end - at, at, &in)) {
			in.len = 1;
			w->number = SYSCALL_UNKNOWN;
		} else if (insn_is_system_call(p, &in)) {
			add_syscall(w, at);
			w->number = SYSCALL_UNKNOWN;
		} else {
			follow_number(w, at, p, &in);
			follow_kept(w, at, p, &in);
		}
	}
}

static uint64_t lesser_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Walks functions, and the code between them, which has instructions, too, but nobody says where
 * they begin. */
static void walk_segment(struct syscall_walk *w, uint64_t at, uint64_t end)
{
	uint32_t n = (uint32_t)w->m->functions.n;

	for (uint32_t i = 0; i < n && at < end; i++) {
		const struct sym_function *f = &w->m->functions.at[i];
		uint64_t next = i + 1 < n ? w->m->functions.at[i + 1].vaddr : end;

		if (f->vaddr < at || f->vaddr >= end)
			continue;
		w->function = PROBE_ALONE;
		walk_code(w, at, f->vaddr);
		at = lesser_of(f->vaddr + f->size, lesser_of(next, end));
		w->function = i;
		if (!f->plt)
			walk_code(w, f->vaddr, at);
	}
	w->function = PROBE_ALONE;
	walk_code(w, at, end);
}

void hook_syscalls_find(struct hook_prober *p, hook_syscall_list *out)
{
	const struct sym_module *m = hook_prober_module(p);
	struct syscall_walk w = { .p = p, .m = m, .out = out };

	for (size_t i = 0; i < m->segments.n; i++) {
		const struct sym_segment *s = &m->segments.at[i];

		if (s->exec)
			walk_segment(&w, s->vaddr, s->vaddr + s->filesz);
	}
	find_gone(out);
	find_overlaps(out);
}
