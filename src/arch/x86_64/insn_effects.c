/* SPDX-License-Identifier: MIT */
/* Tells the effects of an instruction that matter to a planner: on the flags, on the stack pointer,
 * and whether it looks at the return address. hook/sweep.c asks for every instruction of a module,
 * so most are answered by their opcode at once; Zydis is asked about the flags of rare ones. No
 * state; nothing fails. */
#include "arch/insn.h"

#include <string.h>

#include <Zydis/Decoder.h>

#include "arch/code.h"

/* Register numbers and rex bits, as instructions encode them. */
#define RSP 4
#define RBP 5
#define REX_W 8
#define REX_R 4
#define REX_X 2
#define REX_B 1

static unsigned mod_of(const struct insn *in)
{
	return in->modrm >> 6;
}

static unsigned reg_of(const struct insn *in)
{
	return in->modrm >> 3 & 7;
}

/* --- flags ---------------------------------------------------------------- */

/* The slow answer, for opcodes that are not listed. */
static struct insn_flags ask_zydis(const uint8_t *p, const struct insn *in)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction full;
	const ZydisAccessedFlags *f;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, p, in->len, &full)) ||
	    !full.cpu_flags)
		return (struct insn_flags){ 0 };
	f = full.cpu_flags;
	return (struct insn_flags){ f->tested & FLAGS_ALL,
				    (f->modified | f->set_0 | f->set_1 | f->undefined) &
					    FLAGS_ALL };
}

/* Flags of jcc, setcc, cmovcc. The two codes of a pair test the same flags. */
static struct insn_flags condition_of(uint8_t opcode)
{
	static const uint16_t tested[8] = { FLAG_OF,	       FLAG_CF,
					    FLAG_ZF,	       FLAG_CF | FLAG_ZF,
					    FLAG_SF,	       FLAG_PF,
					    FLAG_SF | FLAG_OF, FLAG_SF | FLAG_OF | FLAG_ZF };

	return (struct insn_flags){ tested[opcode >> 1 & 7], 0 };
}

/* Flags of opcodes after 0f: conditions, and those that leave the flags alone. */
static struct insn_flags flags_0f(const uint8_t *p, const struct insn *in)
{
	switch (in->opcode) {
	case 0x40 ... 0x4f: case 0x80 ... 0x9f:
		return condition_of(in->opcode);
	case 0x10 ... 0x1f:
	case 0x28:
	case 0x29:
	case 0x51 ... 0x7f:
	case 0xb6:
	case 0xb7:
	case 0xbe:
	case 0xbf: case 0xc6: case 0xd0 ... 0xfe:
		return (struct insn_flags){ 0 };
	default:
		return ask_zydis(p, in);
	}
}

struct insn_flags insn_flags(const uint8_t *p, const struct insn *in)
{
	static const struct insn_flags none = { 0 }, all = { 0, FLAGS_ALL },
				       carry = { FLAG_CF, FLAGS_ALL };
	bool with_carry = (in->modrm & 0x30) == 0x10; /* adc, sbb; rcl, rcr */

	if (in->map != MAP_ONE)
		return in->map == MAP_0F ? flags_0f(p, in) : ask_zydis(p, in);
	switch (in->opcode) {
	/* add, or, and, sub, xor, cmp and test set all flags, and read none */
	case 0x00 ... 0x05: case 0x08 ... 0x0d: case 0x20 ... 0x25: case 0x28 ... 0x2d:
	case 0x30 ... 0x35: case 0x38 ... 0x3d: case 0x84: case 0x85: case 0xa8: case 0xa9:
		return all;
	/* group 1: the modrm byte's reg field says which of them; adc and sbb read the carry */
	case 0x80: case 0x81: case 0x83:
		return with_carry ? carry : all;
	case 0x70 ... 0x7f:
		return condition_of(in->opcode);
	/* push, pop, movsxd, xchg, mov, lea, nop and leave */
	case 0x50 ... 0x5f:
	case 0x63:
	case 0x68:
	case 0x6a:
	case 0x86 ... 0x8b:
	case 0x8d:
	case 0x90:
	case 0xb0 ... 0xbf: case 0xc6: case 0xc7: case 0xc9:
		return none;
	case 0xd2: case 0xd3: /* a shift by %cl, which may be 0, changes nothing for certain */
		return with_carry ? (struct insn_flags){ FLAG_CF, 0 } : none;
	default:
		return ask_zydis(p, in);
	}
}

