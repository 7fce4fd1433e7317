/* SPDX-License-Identifier: MIT */
/* arch/relocate.h for x86-64: how an instruction is moved, and what its `field` is then. */
#pragma once

enum relocate_op {
	RELOCATE_COPY,      /* bytes as they are */
	RELOCATE_RIP,       /* copy, but the disp32 at `field` is re-aimed at target */
	RELOCATE_JMP,       /* direct jump: becomes jmp rel32 to target */
	RELOCATE_JCC,       /* conditional: becomes jcc rel32; cc in `field` */
	RELOCATE_LOOP,      /* loop/jrcxz: op +2; jmp +5; jmp target */
	RELOCATE_CALL,      /* call rel32: push of the original return address, jmp target */
	RELOCATE_CALL_IND,  /* call r/m: push of the original return address, jmp r/m */
};

struct relocate_insn {
	uint8_t op;         /* enum relocate_op */
	uint8_t len;        /* original bytes */
	uint8_t field;      /* see above */
	uint8_t inside;     /* branch to window instruction number inside-1; 0 = outside */
	int64_t target;     /* vaddr of the branch's or operand's target */
};

#define RELOCATE_MAX_INSNS 8
#define RELOCATE_MAX_BYTES 160

static inline bool relocate_is_call(const struct relocate_insn *in)
{
	return in->op == RELOCATE_CALL || in->op == RELOCATE_CALL_IND;
}

static inline bool relocate_leaves(const struct relocate_insn *in)
{
	return (in->op == RELOCATE_CALL || in->op == RELOCATE_JMP || in->op == RELOCATE_JCC) &&
	       !in->inside;
}
