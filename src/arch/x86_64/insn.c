/* Lengths by table. Each opcode has what follows it; opcodes that are rare, invalid in 64-bit
 * mode or irregular are marked SLOW and left to Zydis. tests/arch compares the two over all the
 * code of many programs. */
#include "arch/x86_64/insn.h"

#include <string.h>

#include <Zydis/Decoder.h>

enum shape {
	SLOW,  /* ask Zydis */
	NONE,  /* nothing behind the opcode */
	I8, I16, IZ,       /* immediate; Z: 4 bytes, with a 66 prefix 2 */
	IV,                /* as Z, with REX.W 8 bytes */
	M, M8, MZ,         /* modrm, and an immediate */
	G8, GZ,            /* modrm, and an immediate if its reg field is 0 or 1 (test) */
	R8, R32,           /* relative branch */
	PREFIX, ESCAPE,
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
	M8, M8, I16, NONE, SLOW, SLOW, M8, MZ, SLOW, NONE, SLOW, SLOW, NONE, I8, SLOW, SLOW, /* c0 */
	M, M, M, M, SLOW, SLOW, SLOW, NONE, M, M, M, M, M, M, M, M,     /* d0: shifts, x87 */
	R8, R8, R8, R8, SLOW, SLOW, SLOW, SLOW, R32, R32, SLOW, R8, SLOW, SLOW, SLOW, SLOW, /* e0 */
	PREFIX, SLOW, PREFIX, PREFIX, NONE, NONE, G8, GZ, NONE, NONE, SLOW, SLOW, NONE, NONE, M, M, /* f0 */
#undef ALU
};

