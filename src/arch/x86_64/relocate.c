/* SPDX-License-Identifier: MIT */
/* Moves instructions to another address so that their effect stays the same. Three depend on their
 * place: rip-relative operands, direct branches, and calls, whose return address the program (its
 * unwinder, its profiler, its own look at the stack) must find unchanged: a moved call pushes the
 * original return address and jumps. All else is copied. Planners call it on their threads; no
 * state. An instruction that cannot be moved is an error of the scan, never of the program. */
#include "arch/relocate.h"

#include <errno.h>
#include <string.h>

#include <Zydis/Decoder.h>

#define MODRM_RSP 4
#define REX_B 1
#define PUSH_BYTES 6
#define CALL_SLOT 8 /* the return address, a constant after the code */

/* A branch with a 66 prefix: some processors cut its target to 16 bits. */
static bool truncates_address(const ZydisDecodedInstruction *in)
{
	return (in->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) && !in->raw.rex.W;
}

/* `list` ends with ZYDIS_CATEGORY_INVALID. */
static bool is_category(ZydisInstructionCategory c, const ZydisInstructionCategory *list)
{
	for (; *list != ZYDIS_CATEGORY_INVALID; list++)
		if (c == *list)
			return true;
	return false;
}

/* Privileged, far or trapping instructions: their address is seen by a handler, or they are no code
 * that a program runs. */
static bool cannot_move(const ZydisDecodedInstruction *in)
{
	static const ZydisInstructionCategory refused[] = {
		ZYDIS_CATEGORY_IO,
		ZYDIS_CATEGORY_IOSTRINGOP,
		ZYDIS_CATEGORY_SYSRET,
		ZYDIS_CATEGORY_INVALID,
	};

	if ((in->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) ||
	    in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return true;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_RSM:
		return true;
	default:
		return is_category(in->meta.category, refused);
	}
}

/* Execution never reaches the address after such an instruction. */
static bool never_passed(const ZydisDecodedInstruction *in)
{
	return in->mnemonic == ZYDIS_MNEMONIC_JMP || in->meta.category == ZYDIS_CATEGORY_RET ||
	       in->mnemonic == ZYDIS_MNEMONIC_UD0 || in->mnemonic == ZYDIS_MNEMONIC_UD1 ||
	       in->mnemonic == ZYDIS_MNEMONIC_UD2;
}

/* True if an operand is an address relative to the next instruction. */
static bool rip_relative(const ZydisDecodedInstruction *in)
{
	return (in->attributes & ZYDIS_ATTRIB_HAS_MODRM) && in->raw.modrm.mod == 0 &&
	       in->raw.modrm.rm == 5;
}

/* An indirect call through the stack pointer cannot be moved: the push would change the operand's
 * address. */
static bool through_rsp(const ZydisDecodedInstruction *in)
{
	uint8_t base = in->raw.modrm.mod != 3 && in->raw.modrm.rm == MODRM_RSP ? in->raw.sib.base
									       : in->raw.modrm.rm;

	/* Rex.B makes the register r12. */
	return base == MODRM_RSP && !in->raw.rex.B;
}

/* Classifies a branch by distance; its target is kept as an address of the linked file. */
static int direct_branch(const ZydisDecodedInstruction *in, uint64_t end, struct relocate_insn *out)
{
	if (truncates_address(in))
		return -EOPNOTSUPP;
	out->target = (int64_t)(end + in->raw.imm[0].value.u);
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		out->op = RELOCATE_CALL;
		return 0;
	case ZYDIS_CATEGORY_UNCOND_BR:
		out->op = RELOCATE_JMP;
		return 0;
	default:
		break;
	}
	/* loopne, loope, loop and jrcxz, which have no form with a distance of 4 bytes. */
	if (in->opcode >= 0xe0 && in->opcode <= 0xe3 &&
	    in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
		out->op = RELOCATE_LOOP;
		return 0;
	}
	if (in->meta.category != ZYDIS_CATEGORY_COND_BR)
		return -EOPNOTSUPP;
	out->op = RELOCATE_JCC;
	out->field = in->opcode & 15;
	return 0;
}

