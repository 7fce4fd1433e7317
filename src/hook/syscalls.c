/* SPDX-License-Identifier: MIT */
/* Finds the system calls in a module's code, the number of each as far as it is known, and the
 * probes around it; calls that are better left alone get a bar. image/probes.c asks, on a planner's
 * thread. The prober decides whether two instructions can be probed. Where nothing can, the call is
 * listed with its bar; nothing fails. */
#include "hook/syscalls.h"

#include <string.h>
#include <sys/syscall.h>

#include "arch/insn.h"

#define SYSCALL_LEN 2u
#define BACK_MAX 16u       /* bytes before the call that its window may use */
#define RAX 0
#define KEPT_LEN 5u       /* length of mov $number, %edx */

const char *const syscall_bar_words[] = {
#define X(id, word, text) word,
	SYSCALL_BARS(X)
#undef X
}, *const syscall_bar_texts[] = {
#define X(id, word, text) text,
	SYSCALL_BARS(X)
#undef X
};

static const struct hook_probe no_probe = { .kind = HOOK_NONE, .function = PROBE_ALONE };

/* Instructions in address order, as far as their effect on %eax is followed. */
struct syscall_walk {
	struct hook_prober *p;
	const struct sym_module *m;
	hook_syscall_list *out;
	uint32_t function;
	uint64_t begin; /* begin of the function, or of the code after its last system call */
	uint64_t loaded;           /* address of the instruction that put the number into %eax */
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

/* mov $number, %eax; xor %eax, %eax; mov $number, %rax. */
static bool loads_number(const uint8_t *p, const struct insn *in, uint32_t *number)
{
	*number = 0;
	if (in->len == 2 && (p[0] == 0x31 || p[0] == 0x33) && p[1] == 0xc0)
		return true;
	if (in->len == 5 && p[0] == 0xb8)
		memcpy(number, p + 1, 4);
	else if (in->len == 7 && memcmp(p, "\x48\xc7\xc0", 3) == 0)
		memcpy(number, p + 3, 4);
	else
		return false;
	return true;
}

/* Returns the register of the modrm byte's reg field. */
static unsigned reg_operand(const struct insn *in)
{
	return (in->modrm >> 3 & 7) | (in->rex & 4) << 1;
}

/* Returns the register of the r/m operand; UINT32_MAX: it is in memory. */
static unsigned rm_operand(const struct insn *in)
{
	return in->modrm >> 6 == 3 ? (in->modrm & 7u) | (in->rex & 1u) << 3 : UINT32_MAX;
}

/* Opcodes that write their r/m operand, their other operand, or none, of those that stand between a
 * number and its call. No others are known. */
static const uint8_t to_rm[] = { 0x01, 0x09, 0x21, 0x29, 0x31, 0x80, 0x81,
				 0x83, 0x88, 0x89, 0xc1, 0xc6, 0xc7, 0xd1 };
static const uint8_t to_reg[] = { 0x03, 0x0b, 0x23, 0x2b, 0x33, 0x63, 0x8b, 0x8d };
static const uint8_t to_none[] = { 0x38, 0x39, 0x3a, 0x3b, 0x3d, 0x84, 0x85, 0x90 };

static bool is_in(uint8_t opcode, const uint8_t *list, size_t n)
{
	return memchr(list, opcode, n) != NULL;
}

/* %ah is a part of it, and has number 4 in byte instructions. */
static bool is_rax(unsigned reg, bool byte)
{
	return reg == RAX || (byte && reg == 4);
}

/* The part of keeps_rax() for opcodes after 0f: cmov, set, nop. */
static bool keeps_rax_0f(const struct insn *in)
{
	if (in->opcode >= 0x40 && in->opcode <= 0x4f) /* cmov */
		return reg_operand(in) != RAX;
	if (in->opcode >= 0x90 && in->opcode <= 0x9f) /* set */
		return !is_rax(rm_operand(in), true);
	return in->opcode == 0x1f;
}

/* True if the instruction leaves %rax alone for certain. */
static bool keeps_rax(const struct insn *in)
{
	bool byte = in->opcode == 0x80 || in->opcode == 0x88 || in->opcode == 0xc6;

	if (in->flow != FLOW_NEXT)
		return in->flow == FLOW_BRANCH;
	if (in->map == MAP_0F)
		return keeps_rax_0f(in);
	if (in->map != MAP_ONE)
		return false;
	if (is_in(in->opcode, to_rm, sizeof(to_rm)))
		return !is_rax(rm_operand(in), byte);
	if (is_in(in->opcode, to_reg, sizeof(to_reg)))
		return reg_operand(in) != RAX;
	if (in->opcode >= 0xb8 && in->opcode <= 0xbf)
		return in->opcode != 0xb8 || in->rex & 1;
	return is_in(in->opcode, to_none, sizeof(to_none)) || (in->opcode & 0xf8) == 0x50;
}

/* Follows the number in %eax through one instruction. */
static void follow_rax(struct syscall_walk *w, uint64_t at, const uint8_t *p, const struct insn *in)
{
	uint32_t number;

	if (loads_number(p, in, &number)) {
		w->number = number;
		w->loaded = at;
		w->loads = w->end_of_loads == at ? w->loads : at;
		w->end_of_loads = at + in->len;
	} else if (!keeps_rax(in)) {
		w->number = SYSCALL_UNKNOWN;
	}
}

static bool is_nop(const struct insn *in)
{
	return (in->map == MAP_ONE && in->opcode == 0x90) ||
	       (in->map == MAP_0F && in->opcode == 0x1f);
}

/* mov $number, %edx */
static void follow_kept(struct syscall_walk *w, uint64_t at, const uint8_t *p,
			const struct insn *in)
{
	if (w->kept_end == at && is_nop(in)) {
		w->kept_end = at + in->len;
	} else if (in->len == 5 && p[0] > 0xb8 && p[0] <= 0xbf) {
		w->kept = at;
		w->kept_end = at + in->len;
		w->kept_in = p[0] & 7u;
		memcpy(&w->kept_number, p + 1, 4);
	}
}

/* The way in which glibc ends a thread: the call in a loop of 8 bytes, which leaves no room for a
 * jump. The code before the loop runs once, and then the call.
 *
 *   mov $60, %edx; nop;  again: xor %edi, %edi; mov %edx, %eax; syscall; jmp again */
#define END_LOADS 4u
static bool is_end_loop(const struct syscall_walk *w, uint64_t vaddr)
{
	const uint8_t *p = sym_bytes(w->m, vaddr - END_LOADS, END_LOADS + SYSCALL_LEN + 2);

	return p && w->kept_end == vaddr - END_LOADS && w->kept_number == SYS_exit &&
	       p[0] == 0x31 && p[1] == 0xff && p[2] == 0x89 && p[3] == (0xc0 | w->kept_in << 3) &&
	       p[6] == 0xeb && p[7] == 0xf8;
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
	return hook_probe_within(w->p, vaddr + SYSCALL_LEN, vaddr + SYSCALL_LEN, UINT64_MAX);
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
	static const uint16_t twice[] = { SYS_fork, SYS_vfork, SYS_clone, SYS_clone3 },
			      last[] = { SYS_exit, SYS_exit_group };
	struct hook_syscall c = {
		.vaddr = vaddr, .function = w->function, .before = &no_probe, .behind = &no_probe
	};

	/* A jump to between the two brings a number of its own. */
	if (w->number != SYSCALL_UNKNOWN && hook_prober_jumped_into(w->p, w->loaded, vaddr))
		w->number = SYSCALL_UNKNOWN;
	c.ahead = w->number == SYSCALL_UNKNOWN && is_end_loop(w, vaddr);
	c.number = c.ahead ? SYS_exit : w->number;
	c.returns = !is_one_of(c.number, last, 2);
	c.twice = is_one_of(c.number, twice, 4);
	c.joined = hook_prober_jumped_into(w->p, vaddr + SYSCALL_LEN - 1, vaddr + SYSCALL_LEN);
	if (c.number == SYS_rt_sigreturn) {
		c.bar = SYSCALL_BAR_SIGNAL_RETURN;
	} else {
		c.before = c.ahead ? hook_probe_within(w->p, w->kept, w->begin, w->kept + KEPT_LEN)
				   : plan_before(w, vaddr);
		if (c.returns)
			c.behind = plan_behind(w, vaddr);
		c.bar = (uint8_t)bar_of(&c);
	}
	*vec_add(w->out) = c;
	w->begin = vaddr + SYSCALL_LEN;
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
		} else if (in.len == SYSCALL_LEN && p[0] == 0x0f && p[1] == 0x05) {
			add_syscall(w, at);
			w->number = SYSCALL_UNKNOWN;
		} else {
			follow_rax(w, at, p, &in);
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