static const uint8_t two_byte[256] = {
	SLOW, SLOW, SLOW, SLOW, SLOW, NONE, SLOW, SLOW, SLOW, SLOW, SLOW, NONE, SLOW, M, SLOW, SLOW, /* 00 */
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

	switch (in->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return direct ? FLOW_CALL : FLOW_CALL_INDIRECT;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? FLOW_JUMP : FLOW_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_COND_BR:
		return FLOW_BRANCH;
	case ZYDIS_CATEGORY_RET:
		return FLOW_STOP;
	default:
		break;
	}
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2: case ZYDIS_MNEMONIC_HLT:
		return FLOW_STOP;
	case ZYDIS_MNEMONIC_XBEGIN:
		return FLOW_BRANCH;
	default:
		return FLOW_NEXT;
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

/* Bytes of modrm, sib and displacement; at least 2 bytes must be readable. */
static size_t modrm_size(const uint8_t *p)
{
	uint8_t mod = p[0] >> 6, rm = p[0] & 7;
	bool sib = mod != 3 && rm == 4;

	switch (mod) {
	case 0:
		return 1u + sib + (rm == 5 || (sib && (p[1] & 7) == 5) ? 4 : 0);
	case 1:
		return 2u + sib;
	case 2:
		return 5u + sib;
	default:
		return 1;
	}
}

static size_t immediate_size(enum shape s, const struct insn *in)
{
	static const uint8_t sizes[] = { [I8] = 1, [I16] = 2, [IZ] = 4, [IV] = 4, [M8] = 1, [MZ] = 4,
					 [G8] = 1, [GZ] = 4, [R8] = 1, [R32] = 4, [ESCAPE] = 0 };
	bool small = in->prefixes & PREFIX_66;

	if (s == IV && (in->rex & 8))
		return 8;
	if ((s == G8 || s == GZ) && (in->modrm & 0x30))
		return 0;
	if ((s == IZ || s == IV || s == MZ || s == GZ) && small && !(in->rex & 8))
		return 2;
	return sizes[s];
}

static enum insn_flow flow_by_opcode(const struct insn *in)
{
	if (in->map == MAP_0F)
		return in->opcode >> 4 == 8 ? FLOW_BRANCH : in->opcode == 0x0b ? FLOW_STOP : FLOW_NEXT;
	if (in->map != MAP_ONE)
		return FLOW_NEXT;
	switch (in->opcode) {
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3:
		return FLOW_BRANCH;
	case 0xc2: case 0xc3: case 0xf4:
		return FLOW_STOP;
	case 0xe8:
		return FLOW_CALL;
	case 0xe9: case 0xeb:
		return FLOW_JUMP;
	case 0xff:
		switch (in->modrm >> 3 & 7) {
		case 2: case 3:
			return FLOW_CALL_INDIRECT;
		case 4: case 5:
			return FLOW_JUMP_INDIRECT;
		}
	}
	return FLOW_NEXT;
}

static uint64_t relative(const uint8_t *p, size_t size, uint64_t end)
{
	int32_t rel;

	if (size == 1)
		return end + (uint64_t)(int64_t)(int8_t)*p;
	memcpy(&rel, p, sizeof(rel));
	return end + (uint64_t)(int64_t)rel;
}

/* Two-byte VEX and its three-byte form: the same opcodes as without, in a smaller selection. */
static enum shape vex_shape(const uint8_t *p, size_t *at, struct insn *out)
{
	unsigned map = p[*at] == 0xc5 ? 1 : p[*at + 1] & 0x1f;

	*at += p[*at] == 0xc5 ? 2 : 3;
	out->map = MAP_VEX;
	out->opcode = p[*at];
	if (map == 3)
		return M8;
	if (map == 2)
		return M;
	if (map != 1 || out->opcode == 0x77)
		return SLOW;
	return two_byte[out->opcode] == M8 ? M8 : M;
}

static enum shape legacy_shape(const uint8_t *p, size_t *at, struct insn *out)
{
	enum shape s = one_byte[p[*at]];

	if (s == ESCAPE) {
		out->map = MAP_0F;
		s = two_byte[p[++*at]];
		if (s == ESCAPE) {
			out->map = p[*at] == 0x38 ? MAP_0F38 : MAP_0F3A;
			++*at;
			s = out->map == MAP_0F38 ? M : M8;
		}
	}
	out->opcode = p[*at];
	return s;
}

static size_t read_prefixes(const uint8_t *p, struct insn *out)
{
	size_t at = 0;

	for (; one_byte[p[at]] == PREFIX; at++) {
		if (p[at] >> 4 == 4) {
			out->rex = p[at++];
			break;
		}
		out->prefixes |= prefix_bit(p[at]);
		if (at == 4)
			break;
	}
	return at;
}

/* 16-bit branches, and xbegin, which looks like a mov. */
static bool irregular(enum shape s, const struct insn *in)
{
	return ((s == R8 || s == R32) && (in->prefixes & PREFIX_66)) ||
	       (in->map == MAP_ONE && in->opcode == 0xc7 && in->modrm == 0xf8);
}

bool insn_decode(const uint8_t *p, size_t n, uint64_t vaddr, struct insn *out)
{
	enum shape s;
	size_t at, imm;

	if (n < 24) /* so that nothing below needs to look where the bytes end */
		return decode_slowly(p, n, vaddr, out);
	memset(out, 0, sizeof(*out));
	at = read_prefixes(p, out);
	if ((p[at] == 0xc5 || p[at] == 0xc4) && !out->rex && !out->prefixes)
		s = vex_shape(p, &at, out);
	else
		s = legacy_shape(p, &at, out);
	if (s == SLOW || s == PREFIX)
		return decode_slowly(p, n, vaddr, out);
	at++;
	if (s >= M && s <= GZ) {
		out->modrm_at = (uint8_t)at;
		out->modrm = p[at];
		out->rip = (out->modrm & 0xc7) == 0x05;
		at += modrm_size(p + at);
	}
	if (irregular(s, out))
		return decode_slowly(p, n, vaddr, out);
	imm = immediate_size(s, out);
	out->len = (uint8_t)(at + imm);
	if (out->len > 15)
		return false;
	out->flow = (uint8_t)flow_by_opcode(out);
	if (out->rip)
		out->target = relative(p + out->modrm_at + 1, 4, vaddr + out->len);
	else if (s == R8 || s == R32)
		out->target = relative(p + at, imm, vaddr + out->len);
	return true;
}