/* Classifies one decoded instruction that ends at vaddr `end`. */
static int classify_insn(const ZydisDecodedInstruction *in, uint64_t end, struct relocate_insn *out)
{
	*out = (struct relocate_insn){ .op = RELOCATE_COPY, .len = in->length };
	if (cannot_move(in))
		return -EOPNOTSUPP;
	if (in->raw.imm[0].is_relative)
		return direct_branch(in, end, out);
	if (rip_relative(in)) {
		if (in->address_width != 64 || in->raw.disp.size != 32)
			return -EOPNOTSUPP;
		out->op = RELOCATE_RIP;
		out->field = in->raw.disp.offset;
		out->target = (int64_t)(end + (uint64_t)in->raw.disp.value);
	}
	if (in->meta.category != ZYDIS_CATEGORY_CALL)
		return 0;
	if (through_rsp(in) || truncates_address(in) || in->address_width != 64)
		return -EOPNOTSUPP;
	out->op = RELOCATE_CALL_IND;
	out->field = in->raw.modrm.offset;
	return 0;
}

/* Bytes that put_insn() writes for it. */
static size_t emitted_bytes(const struct relocate_insn *i)
{
	switch (i->op) {
	case RELOCATE_JMP:
		return 5;
	case RELOCATE_JCC:
		return 6;
	case RELOCATE_LOOP:
		return i->len + 7u;
	case RELOCATE_CALL:
		return PUSH_BYTES + 5;
	case RELOCATE_CALL_IND:
		return (size_t)PUSH_BYTES + i->len;
	default:
		return i->len;
	}
}

/* A call ends a recipe: its return address is the end of the moved bytes. */
static bool is_call(const struct relocate_insn *i)
{
	return i->op == RELOCATE_CALL || i->op == RELOCATE_CALL_IND;
}

static bool is_branch(const struct relocate_insn *i)
{
	return i->op == RELOCATE_JMP || i->op == RELOCATE_JCC || i->op == RELOCATE_LOOP ||
	       i->op == RELOCATE_CALL;
}

/* Aims branches into the overwritten bytes at their copies. A branch after them finds the original;
 * one to the first byte enters the function anew, and is a call of it. */
static int aim_inside(struct relocate_recipe *r, uint64_t vaddr, size_t want, size_t *column)
{
	size_t at = 0;

	for (unsigned i = 0; i < r->n; at += r->insn[i].len, i++) {
		struct relocate_insn *in = &r->insn[i];
		uint64_t into = (uint64_t)in->target - vaddr, start = 0;
		unsigned k = 0;

		if (!is_branch(in) || into == 0 || into >= want || into >= r->len)
			continue;
		for (; k < r->n && start < into; k++)
			start += r->insn[k].len;
		*column = at;
		if (start != into)
			return -EOPNOTSUPP;
		in->inside = (uint8_t)(k + 1);
	}
	return 0;
}

/* True if the moved code has room, with a jump back and a return address behind it. */
static bool recipe_fits(const struct relocate_recipe *r)
{
	size_t n = 5 + CALL_SLOT;

	for (unsigned i = 0; i < r->n; i++)
		n += emitted_bytes(&r->insn[i]);
	return n <= RELOCATE_MAX_BYTES;
}