/* --- padding ---------------------------------------------------------------- */

size_t insn_nop(const uint8_t *p, size_t n)
{
	struct insn in;
	size_t at = 0;

	/* 66 and 2e prefixes pad the usual forms. */
	while (at < n && at < 12 && (p[at] == 0x66 || p[at] == 0x2e))
		at++;
	if (at < n && p[at] == 0x90)
		return at + 1;
	if (n - at < 3 || p[at] != 0x0f || p[at + 1] != 0x1f || !insn_decode(p, n, 0, &in))
		return 0;
	return in.len;
}

/* A short jump over 9 bytes of nop. */
bool insn_is_xray_sled(const uint8_t *p, size_t n)
{
	uint64_t to;

	return n >= INSN_XRAY_SLED_BYTES && code_is_short_jump(p, 0, &to) &&
	       to == INSN_XRAY_SLED_BYTES &&
	       insn_nop(p + CODE_SHORT_JUMP_BYTES, n - CODE_SHORT_JUMP_BYTES) ==
		       INSN_XRAY_SLED_BYTES - CODE_SHORT_JUMP_BYTES;
}

/* --- the stack pointer ---------------------------------------------------------------- */

/* True if the r/m operand is the stack pointer itself. */
static bool is_rsp_rm(const struct insn *in)
{
	return mod_of(in) == 3 && (in->modrm & 7) == RSP && !(in->rex & REX_B);
}

/* True if the operand in the reg field is the stack pointer. */
static bool is_rsp_reg(const struct insn *in)
{
	return reg_of(in) == RSP && !(in->rex & REX_R);
}

/* True for displacement(%rsp) without index. */
static bool rsp_operand(const uint8_t *p, const struct insn *in, int64_t *disp)
{
	const uint8_t *sib = p + in->modrm_at + 1;
	int32_t wide;

	if (!in->modrm_at || mod_of(in) == 3 || (in->modrm & 7) != RSP ||
	    (in->rex & (REX_B | REX_X)) || (*sib & 0x3f) != 0x24 ||
	    (in->prefixes & (PREFIX_SEGMENT | PREFIX_67)))
		return false;
	memcpy(&wide, sib + 1, mod_of(in) == 2 ? 4 : 0);
	*disp = mod_of(in) == 0 ? 0 : mod_of(in) == 1 ? (int8_t)sib[1] : wide;
	return true;
}

/* Returns the immediate at the instruction's end, extended by its sign. */
static int64_t trailing_immediate(const uint8_t *p, const struct insn *in, size_t size)
{
	int32_t wide;

	if (size == 1)
		return (int8_t)p[in->len - 1];
	memcpy(&wide, p + in->len - 4, 4);
	return wide;
}

/* add, sub and others with an immediate, of which only these two move the stack pointer by a known
 * amount. */
static bool is_sp_arithmetic(const uint8_t *p, const struct insn *in, int64_t *delta)
{
	int64_t by;

	if (!is_rsp_rm(in) || reg_of(in) == 7)
		return true;
	by = trailing_immediate(p, in, in->opcode == 0x81 ? 4 : 1);
	if (!(in->rex & REX_W) || (reg_of(in) != 0 && reg_of(in) != 5))
		return false;
	*delta += reg_of(in) == 0 ? by : -by;
	return true;
}

/* lea to the stack pointer: known if it is relative to the stack pointer. */
static bool load_address(const uint8_t *p, const struct insn *in, int64_t *delta)
{
	int64_t by;

	if (!is_rsp_reg(in) || !(in->rex & REX_W))
		return true;
	if (!rsp_operand(p, in, &by))
		return false;
	*delta += by;
	return true;
}

