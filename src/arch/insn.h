/* SPDX-License-Identifier: MIT */
/* One instruction, in the detail that a sweep over a whole program needs: its length, its
 * successors, the address it names. About twenty times as fast as a full decoder, which handles
 * everything rare. All functions are free of state and may be called on any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_flow {
	FLOW_NEXT,          /* continues after itself */
	FLOW_BRANCH,        /* conditional, to target */
	FLOW_CALL,          /* to target */
	FLOW_CALL_INDIRECT,
	FLOW_JUMP,          /* to target */
	FLOW_JUMP_INDIRECT,
	FLOW_STOP,          /* ret, ud2, hlt */
};

enum insn_map {
	MAP_ONE,
	MAP_0F,
	MAP_0F38,
	MAP_0F3A,
	MAP_VEX /* or EVEX: only len, flow and relative are set */
};

#define PREFIX_66 1
#define PREFIX_F2 2
#define PREFIX_F3 4
#define PREFIX_67 8
#define PREFIX_LOCK 16
#define PREFIX_SEGMENT 32 /* fs or gs */

struct insn {
	uint8_t len;
	uint8_t flow;       /* enum insn_flow */
	uint8_t map;        /* enum insn_map */
	uint8_t opcode;     /* the last opcode byte */
	uint8_t prefixes;   /* PREFIX_* */
	uint8_t rex;        /* 0 = none */
	uint8_t modrm;      /* the byte, if modrm_at */
	uint8_t modrm_at;   /* its offset; 0 = there is none */
	bool relative;      /* names target by an operand relative to the pc */
	uint64_t target;    /* of the branch, or of the operand */
};

/* Decodes the instruction at p, whose address is vaddr. False: no instruction, or one that does not
 * end within n bytes. */
bool insn_decode(const uint8_t *p, size_t n, uint64_t vaddr, struct insn *out);

/* Status flags, as bits of the flags register. */
#define FLAG_CF 0x001
#define FLAG_PF 0x004
#define FLAG_AF 0x010
#define FLAG_ZF 0x040
#define FLAG_SF 0x080
#define FLAG_OF 0x800
#define FLAGS_ALL (FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF)

/* Effects on the status flags. */
struct insn_flags {
	uint16_t read;      /* needed by the instruction */
	uint16_t lost;      /* changed, or undefined afterwards */
};
/* Returns the flags that the instruction reads and changes. */
struct insn_flags insn_flags(const uint8_t *p, const struct insn *in);

/* Returns the length of the no-operation at p, in any form that assemblers pad with; 0: none. int3
 * is not one. */
size_t insn_nop(const uint8_t *p, size_t n);

/* Adds to *delta the change of the stack pointer; false: the change is not known. A call counts
 * with its return. */
bool insn_stack(const uint8_t *p, const struct insn *in, int64_t *delta);

/* Numbers of registers, as in insn_copy.from: stack pointer, frame pointer, and a bit for each of
 * the others that a call keeps. */
#define INSN_SP 4u
#define INSN_FP 5u
#define INSN_KEPT 0xf008u

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

#define INSN_SYSTEM_CALL_BYTES 2u
/* True if the instruction at p, decoded in *in, is a system call of this machine. */
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
#define INSN_LOAD_BYTES 5u
bool insn_loads_other(const uint8_t *p, const struct insn *in, unsigned *reg, uint32_t *value);
/* True if a system call stands at p + INSN_END_LOADS in the loop by which glibc ends a thread, with
 * its number in the register. INSN_END_BYTES are readable. */
#define INSN_END_LOADS 4u
#define INSN_END_BYTES 8u
bool insn_is_end_loop(const uint8_t *p, unsigned reg);

/* True for a load of 8 bytes from displacement(%rsp), or from displacement(%rbp); *offset is then
 * the displacement. */
bool insn_loads_rsp(const uint8_t *p, const struct insn *in, int64_t *offset);
bool insn_loads_rbp(const uint8_t *p, const struct insn *in, int64_t *offset);

/* Source and destination of a 64-bit copy. */
#define COPY_FRAME 16u     /* `slot` of the frame: memory at %rsp or %rbp */
#define COPY_ELSEWHERE 17u /* other memory */
struct insn_copy {
	uint8_t from, to;   /* a register (4 = %rsp, 5 = %rbp), or COPY_* */
	bool exchange;      /* the other way, too */
	uint8_t base;       /* COPY_FRAME: 4 or 5 */
	int64_t slot;       /* COPY_FRAME: displacement */
};
/* True for a copy: mov, xchg, cmov, pop %rsp. lea of an address in the frame counts as a copy of
 * its base. */
bool insn_copy(const uint8_t *p, const struct insn *in, struct insn_copy *out);

/* Returns a number that code linked for fixed addresses may mean as an address: a 32-bit immediate
 * of mov or push, or a displacement without base. 0: none. */
uint64_t insn_absolute(const uint8_t *p, const struct insn *in);