int relocate_scan(const uint8_t *code, size_t avail, uint64_t vaddr, size_t want,
		  struct relocate_recipe *out, size_t *column)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction in;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	*out = (struct relocate_recipe){ .falls = true };
	while (out->len < want && out->falls) {
		struct relocate_insn *i = &out->insn[out->n];
		int r;

		/* The offset of the instruction at fault, if the scan ends here. */
		*column = out->len;
		if (out->len >= avail)
			return -ENODATA;
		if (out->n == RELOCATE_MAX_INSNS)
			return -EOPNOTSUPP;
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code + out->len,
								avail - out->len, &in)))
			return -EILSEQ;
		r = classify_insn(&in, vaddr + out->len + in.length, i);
		if (r < 0)
			return r;
		out->n++;
		out->len = (uint8_t)(out->len + i->len);
		/* The return address would be inside of the bytes that are overwritten. */
		if (is_call(i) && out->len < want)
			return -EBUSY;
		out->falls = !is_call(i) && !never_passed(&in);
	}
	if (!recipe_fits(out))
		return -EOPNOTSUPP;
	return aim_inside(out, vaddr, want, column);
}

/* --- emitting ---------------------------------------------------------------- */

/* The code that is being written. bias: from addresses of the linked file to those of the process;
 * to: where the code will run. */
struct relocate_emit {
	const struct relocate_recipe *r;
	uint64_t bias, to;
	uint8_t *out; /* bytes written */
	size_t n;                            /* written */
	/* Offsets of the copies in `out`; the last is the end of the code. */
	size_t starts[RELOCATE_MAX_INSNS + 1];
	bool far;                            /* some target was out of reach */
};

/* The caller has room for RELOCATE_MAX_BYTES, which recipe_fits() ensures. */
static void emit_bytes(struct relocate_emit *e, const void *bytes, size_t n)
{
	memcpy(e->out + e->n, bytes, n);
	e->n += n;
}

static void put_u8(struct relocate_emit *e, uint8_t byte)
{
	e->out[e->n++] = byte;
}

/* Writes the displacement at `field` of an instruction that ends at `end`, both offsets in out. */
static void aim_displacement(struct relocate_emit *e, size_t field, size_t end, uint64_t target)
{
	int64_t delta = (int64_t)(target - (e->to + end));
	int32_t rel = (int32_t)delta;

	e->far |= rel != delta;
	memcpy(e->out + field, &rel, sizeof(rel));
}

/* Appends the distance from its own end; `far` is set if it does not fit. */
static void put_rel32(struct relocate_emit *e, uint64_t target)
{
	e->n += 4;
	aim_displacement(e, e->n - 4, e->n, target);
}

/* Returns where the branch leads: to a copy among the moved instructions, or to the original
 * place. */
static uint64_t branch_target(const struct relocate_emit *e, const struct relocate_insn *i)
{
	return i->inside ? e->to + e->starts[i->inside - 1] : e->bias + (uint64_t)i->target;
}

/* `push *constant(%rip)`: the constant comes after all code. */
static void push_return(struct relocate_emit *e)
{
	size_t slot = e->starts[e->r->n] + (e->r->falls ? 5 : 0);

	emit_bytes(e, "\xff\x35", 2);
	put_rel32(e, e->to + slot);
}

/* jmp r/m is call r/m with 4 instead of 2 in the modrm byte's reg field. */
static void put_call_indirect(struct relocate_emit *e, const struct relocate_insn *i,
			      const uint8_t *original)
{
	size_t modrm = e->n + 6u + i->field;

	push_return(e);
	emit_bytes(e, original, i->len);
	if ((e->out[modrm] & 0xc7) == 0x05)
		aim_displacement(e, modrm + 1, e->n, e->bias + (uint64_t)i->target);
	e->out[modrm] = (uint8_t)((e->out[modrm] & 0xc7) | 4 << 3);
}