/* False for an instruction that writes the stack pointer like any other register. */
static bool leaves_rsp(const struct insn *in)
{
	switch (in->opcode) {
	case 0x38: case 0x39: case 0x3a: case 0x3b: case 0x84: case 0x85: /* cmp, test */
		return true;
	case 0x01:
	case 0x09:
	case 0x11:
	case 0x19:
	case 0x21:
	case 0x29:
	case 0x31:
	case 0x89: /* to r/m */
	case 0xf7: case 0xc1: case 0xd1: case 0xd3: case 0xc7:
		return !is_rsp_rm(in);
	case 0x87:
		return !is_rsp_rm(in) && !is_rsp_reg(in);
	case 0x03:
	case 0x0b:
	case 0x13:
	case 0x1b:
	case 0x23:
	case 0x2b:
	case 0x33:
	case 0x8b:
	case 0x63:
	case 0x69: case 0x6b:
		return !is_rsp_reg(in);
	default:
		return true;
	}
}

bool insn_stack(const uint8_t *p, const struct insn *in, int64_t *delta)
{
	int64_t word = in->prefixes & PREFIX_66 ? 2 : 8;

	if (in->map == MAP_0F)
		/* A cmov of the stack pointer may or may not happen. */
		return in->opcode >> 4 != 4 || !is_rsp_reg(in); /* cmov */
	if (in->map != MAP_ONE)
		return true;
	switch (in->opcode) {
	/* push of a register or an immediate, pushf */
	case 0x50 ... 0x57: case 0x68: case 0x6a: case 0x9c:
		*delta -= word;
		return true;
	/* pop and popf; 5c is pop %rsp, after which nothing is known */
	case 0x58 ... 0x5f: case 0x9d:
		*delta += word;
		return in->opcode != 0x5c || (in->rex & REX_B);
	/* pop to memory, or to a register by modrm */
	case 0x8f:
		*delta += word;
		return !is_rsp_rm(in);
	/* reg 6 is push; 0 and 1 are inc and dec */
	case 0xff:
		*delta -= reg_of(in) == 6 ? word : 0;
		return reg_of(in) > 1 || !is_rsp_rm(in);
	case 0x81: case 0x83:
		return is_sp_arithmetic(p, in, delta);
	case 0x8d:
		return load_address(p, in, delta);
	/* leave takes %rsp from %rbp; enter is too rare to be followed */
	case 0xc8: case 0xc9:
		return false;
	/* mov of an immediate; bc is to %esp */
	case 0xb8 ... 0xbf:
		return in->opcode != 0xbc || (in->rex & REX_B);
	default:
		return !in->modrm_at || leaves_rsp(in);
	}
}

bool insn_loads_by_sp(const uint8_t *p, const struct insn *in, int64_t *offset)
{
	bool load = in->opcode == 0x8b && (in->rex & REX_W);
	bool push = in->opcode == 0xff && reg_of(in) == 6;

	return in->map == MAP_ONE && (load || push) && rsp_operand(p, in, offset);
}

bool insn_loads_by_fp(const uint8_t *p, const struct insn *in, int64_t *offset)
{
	int32_t wide;

	if (in->map != MAP_ONE || in->opcode != 0x8b || !(in->rex & REX_W) || (in->rex & REX_B) ||
	    (in->modrm & 7) != RBP || mod_of(in) == 3 || mod_of(in) == 0 ||
	    (in->prefixes & PREFIX_SEGMENT))
		return false;
	memcpy(&wide, p + in->modrm_at + 1, mod_of(in) == 2 ? 4 : 1);
	*offset = mod_of(in) == 1 ? (int8_t)wide : wide;
	return true;
}

/* --- copies ---------------------------------------------------------------- */

/* Returns the number, 0 to 15, of the register in the reg field. */
static uint8_t reg_number(const struct insn *in)
{
	return (uint8_t)(reg_of(in) | (in->rex & REX_R ? 8 : 0));
}

