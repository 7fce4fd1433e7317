/* SPDX-License-Identifier: MIT */
/* Runs a seccomp filter, as the kernel would, to find out what it says to a system call: classic
 * BPF, and nothing else. The agent asks before its process installs a filter, the tracer before it
 * attaches. Any bytes are survived: jumps go forward only, and all indices are checked. */
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/* The machine: accumulator, index register, scratch memory. */
struct bpf_state {
	const struct seccomp_data *data;
	uint32_t a, x, memory[BPF_MEMWORDS];
};

/* One arithmetic step. False: division by zero or an unknown operation; the kernel would not have
 * taken the filter. */
static inline bool bpf_alu(uint32_t op, uint32_t *a, uint32_t by)
{
	switch (op) {
	case BPF_ADD: *a += by; return true;
	case BPF_SUB: *a -= by; return true;
	case BPF_MUL: *a *= by; return true;
	case BPF_DIV: *a = by ? *a / by : 0; return by != 0;
	case BPF_AND: *a &= by; return true;
	case BPF_OR: *a |= by; return true;
	case BPF_XOR: *a ^= by; return true;
	case BPF_LSH: *a <<= by & 31; return true;
	case BPF_RSH: *a >>= by & 31; return true;
	case BPF_NEG: *a = -*a; return true;
	default: return false;
	}
}

/* True if a conditional jump is taken. */
static inline bool bpf_holds(uint32_t op, uint32_t a, uint32_t with)
{
	return op == BPF_JEQ   ? a == with
	       : op == BPF_JGT ? a > with
	       : op == BPF_JGE ? a >= with
			       : (a & with) != 0;
}

/* Loads the value of an LD or LDX; false if there is no such place. */
static inline bool bpf_load(const struct bpf_state *s, const struct sock_filter *i, uint32_t *value)
{
	switch (BPF_MODE(i->code)) {
	case BPF_IMM:
		*value = i->k;
		return true;
	case BPF_LEN:
		*value = sizeof(*s->data);
		return true;
	case BPF_MEM:
		*value = i->k < BPF_MEMWORDS ? s->memory[i->k] : 0;
		return i->k < BPF_MEMWORDS;
	case BPF_ABS:
		if (i->k % 4 || i->k >= sizeof(*s->data) || BPF_CLASS(i->code) != BPF_LD)
			return false;
		*value = ((const uint32_t *)s->data)[i->k / 4];
		return true;
	default:
		return false;
	}
}

/* Executes one instruction that is neither a jump nor a return. */
static inline bool bpf_step(struct bpf_state *s, const struct sock_filter *i)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		return BPF_SIZE(i->code) == BPF_W && bpf_load(s, i, &s->a);
	case BPF_LDX:
		return BPF_SIZE(i->code) == BPF_W && bpf_load(s, i, &s->x);
	case BPF_ST:
	case BPF_STX:
		if (i->k >= BPF_MEMWORDS)
			return false;
		s->memory[i->k] = BPF_CLASS(i->code) == BPF_ST ? s->a : s->x;
		return true;
	case BPF_ALU:
		return bpf_alu(BPF_OP(i->code), &s->a, BPF_SRC(i->code) == BPF_X ? s->x : i->k);
	case BPF_MISC:
		if (BPF_MISCOP(i->code) == BPF_TAX)
			s->x = s->a;
		else
			s->a = s->x;
		return true;
	default:
		return false;
	}
}

/* Returns what the filter returns; SECCOMP_RET_KILL_PROCESS for one that the kernel would not
 * take. */
static inline uint32_t bpf_run(const struct sock_filter *program, uint64_t n,
			       const struct seccomp_data *data)
{
	struct bpf_state s = { .data = data };

	for (uint64_t at = 0; at < n; at++) {
		const struct sock_filter *i = &program[at];
		uint32_t with = BPF_SRC(i->code) == BPF_X ? s.x : i->k;

		if (BPF_CLASS(i->code) == BPF_RET)
			return BPF_RVAL(i->code) == BPF_A ? s.a : i->k;
		if (BPF_CLASS(i->code) != BPF_JMP) {
			if (!bpf_step(&s, i))
				break;
		} else if (BPF_OP(i->code) == BPF_JA) {
			at += i->k;
		} else {
			at += bpf_holds(BPF_OP(i->code), s.a, with) ? i->jt : i->jf;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* True if the kernel carries the call out as if there were no filter. */
static inline bool bpf_allows(uint32_t returned)
{
	uint32_t action = returned & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}