static void put_insn(struct relocate_emit *e, const struct relocate_insn *i,
		     const uint8_t *original)
{
	switch (i->op) {
	case RELOCATE_JCC:
		put_u8(e, 0x0f);
		put_u8(e, (uint8_t)(0x80 | i->field));
		put_rel32(e, branch_target(e, i));
		break;
	case RELOCATE_LOOP:
		emit_bytes(e, original, i->len - 1u);
		/* op +2; jmp +5; jmp target: if the loop is taken, it skips the jump that skips the
		 * branch. */
		emit_bytes(e, "\x02\xeb\x05\xe9", 4);
		put_rel32(e, branch_target(e, i));
		break;
	case RELOCATE_CALL:
		push_return(e);
		/* fall through */
	case RELOCATE_JMP:
		put_u8(e, 0xe9);
		put_rel32(e, branch_target(e, i));
		break;
	case RELOCATE_CALL_IND:
		put_call_indirect(e, i, original);
		break;
	case RELOCATE_RIP:
		emit_bytes(e, original, i->len);
		aim_displacement(e, e->n - i->len + i->field, e->n, branch_target(e, i));
		break;
	default:
		emit_bytes(e, original, i->len);
	}
}

int relocate_emit(const struct relocate_recipe *r, const uint8_t *original, uint64_t vaddr,
		  uint64_t from, uint64_t to, uint8_t *out)
{
	struct relocate_emit e = { .r = r, .bias = from - vaddr, .to = to, .out = out };
	uint64_t ret = from + r->len;
	size_t at = 0;

	for (unsigned i = 0; i < r->n; i++)
		e.starts[i + 1] = e.starts[i] + emitted_bytes(&r->insn[i]);
	for (unsigned i = 0; i < r->n; at += r->insn[i].len, i++)
		put_insn(&e, &r->insn[i], original + at);
	if (r->falls) {
		put_u8(&e, 0xe9);
		put_rel32(&e, ret);
	} else if (r->n && is_call(&r->insn[r->n - 1])) {
		emit_bytes(&e, &ret, CALL_SLOT);
	}
	return e.far ? -ERANGE : (int)e.n;
}

struct relocate_shape relocate_shape_of(const struct relocate_recipe *r)
{
	struct relocate_shape shape = { .pushed = 0xff };
	size_t at = 0;
	unsigned i = 0;

	while (i < r->n && emitted_bytes(&r->insn[i]) == r->insn[i].len)
		at += r->insn[i++].len;
	shape.plain = (uint8_t)at;
	if (i < r->n)
		shape.grown = (uint8_t)(emitted_bytes(&r->insn[i]) - r->insn[i].len);
	for (; i < r->n && !is_call(&r->insn[i]); i++)
		at += emitted_bytes(&r->insn[i]);
	if (i < r->n)
		shape.pushed = (uint8_t)(at + PUSH_BYTES);
	return shape;
}

/* --- checking ---------------------------------------------------------------- */

/* True if emitting the instruction stays within its bytes and within the recipe. */
static bool insn_valid(const struct relocate_insn *i, const uint8_t *original, unsigned n)
{
	if (i->len == 0 || i->len > 15 || i->inside > n)
		return false;
	switch (i->op) {
	case RELOCATE_COPY:
	case RELOCATE_JMP:
	case RELOCATE_CALL:
		return true;
	case RELOCATE_LOOP:
		return i->len >= 2;
	case RELOCATE_JCC:
		return i->field < 16;
	case RELOCATE_RIP:
		return i->field + 4 <= i->len;
	case RELOCATE_CALL_IND:
		return i->field < i->len &&
		       i->field + ((original[i->field] & 0xc7) == 0x05 ? 5 : 1) <= i->len;
	default:
		return false;
	}
}

/* Stored recipes come from a file: nothing in them is believed. */
bool relocate_valid(const struct relocate_recipe *r, const uint8_t *original)
{
	unsigned at = 0;

	if (r->n > RELOCATE_MAX_INSNS)
		return false;
	if (r->n == 0)
		return r->falls;
	for (unsigned i = 0; i < r->n; i++) {
		const struct relocate_insn *in = &r->insn[i];

		if (at + in->len > r->len || in->field >= 16 ||
		    !insn_valid(in, original + at, r->n))
			return false;
		at += in->len;
	}
	return at == r->len && recipe_fits(r);
}
