/* SPDX-License-Identifier: MIT */
/* Lengths by table. Each opcode has a byte that says what follows it; opcodes that are rare,
 * invalid in 64-bit mode or irregular are left to Zydis. The common path is written without
 * branches on the instruction's form: mispredicting them is what decoding costs. tests/arch
 * compares the two decoders over all the code of many programs. */
#include "arch/x86_64/insn.h"

#include <string.h>

#include <Zydis/Decoder.h>

/* What follows an opcode: bytes of immediate, MODRM if there is one, and whether control
 * goes on. */
#define IMM 7        /* mask of the immediate's size */
#define MODRM 8
#define WIDE 0x10    /* the immediate is 2 bytes with a 66 prefix; with REX.W 8 if it is a mov's */
#define FLOW 0x20    /* not FLOW_NEXT, or depending on the modrm byte */
#define SPECIAL 0x80 /* none of this: */
enum {
	SLOW = SPECIAL, PREFIX, ESCAPE, VEX,
	NONE = 0, I8 = 1, I16 = 2, IZ = 4 | WIDE, IV = IZ,
	M = MODRM, M8 = MODRM | 1, MZ = MODRM | 4 | WIDE,
	G8 = M | FLOW, GZ = M | FLOW, GM = M | FLOW, /* test among others; call and jmp among others */
	R8 = 1 | FLOW, R32 = 4 | FLOW, STOP = FLOW, RET16 = 2 | FLOW, MOVZ = MZ | FLOW /* or xbegin */
};

static const uint8_t one_byte[256] = {
#define ALU M, M, M, M, I8, IZ
	ALU, SLOW, SLOW, ALU, SLOW, ESCAPE,     /* 00: add, or */
	ALU, SLOW, SLOW, ALU, SLOW, SLOW,       /* 10: adc, sbb */
	ALU, PREFIX, SLOW, ALU, PREFIX, SLOW,   /* 20: and, sub */
	ALU, PREFIX, SLOW, ALU, PREFIX, SLOW,   /* 30: xor, cmp */
	PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, /* 40: rex */
	PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, PREFIX,
	NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,  /* 50: push, pop */
	NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
	SLOW, SLOW, SLOW, M, PREFIX, PREFIX, PREFIX, PREFIX, /* 60 */
	IZ, MZ, I8, M8, NONE, NONE, NONE, NONE,
	R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, /* 70: jcc */
	M8, MZ, SLOW, M8, M, M, M, M, M, M, M, M, SLOW, M, SLOW, SLOW,  /* 80 */
	NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, SLOW, NONE, NONE, NONE, NONE, NONE, /* 90 */
	SLOW, SLOW, SLOW, SLOW, NONE, NONE, NONE, NONE, I8, IZ, NONE, NONE, NONE, NONE, NONE, NONE, /* a0 */
	I8, I8, I8, I8, I8, I8, I8, I8, IV, IV, IV, IV, IV, IV, IV, IV, /* b0: mov imm */
	M8, M8, RET16, STOP, VEX, VEX, M8, MOVZ, SLOW, NONE, SLOW, SLOW, NONE, I8, SLOW, SLOW, /* c0 */
	M, M, M, M, SLOW, SLOW, SLOW, NONE, M, M, M, M, M, M, M, M,     /* d0: shifts, x87 */
	R8, R8, R8, R8, SLOW, SLOW, SLOW, SLOW, R32, R32, SLOW, R8, SLOW, SLOW, SLOW, SLOW, /* e0 */
	PREFIX, SLOW, PREFIX, PREFIX, STOP, NONE, G8, GZ, NONE, NONE, SLOW, SLOW, NONE, NONE, M, GM, /* f0 */
#undef ALU
};

static const uint8_t two_byte[256] = {
	SLOW, SLOW, SLOW, SLOW, SLOW, NONE, SLOW, SLOW, SLOW, SLOW, SLOW, STOP, SLOW, M, SLOW, SLOW, /* 00 */
	M, M, M, M, M, M, M, M, M, SLOW, SLOW, SLOW, SLOW, SLOW, M, M,  /* 10: sse moves, nop */
	SLOW, SLOW, SLOW, SLOW, SLOW, SLOW, SLOW, SLOW, M, M, M, M, M, M, M, M, /* 20 */
	SLOW, NONE, SLOW, SLOW, SLOW, SLOW, SLOW, SLOW, ESCAPE, SLOW, ESCAPE, SLOW, SLOW, SLOW, SLOW, SLOW, /* 30 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                 /* 40: cmov */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                 /* 50 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                 /* 60 */
	M8, M8, M8, M8, M, M, M, NONE, SLOW, SLOW, SLOW, SLOW, M, M, M, M, /* 70 */
	R32, R32, R32, R32, R32, R32, R32, R32, R32, R32, R32, R32, R32, R32, R32, R32, /* 80: jcc */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                 /* 90: setcc */
	NONE, NONE, NONE, M, M8, M, SLOW, SLOW, NONE, NONE, SLOW, M, M8, M, M, M, /* a0 */
	M, M, SLOW, M, SLOW, SLOW, M, M, M, SLOW, M8, M, M, M, M, M,    /* b0 */
	M, M, M8, M, M8, M8, M8, M, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, /* c0 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                 /* d0: mmx, sse */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	SLOW, M, M, M, M, M, M, M, M, M, M, M, M, M, M, SLOW,
};