/* True for disp(%rbp), without anything else. */
static bool rbp_operand(const uint8_t *p, const struct insn *in, int64_t *disp)
{
	int32_t wide = 0;

	if (!in->modrm_at || (in->modrm & 7) != RBP || (in->rex & REX_B) || mod_of(in) == 3 ||
	    mod_of(in) == 0 || (in->prefixes & (PREFIX_SEGMENT | PREFIX_67)))
		return false;
	memcpy(&wide, p + in->modrm_at + 1, mod_of(in) == 2 ? 4 : 1);
	*disp = mod_of(in) == 1 ? (int8_t)wide : wide;
	return true;
}

/* Returns the r/m operand: a register, or COPY_FRAME with base and slot; COPY_ELSEWHERE: other
 * memory. */
static uint8_t copy_place(const uint8_t *p, const struct insn *in, struct insn_copy *out)
{
	if (mod_of(in) == 3)
		return (uint8_t)((in->modrm & 7) | (in->rex & REX_B ? 8 : 0));
	out->base = RSP;
	if (rsp_operand(p, in, &out->slot))
		return COPY_FRAME;
	out->base = RBP;
	return rbp_operand(p, in, &out->slot) ? COPY_FRAME : COPY_ELSEWHERE;
}

bool insn_copy(const uint8_t *p, const struct insn *in, struct insn_copy *out)
{
	bool cmov = in->map == MAP_0F && in->opcode >> 4 == 4;
	uint8_t place;

	*out = (struct insn_copy){ .from = COPY_ELSEWHERE, .to = RSP };
	if (in->map == MAP_ONE && in->opcode == 0x5c && !(in->rex & REX_B))
		return true;
	if (!in->modrm_at || !(in->rex & REX_W) || (in->map != MAP_ONE && !cmov))
		return false;
	place = copy_place(p, in, out);
	out->from = place;
	out->to = reg_number(in);
	if (cmov || in->opcode == 0x8b)
		return true;
	if (in->opcode == 0x8d && place == COPY_FRAME)
		out->from = out->base;
	else if (in->opcode == 0x87)
		out->exchange = true;
	else if (in->opcode != 0x89)
		return false;
	if (in->opcode == 0x89) {
		out->from = out->to;
		out->to = place;
	}
	return true;
}

/* --- addresses ---------------------------------------------------------------- */

static uint64_t unsigned_32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t insn_absolute(const uint8_t *p, const struct insn *in)
{
	if (in->map == MAP_ONE && !(in->prefixes & PREFIX_66) &&
	    ((in->opcode >= 0xb8 && in->opcode <= 0xbf && !(in->rex & REX_W)) ||
	     in->opcode == 0xc7 || in->opcode == 0x68))
		return unsigned_32(p + in->len - 4);
	if (in->modrm_at && (in->modrm & 0xc7) == 0x04 && (p[in->modrm_at + 1] & 7) == 5)
		return unsigned_32(p + in->modrm_at + 2);
	return 0;
}

/* lea */
bool insn_takes_address(const struct insn *in)
{
	return in->map == MAP_ONE && in->opcode == 0x8d;
}

/* lea, nop, prefetch */
bool insn_only_names(const struct insn *in)
{
	return insn_takes_address(in) ||
	       (in->map == MAP_0F &&
		(in->opcode == 0x1f || in->opcode == 0x18 || in->opcode == 0x0d));
}

/* mov %rsp, %rbp */
bool insn_makes_frame(const uint8_t *p, const struct insn *in)
{
	return in->len == 3 && !memcmp(p, "\x48\x89\xe5", 3);
}

bool insn_jumps_by_register(const struct insn *in)
{
	return in->modrm >> 6 == 3;
}

/* ret, and ret that takes bytes off the stack; a prefix before them means nothing. */
bool insn_is_return(const struct insn *in)
{
	return in->flow == FLOW_STOP && in->map == MAP_ONE && (in->opcode & 0xfe) == 0xc2;
}
