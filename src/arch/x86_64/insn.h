/* SPDX-License-Identifier: MIT */
/* arch/insn.h for x86-64: the parts of an instruction, its flags, and numbers of registers as the
 * modrm byte has them. */
#pragma once

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
	bool relative;
	uint64_t target;
};

/* Status flags, as bits of the flags register. */
#define FLAG_CF 0x001
#define FLAG_PF 0x004
#define FLAG_AF 0x010
#define FLAG_ZF 0x040
#define FLAG_SF 0x080
#define FLAG_OF 0x800
#define FLAGS_ALL (FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF)

#define INSN_SP 4u
#define INSN_FP 5u
#define INSN_KEPT 0xf008u /* rbx, r12 to r15 */

#define INSN_XRAY_SLED_BYTES 11u
#define INSN_SYSTEM_CALL_BYTES 2u
#define INSN_LOAD_BYTES 5u
#define INSN_END_LOADS 4u
#define INSN_END_BYTES 8u

/* Behind the numbers of the sixteen registers. */
#define COPY_FRAME 16u
#define COPY_ELSEWHERE 17u
