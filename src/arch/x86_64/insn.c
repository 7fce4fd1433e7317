/* SPDX-License-Identifier: MIT */
/* Instruction lengths by table. hook/sweep.c decodes whole texts with it, on any thread; no state.
 * Each opcode has a byte that describes the rest of the instruction; rare, invalid or irregular
 * opcodes are left to Zydis, which alone decides that bytes are no instruction. The common path has
 * no branch on the instruction's form, because mispredicting those is what decoding costs.
 * tests/arch compares the two decoders over all the code of many programs. */
#include "arch/insn.h"

#include <string.h>

#include <Zydis/Decoder.h>

/* Description of an opcode: bytes of immediate, MODRM if there is one, and whether control goes
 * on. */
#define IMM 7        /* mask of the immediate's size */
#define MODRM 8
#define WIDE 0x10    /* the immediate is 2 bytes with a 66 prefix; 8 with REX.W if it is a mov's */
#define FLOW 0x20    /* not FLOW_NEXT, or depending on the modrm byte */
#define SPECIAL 0x80 /* none of the above: */
enum {
	SLOW = SPECIAL,
	PREFIX,
	ESCAPE,
	VEX,
	/* The opcode alone, with an immediate of 1, 2 or 4 bytes (z: 2 with a 66 prefix; v: 8 with
	 * REX.W), or with a modrm byte and such an immediate. */
	NONE = 0,
	I8 = 1,
	I16 = 2,
	IZ = 4 | WIDE,
	IV = IZ,
	M = MODRM,
	M8 = MODRM | 1,
	MZ = MODRM | 4 | WIDE,
	/* test among others; call and jmp among others */
	G8 = M | FLOW,
	GZ = M | FLOW,
	GM = M | FLOW,
	/* Branches with a distance of 1 or 4 bytes, and instructions that control does not pass. */
	R8 = 1 | FLOW,
	R32 = 4 | FLOW,
	STOP = FLOW,
	RET16 = 2 | FLOW,
	MOVZ = MZ | FLOW /* or xbegin */
};

/* By opcode; a comment before each 16 says what most of them are. */
static const uint8_t one_byte[256] = {
#define ALU M, M, M, M, I8, IZ
	/* 00: add, or */
	ALU,
	SLOW,
	SLOW,
	ALU,
	SLOW,
	ESCAPE,
	/* 10: adc, sbb */
	ALU,
	SLOW,
	SLOW,
	ALU,
	SLOW,
	SLOW,
	/* 20: and, sub */
	ALU,
	PREFIX,
	SLOW,
	ALU,
	PREFIX,
	SLOW,
	/* 30: xor, cmp */
	ALU,
	PREFIX,
	SLOW,
	ALU,
	PREFIX,
	SLOW,
	/* 40: rex prefixes */
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	/* 50: push, pop */
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	/* 60: movsxd, segment and size prefixes, push, imul */
	SLOW,
	SLOW,
	SLOW,
	M,
	PREFIX,
	PREFIX,
	PREFIX,
	PREFIX,
	IZ,
	MZ,
	I8,
	M8,
	NONE,
	NONE,
	NONE,
	NONE,
	/* 70: jcc */
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	R8,
	/* 80: group 1, test, xchg, mov, lea */
	M8,
	MZ,
	SLOW,
	M8,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	SLOW,
	M,
	SLOW,
	SLOW,
	/* 90: xchg, nop, and others without operands */
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	SLOW,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	/* a0: mov by absolute address, test, string instructions */
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	NONE,
	NONE,
	NONE,
	NONE,
	I8,
	IZ,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	/* b0: mov of an immediate */
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	IV,
	IV,
	IV,
	IV,
	IV,
	IV,
	IV,
	IV,
	/* c0: shifts, ret, VEX, mov, leave, int */
	M8,
	M8,
	RET16,
	STOP,
	VEX,
	VEX,
	M8,
	MOVZ,
	SLOW,
	NONE,
	SLOW,
	SLOW,
	NONE,
	I8,
	SLOW,
	SLOW,
	/* d0: shifts, x87 */
	M,
	M,
	M,
	M,
	SLOW,
	SLOW,
	SLOW,
	NONE,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	/* e0: loops, in and out, call, jmp */
	R8,
	R8,
	R8,
	R8,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	R32,
	R32,
	SLOW,
	R8,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	/* f0: lock and repeat prefixes, groups 3 to 5 */
	PREFIX,
	SLOW,
	PREFIX,
	PREFIX,
	STOP,
	NONE,
	G8,
	GZ,
	NONE,
	NONE,
	SLOW,
	SLOW,
	NONE,
	NONE,
	M,
	GM,
#undef ALU
};