/* Flags of the prefixes; rex apart. */
static uint8_t prefix_bit(uint8_t byte)
{
	switch (byte) {
	case 0x66: return PREFIX_66;
	case 0x67: return PREFIX_67;
	case 0xf0: return PREFIX_LOCK;
	case 0xf2: return PREFIX_F2;
	case 0xf3: return PREFIX_F3;
	case 0x64: case 0x65: return PREFIX_SEGMENT;
	default: return 0;
	}
}

static enum insn_flow flow_of(const ZydisDecodedInstruction *in)
{
	bool direct = in->raw.imm[0].is_relative;

	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return direct ? FLOW_CALL : FLOW_CALL_INDIRECT;
	case ZYDIS_MNEMONIC_JMP:
		return direct ? FLOW_JUMP : FLOW_JUMP_INDIRECT;
	case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2: case ZYDIS_MNEMONIC_HLT:
		return FLOW_STOP;
	default:
		return in->meta.category == ZYDIS_CATEGORY_RET ? FLOW_STOP : direct ? FLOW_BRANCH : FLOW_NEXT;
	}
}

static bool decode_slowly(const uint8_t *p, size_t n, uint64_t vaddr, struct insn *out)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction in;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	*out = (struct insn){ 0 };
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, p, n, &in)))
		return false;
	out->len = in.length;
	out->flow = (uint8_t)flow_of(&in);
	out->opcode = in.opcode;
	out->map = in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && in.opcode_map <= ZYDIS_OPCODE_MAP_0F3A ?
		   (uint8_t)in.opcode_map : MAP_VEX;
	for (unsigned i = 0; i < in.raw.prefix_count; i++)
		out->prefixes |= prefix_bit(in.raw.prefixes[i].value);
	if (in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && in.raw.rex.offset)
		out->rex = p[in.raw.rex.offset];
	if (in.attributes & ZYDIS_ATTRIB_HAS_MODRM) {
		out->modrm_at = in.raw.modrm.offset;
		out->modrm = p[in.raw.modrm.offset];
		out->rip = (out->modrm & 0xc7) == 0x05;
	}
	out->target = vaddr + in.length + (out->rip ? (uint64_t)in.raw.disp.value : in.raw.imm[0].value.u);
	return true;
}

/* Bytes of modrm, sib and displacement, but for a sib byte without base. */
static const uint8_t modrm_sizes[256] = {
#define EIGHT(n, sib, five) n, n, n, n, sib, five, n, n
#define SIXTYFOUR(n, sib, five)                                                               \
	EIGHT(n, sib, five), EIGHT(n, sib, five), EIGHT(n, sib, five), EIGHT(n, sib, five),   \
	EIGHT(n, sib, five), EIGHT(n, sib, five), EIGHT(n, sib, five), EIGHT(n, sib, five)
	SIXTYFOUR(1, 2, 5), SIXTYFOUR(2, 3, 2), SIXTYFOUR(5, 6, 5), SIXTYFOUR(1, 1, 1),
#undef SIXTYFOUR
#undef EIGHT
};

static int64_t relative(const uint8_t *p, size_t size)
{
	int32_t rel;

	if (size == 1)
		return (int8_t)*p;
	memcpy(&rel, p, sizeof(rel));
	return rel;
}

/* Opcodes marked FLOW. p is behind the modrm byte's operand, or behind the opcode. False: leave
 * it to Zydis. */
