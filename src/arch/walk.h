/* SPDX-License-Identifier: MIT */
/* Questions of a walk along a function's control flow (sym/body.c) about its instructions and the
 * bytes around them. All functions are free of state, and may be called on any thread. */
#pragma once
#include "arch/insn.h"
#include MACHINE_HEADER(walk.h)

/* The stack on one path. */
struct walk_stack {
	int64_t depth, frame; /* stack and frame pointer, less the stack pointer at entry, */
	bool known, framed;   /* if these say so */
};
/* The stack at a function's first instruction, which a call led to. */
#define WALK_STACK_AT_ENTRY (struct walk_stack){ .known = true }
/* Follows the stack over an instruction. */
void walk_follow_stack(struct walk_stack *s, const uint8_t *p, const struct insn *in);
/* True if the stack, before a call, is aligned as the ABI has it. */
bool walk_is_aligned(const struct walk_stack *s);

/* True for what no compiler, and hardly any programmer, puts into a program's function: zeros, in
 * and out, far returns, interrupts. */
bool walk_is_strange(const uint8_t *p, const struct insn *in);
/* True for a breakpoint, which control does not pass; for a return; for an instruction that takes
 * the address in->target and loads nothing. */
bool walk_is_trap(const struct insn *in);
bool walk_is_return(const struct insn *in);
bool walk_takes_address(const struct insn *in);

/* Returns how many values are below or at the constant that the instruction compares with; without
 * one, `before`. */
uint32_t walk_bound(const uint8_t *p, const struct insn *in, uint32_t before);
/* True for a jump by a table of addresses at *table. Else the jump is by a register, or by memory
 * that nothing is known of: *table is 0. */
bool walk_is_table_jump(const uint8_t *p, const struct insn *in, uint64_t *table);

/* Sets *value to the address that the instruction puts into a call's first argument, if it does. */
void walk_note_argument(const uint8_t *p, const struct insn *in, uint64_t *value);

/* Returns the length of one piece of padding, a nop or a trap, at p; 0: there is none. */
size_t walk_padding(const uint8_t *p, size_t n);
/* True if the WALK_BEFORE bytes before an address, as many as the longest instruction has, are
 * padding, or may end with an instruction that control does not pass: so a function may begin
 * there. aligned: the address is. */
bool walk_may_end(const uint8_t *before, bool aligned);
