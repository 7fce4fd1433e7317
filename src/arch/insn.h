/* SPDX-License-Identifier: MIT */
/* One instruction, in the detail that a sweep over a whole program needs: its length, its
 * successors, the address it names. About twenty times as fast as a full decoder, which handles
 * everything rare. All functions are free of state and may be called on any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/machine.h"

enum insn_flow {
	FLOW_NEXT,          /* continues after itself */
	FLOW_BRANCH,        /* conditional, to target */
	FLOW_CALL,          /* to target */
	FLOW_CALL_INDIRECT,
	FLOW_JUMP,          /* to target */
	FLOW_JUMP_INDIRECT,
	FLOW_STOP,          /* a return, or what ends the program */
};

/* The machine's part has struct insn, of which every machine's has the members
 *   len        bytes
 *   flow       enum insn_flow
 *   relative   true if the instruction names target by an operand relative to the pc
 *   target     of the branch, or of the operand
 * and the constants that the functions below name. */
#include MACHINE_HEADER(insn.h)

/* Decodes the instruction at p, whose address is vaddr. False: no instruction, or one that does not
 * end within n bytes. */
bool insn_decode(const uint8_t *p, size_t n, uint64_t vaddr, struct insn *out);

/* Effects on the status flags, a bit for each; FLAGS_ALL has all of them. */
struct insn_flags {
	uint16_t read;      /* needed by the instruction */
	uint16_t lost;      /* changed, or undefined afterwards */
};
/* Returns the flags that the instruction reads and changes. */
struct insn_flags insn_flags(const uint8_t *p, const struct insn *in);

/* Returns the length of the no-operation at p, in any form that assemblers pad with; 0: none. A
 * trap is not one. */
size_t insn_nop(const uint8_t *p, size_t n);
/* True for the INSN_XRAY_SLED_BYTES that -fxray-instrument puts at a function's entry. */
bool insn_is_xray_sled(const uint8_t *p, size_t n);

/* Adds to *delta the change of the stack pointer; false: the change is not known. A call counts
 * with its return. */
bool insn_stack(const uint8_t *p, const struct insn *in, int64_t *delta);

/* True if the instruction takes the address of its operand; names one and loads nothing from it;
 * makes the stack pointer the frame pointer. */
bool insn_takes_address(const struct insn *in);
bool insn_only_names(const struct insn *in);
bool insn_makes_frame(const uint8_t *p, const struct insn *in);
/* True for a return to the caller, of any kind. */
bool insn_is_return(const struct insn *in);
/* FLOW_JUMP_INDIRECT: true if a register has the target. */
bool insn_jumps_by_register(const struct insn *in);

/* --- system calls: insn_number.c ------------------------------------------------------------ */

/* True if the target of the call, jump or branch is a displacement of four bytes: not one byte, and
 * no prefix that cuts the target on some processors. */
bool insn_has_field(const struct insn *in);

/* True if the instruction at p, decoded in *in, is a system call of this machine, which has
 * INSN_SYSTEM_CALL_BYTES. */
bool insn_is_system_call(const uint8_t *p, const struct insn *in);
/* True for the instruction by which compilers put a constant where a system call's number is, or
 * its first argument. */
bool insn_sets_number(const uint8_t *p, const struct insn *in, uint32_t *number);
bool insn_sets_first(const uint8_t *p, const struct insn *in, uint32_t *first);
/* insn_sets_number() in every form in which it is written. */
bool insn_loads_number(const uint8_t *p, const struct insn *in, uint32_t *number);
/* True if the instruction certainly leaves the number alone. */
bool insn_keeps_number(const struct insn *in);
bool insn_is_nop(const struct insn *in);
/* True for a constant of 32 bits into a register other than the number's, by an instruction of
 * INSN_LOAD_BYTES. */
bool insn_loads_other(const uint8_t *p, const struct insn *in, unsigned *reg, uint32_t *value);
/* True if a system call stands at p + INSN_END_LOADS in the loop by which glibc ends a thread, with
 * its number in the register. INSN_END_BYTES are readable. */
bool insn_is_end_loop(const uint8_t *p, unsigned reg);

/* True for a load of 8 bytes from a displacement from the stack pointer, or from the frame pointer;
 * *offset is then the displacement. */
bool insn_loads_by_sp(const uint8_t *p, const struct insn *in, int64_t *offset);
bool insn_loads_by_fp(const uint8_t *p, const struct insn *in, int64_t *offset);

/* Source and destination of a 64-bit copy: numbers of registers, all below COPY_FRAME (INSN_SP and
 * INSN_FP are the stack pointer and the frame pointer; INSN_KEPT has a bit for each of the others
 * that a call keeps); or COPY_FRAME, memory of the frame at `slot`; or COPY_ELSEWHERE, other
 * memory. */
struct insn_copy {
	uint8_t from, to;
	bool exchange;      /* the other way, too */
	uint8_t base;       /* COPY_FRAME: INSN_SP or INSN_FP */
	int64_t slot;       /* COPY_FRAME: displacement from it */
};
/* True for a copy, in any form. The address of something in the frame counts as a copy of its
 * base. */
bool insn_copy(const uint8_t *p, const struct insn *in, struct insn_copy *out);

/* Returns a number that code linked for fixed addresses may mean as an address: a constant, or
 * the whole address of an operand. 0: none. */
uint64_t insn_absolute(const uint8_t *p, const struct insn *in);