static bool finish_flow(const uint8_t *p, uint64_t vaddr, uint8_t what, struct insn *out)
{
	static const uint8_t by_ff[8] = { FLOW_NEXT, FLOW_NEXT, FLOW_CALL_INDIRECT, FLOW_CALL_INDIRECT,
					  FLOW_JUMP_INDIRECT, FLOW_JUMP_INDIRECT, FLOW_NEXT, FLOW_NEXT };
	unsigned reg = out->modrm >> 3 & 7;

	if (what == STOP || what == RET16) {
		out->flow = FLOW_STOP;
		return true;
	}
	if (what & MODRM) {
		if (out->opcode == 0xff)
			out->flow = by_ff[reg];
		else if (out->opcode == 0xf6)
			out->len += reg < 2;
		else if (out->opcode == 0xf7)
			out->len += reg >= 2 ? 0 : (out->prefixes & PREFIX_66) && !(out->rex & 8) ? 2 : 4;
		else
			return out->modrm != 0xf8;
		return true;
	}
	out->flow = out->map == MAP_0F ? FLOW_BRANCH : out->opcode == 0xe8 ? FLOW_CALL :
		    out->opcode == 0xe9 || out->opcode == 0xeb ? FLOW_JUMP : FLOW_BRANCH;
	out->target = vaddr + out->len + (uint64_t)relative(p, what & IMM);
	return !(out->prefixes & PREFIX_66);
}

/* The immediate of an opcode marked WIDE, whose plain size is 4. */
static unsigned wide_size(const struct insn *in)
{
	if (in->rex & 8)
		return in->map == MAP_ONE && in->opcode >= 0xb8 && in->opcode <= 0xbf ? 8 : 4;
	return in->prefixes & PREFIX_66 ? 2 : 4;
}

/* Behind the prefixes: *at is the opcode's last byte afterwards. */
static uint8_t escaped(const uint8_t *p, size_t *at, struct insn *out)
{
	uint8_t what = two_byte[p[++*at]];

	out->map = MAP_0F;
	if (what != ESCAPE)
		return what;
	out->map = p[(*at)++] == 0x38 ? MAP_0F38 : MAP_0F3A;
	return out->map == MAP_0F38 ? M : M8;
}

/* The same opcodes as without VEX, in a smaller selection. */
static uint8_t vex(const uint8_t *p, size_t *at, struct insn *out)
{
	unsigned map = p[*at] == 0xc5 ? 1 : p[*at + 1] & 0x1f;
	uint8_t opcode;

	if (out->rex || out->prefixes)
		return SLOW;
	*at += p[*at] == 0xc5 ? 2 : 3;
	opcode = p[*at];
	out->map = MAP_VEX;
	if (map == 3 || map == 2)
		return map == 3 ? M8 : M;
	return map != 1 || (two_byte[opcode] & MODRM) == 0 ? SLOW : two_byte[opcode];
}

/* Prefixes but for a rex that comes first, and what they lead to. */
static uint8_t prefixed(const uint8_t *p, size_t *at, struct insn *out)
{
	uint8_t what = PREFIX;

	for (unsigned i = 0; what == PREFIX && i < 6; i++) {
		if (out->rex)
			return SLOW; /* it would not be the last */
		if (p[*at] >> 4 == 4)
			out->rex = p[*at];
		else
			out->prefixes |= prefix_bit(p[*at]);
		what = one_byte[p[++*at]];
	}
	return what;
}

bool insn_decode(const uint8_t *p, size_t n, uint64_t vaddr, struct insn *out)
{
	bool rex = (p[0] & 0xf0) == 0x40;
	size_t at = rex, sizes;
	uint8_t what, has_modrm;

	if (n < 24) /* so that nothing below needs to look where the bytes end */
		return decode_slowly(p, n, vaddr, out);
	*out = (struct insn){ .rex = rex ? p[0] : 0 };
	what = one_byte[p[at]];
	if (what & SPECIAL) {
		what = what == PREFIX ? prefixed(p, &at, out) : what;
		what = what == ESCAPE ? escaped(p, &at, out) : what == VEX ? vex(p, &at, out) : what;
		if (what & SPECIAL)
			return decode_slowly(p, n, vaddr, out);
	}
	out->opcode = p[at++];
	has_modrm = what & MODRM ? 0xff : 0;
	out->modrm_at = (uint8_t)at & has_modrm;
	out->modrm = p[at] & has_modrm;
	sizes = modrm_sizes[p[at]] & has_modrm;
	if ((p[at] & 0xc7 & has_modrm) == 0x04 && has_modrm && (p[at + 1] & 7) == 5)
		sizes += 4;
	at += sizes;
	out->len = (uint8_t)(at + (what & WIDE ? wide_size(out) : what & IMM));
	if ((what & FLOW) && !finish_flow(p + at, vaddr, what, out))
		return decode_slowly(p, n, vaddr, out);
	if ((out->modrm & 0xc7) == 0x05 && has_modrm) {
		out->rip = true;
		out->target = vaddr + out->len + (uint64_t)relative(p + out->modrm_at + 1, 4);
	}
	return out->len <= 15;
}