/* Opcodes after 0f. */
static const uint8_t two_byte[256] = {
	/* 00: system instructions, ud2 */
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	NONE,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	STOP,
	SLOW,
	M,
	SLOW,
	SLOW,
	/* 10: SSE moves, nop */
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	M,
	M,
	/* 20: control registers, SSE */
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	/* 30: rdtsc, the escapes 0f 38 and 0f 3a */
	SLOW,
	NONE,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	ESCAPE,
	SLOW,
	ESCAPE,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	/* 40: cmov */
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	/* 50: SSE */
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	/* 60: MMX */
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	/* 70: shuffles and shifts */
	M8,
	M8,
	M8,
	M8,
	M,
	M,
	M,
	NONE,
	SLOW,
	SLOW,
	SLOW,
	SLOW,
	M,
	M,
	M,
	M,
	/* 80: jcc */
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	R32,
	/* 90: setcc */
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	/* a0: cpuid, bt, shld, imul */
	NONE,
	NONE,
	NONE,
	M,
	M8,
	M,
	SLOW,
	SLOW,
	NONE,
	NONE,
	SLOW,
	M,
	M8,
	M,
	M,
	M,
	/* b0: cmpxchg, btr, movzx, bsf, movsx */
	M,
	M,
	SLOW,
	M,
	SLOW,
	SLOW,
	M,
	M,
	M,
	SLOW,
	M8,
	M,
	M,
	M,
	M,
	M,
	/* c0: xadd, SSE, bswap */
	M,
	M,
	M8,
	M,
	M8,
	M8,
	M8,
	M,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	/* d0: MMX, SSE */
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	/* e0: MMX, SSE */
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	/* f0: MMX, SSE */
	SLOW,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	SLOW,
};

/* Returns the flag of a prefix byte other than rex; 0 if it is none. */
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

/* Returns where control goes after the instruction. `direct`: the immediate is a distance. */
static enum insn_flow flow_of(const ZydisDecodedInstruction *in)
{
	bool direct = in->raw.imm[0].is_relative;

	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return direct ? FLOW_CALL : FLOW_CALL_INDIRECT;
	case ZYDIS_MNEMONIC_JMP:
		return direct ? FLOW_JUMP : FLOW_JUMP_INDIRECT;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return FLOW_STOP;
	default:
		return in->meta.category == ZYDIS_CATEGORY_RET ? FLOW_STOP
		       : direct				       ? FLOW_BRANCH
							       : FLOW_NEXT;
	}
}

/* Decodes by Zydis: rare opcodes, and the last bytes of a text. False: no instruction. */
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
	out->map = in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
				   in.opcode_map <= ZYDIS_OPCODE_MAP_0F3A
			   ? (uint8_t)in.opcode_map
			   : MAP_VEX;
	for (unsigned i = 0; i < in.raw.prefix_count; i++)
		out->prefixes |= prefix_bit(in.raw.prefixes[i].value);
	/* Offset 0 is a place like any other: most instructions begin with it. */
	if (in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	    in.attributes & ZYDIS_ATTRIB_HAS_REX)
		out->rex = p[in.raw.rex.offset];
	if (in.attributes & ZYDIS_ATTRIB_HAS_MODRM) {
		out->modrm_at = in.raw.modrm.offset;
		out->modrm = p[in.raw.modrm.offset];
		out->relative = (out->modrm & 0xc7) == 0x05;
	}
	/* The operand's address, or the branch's target; nothing for other instructions. */
	out->target = vaddr + in.length +
		      (out->relative ? (uint64_t)in.raw.disp.value : in.raw.imm[0].value.u);
	return true;
}

/* Bytes of modrm, sib and displacement, except for a sib byte without base. */
static const uint8_t modrm_sizes[256] = {
#define EIGHT(n, sib, five) n, n, n, n, sib, five, n, n
#define SIXTYFOUR(n, sib, five)                                                               \
	EIGHT(n, sib, five), EIGHT(n, sib, five), EIGHT(n, sib, five), EIGHT(n, sib, five),   \
	EIGHT(n, sib, five), EIGHT(n, sib, five), EIGHT(n, sib, five), EIGHT(n, sib, five)
	SIXTYFOUR(1, 2, 5), SIXTYFOUR(2, 3, 2), SIXTYFOUR(5, 6, 5), SIXTYFOUR(1, 1, 1),
#undef SIXTYFOUR
#undef EIGHT
};

/* Returns the signed distance of 1 or 4 bytes at p. */
static int64_t relative_operand(const uint8_t *p, size_t size)
{
	int32_t rel;

	if (size == 1)
		return (int8_t)*p;
	memcpy(&rel, p, sizeof(rel));
	return rel;
}

/* Finishes opcodes marked FLOW. p is after the modrm byte's operand, or after the opcode. False:
 * Zydis must decode it. */
static bool finish_flow(const uint8_t *p, uint64_t vaddr, uint8_t what, struct insn *out)
{
	/* Opcode ff is a group: the modrm byte's reg field says inc, dec, call, call far, jmp, jmp
	 * far, push. */
	static const uint8_t by_ff[8] = { FLOW_NEXT,	      FLOW_NEXT,
					  FLOW_CALL_INDIRECT, FLOW_CALL_INDIRECT,
					  FLOW_JUMP_INDIRECT, FLOW_JUMP_INDIRECT,
					  FLOW_NEXT,	      FLOW_NEXT };
	unsigned reg = out->modrm >> 3 & 7;

	if (what == STOP || what == RET16) {
		out->flow = FLOW_STOP;
		return true;
	}
	if (what & MODRM) {
		if (out->opcode == 0xff)
			out->flow = by_ff[reg];
		else if (out->opcode == 0xf6)
			/* test, with reg 0 and 1, is the only one of the group with an
			 * immediate. */
			out->len += reg < 2;
		else if (out->opcode == 0xf7)
			out->len += reg >= 2					     ? 0
				    : (out->prefixes & PREFIX_66) && !(out->rex & 8) ? 2
										     : 4;
		else
			/* c7 f8 is xbegin; any other is a mov. */
			return out->modrm != 0xf8;
		return true;
	}
	out->flow = out->map == MAP_0F ? FLOW_BRANCH : out->opcode == 0xe8 ? FLOW_CALL :
		    out->opcode == 0xe9 || out->opcode == 0xeb ? FLOW_JUMP : FLOW_BRANCH;
	out->target = vaddr + out->len + (uint64_t)relative_operand(p, what & IMM);
	/* Processors differ in a branch with a 66 prefix. */
	return !(out->prefixes & PREFIX_66);
}

bool insn_has_field(const struct insn *in)
{
	return in->len > 4 && !(in->prefixes & PREFIX_66);
}

/* Size of the immediate of an opcode marked WIDE, whose plain size is 4. */
static unsigned wide_size(const struct insn *in)
{
	if (in->rex & 8)
		return in->map == MAP_ONE && in->opcode >= 0xb8 && in->opcode <= 0xbf ? 8 : 4;
	return in->prefixes & PREFIX_66 ? 2 : 4;
}

/* Decodes an escape after the prefixes; *at becomes the offset of the opcode's last byte. */
static uint8_t decode_escaped(const uint8_t *p, size_t *at, struct insn *out)
{
	uint8_t what = two_byte[p[++*at]];

	out->map = MAP_0F;
	if (what != ESCAPE)
		return what;
	out->map = p[(*at)++] == 0x38 ? MAP_0F38 : MAP_0F3A;
	return out->map == MAP_0F38 ? M : M8;
}

/* VEX has the opcodes of the 0f maps, in a smaller selection. */
static uint8_t decode_vex(const uint8_t *p, size_t *at, struct insn *out)
{
	unsigned map = p[*at] == 0xc5 ? 1 : p[*at + 1] & 0x1f;
	uint8_t opcode;

	/* A rex or 66, f2, f3, f0 prefix before VEX is an error, which Zydis tells. */
	if (out->rex || out->prefixes)
		return SLOW;
	*at += p[*at] == 0xc5 ? 2 : 3;
	opcode = p[*at];
	out->map = MAP_VEX;
	if (map == 3 || map == 2)
		return map == 3 ? M8 : M;
	return map != 1 || (two_byte[opcode] & MODRM) == 0 ? SLOW : two_byte[opcode];
}

/* Reads prefixes other than a leading rex, and describes the opcode after them. */
static uint8_t decode_prefixed(const uint8_t *p, size_t *at, struct insn *out)
{
	uint8_t what = PREFIX;

	for (unsigned i = 0; what == PREFIX && i < 6; i++) {
		if (out->rex)
			return SLOW; /* a rex that is not last has no effect */
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

	if (n < 24) /* with so many nothing below has to check for the end */
		return decode_slowly(p, n, vaddr, out);
	*out = (struct insn){ .rex = rex ? p[0] : 0 };
	/* A leading rex is so common that it does not count as a prefix. */
	what = one_byte[p[at]];
	if (what & SPECIAL) {
		what = what == PREFIX ? decode_prefixed(p, &at, out) : what;
		what = what == ESCAPE ? decode_escaped(p, &at, out)
		       : what == VEX  ? decode_vex(p, &at, out)
				      : what;
		if (what & SPECIAL)
			return decode_slowly(p, n, vaddr, out);
	}
	out->opcode = p[at++];
	/* The byte behind the opcode is read in any case and masked, which needs no branch. */
	has_modrm = what & MODRM ? 0xff : 0;
	out->modrm_at = (uint8_t)at & has_modrm;
	out->modrm = p[at] & has_modrm;
	sizes = modrm_sizes[p[at]] & has_modrm;
	if ((p[at] & 0xc7 & has_modrm) == 0x04 && has_modrm && (p[at + 1] & 7) == 5)
		/* A sib byte without base: a displacement of 4 bytes follows although mod is 0. */
		sizes += 4;
	at += sizes;
	out->len = (uint8_t)(at + (what & WIDE ? wide_size(out) : what & IMM));
	if ((what & FLOW) && !finish_flow(p + at, vaddr, what, out))
		return decode_slowly(p, n, vaddr, out);
	if ((out->modrm & 0xc7) == 0x05 && has_modrm) {
		out->relative = true;
		out->target =
			vaddr + out->len + (uint64_t)relative_operand(p + out->modrm_at + 1, 4);
	}
	/* The processor refuses longer ones, whatever their prefixes. */
	return out->len <= 15;
}
