/* SPDX-License-Identifier: MIT */
/* Moving instructions to another address so that they do what they did. What depends on its
 * place is the rip-relative operand, the direct branch, and the call, whose return address the
 * program (its unwinder, its profiler, its own eyes) must find unchanged: a moved call pushes
 * the original return address and jumps. Everything else is copied. */
#include "arch/x86_64/relocate.h"

#include <errno.h>
#include <string.h>

#include <Zydis/Decoder.h>

#define MODRM_RSP 4
#define REX_B 1
#define CALL_SLOT 8 /* the return address, a constant behind the code */

/* A branch whose target a 66 prefix would cut to 16 bits on some processors. */
static bool truncates(const ZydisDecodedInstruction *in)
{
	return (in->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) && !in->raw.rex.W;
}

static bool is_category(ZydisInstructionCategory c, const ZydisInstructionCategory *list)
{
	for (; *list != ZYDIS_CATEGORY_INVALID; list++)
		if (c == *list)
			return true;
	return false;
}

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

static bool never_passed(const ZydisDecodedInstruction *in)
{
	return in->mnemonic == ZYDIS_MNEMONIC_JMP || in->meta.category == ZYDIS_CATEGORY_RET ||
	       in->mnemonic == ZYDIS_MNEMONIC_UD0 || in->mnemonic == ZYDIS_MNEMONIC_UD1 ||
	       in->mnemonic == ZYDIS_MNEMONIC_UD2;
}

static bool rip_relative(const ZydisDecodedInstruction *in)
{
	return (in->attributes & ZYDIS_ATTRIB_HAS_MODRM) && in->raw.modrm.mod == 0 &&
	       in->raw.modrm.rm == 5;
}

/* The target of an indirect call must not be found through the stack pointer, which the
 * push moves. */
static bool through_rsp(const ZydisDecodedInstruction *in)
{
	uint8_t base = in->raw.modrm.mod != 3 && in->raw.modrm.rm == MODRM_RSP ? in->raw.sib.base
									       : in->raw.modrm.rm;

	return base == MODRM_RSP && !in->raw.rex.B;
}

static int direct_branch(const ZydisDecodedInstruction *in, uint64_t end, struct relocate_insn *out)
{
	if (truncates(in))
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

/* Sorts one decoded instruction that ends at vaddr `end` into its op. */
static int classify(const ZydisDecodedInstruction *in, uint64_t end, struct relocate_insn *out)
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
	if (through_rsp(in) || truncates(in) || in->address_width != 64)
		return -EOPNOTSUPP;
	out->op = RELOCATE_CALL_IND;
	out->field = in->raw.modrm.offset;
	return 0;
}

static size_t emitted(const struct relocate_insn *i)
{
	switch (i->op) {
	case RELOCATE_JMP:
		return 5;
	case RELOCATE_JCC:
		return 6;
	case RELOCATE_LOOP:
		return i->len + 7u;
	case RELOCATE_CALL:
		return 6 + 5;
	case RELOCATE_CALL_IND:
		return 6u + i->len;
	default:
		return i->len;
	}
}

static bool is_call(const struct relocate_insn *i)
{
	return i->op == RELOCATE_CALL || i->op == RELOCATE_CALL_IND;
}

static bool is_branch(const struct relocate_insn *i)
{
	return i->op == RELOCATE_JMP || i->op == RELOCATE_JCC || i->op == RELOCATE_LOOP ||
	       i->op == RELOCATE_CALL;
}

/* Branches into the overwritten bytes go to the copies instead. A branch behind them finds
 * the original; a branch to the first byte enters the function anew. */
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

static bool fits(const struct relocate_recipe *r)
{
	size_t n = 5 + CALL_SLOT;

	for (unsigned i = 0; i < r->n; i++)
		n += emitted(&r->insn[i]);
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

		*column = out->len;
		if (out->len >= avail)
			return -ENODATA;
		if (out->n == RELOCATE_MAX_INSNS)
			return -EOPNOTSUPP;
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code + out->len,
								avail - out->len, &in)))
			return -EILSEQ;
		r = classify(&in, vaddr + out->len + in.length, i);
		if (r < 0)
			return r;
		out->n++;
		out->len = (uint8_t)(out->len + i->len);
		if (is_call(i) && out->len < want)
			return -EBUSY;
		out->falls = !is_call(i) && !never_passed(&in);
	}
	if (!fits(out))
		return -EOPNOTSUPP;
	return aim_inside(out, vaddr, want, column);
}

/* --- emitting ---------------------------------------------------------------- */

struct emit {
	const struct relocate_recipe *r;
	uint64_t bias, to;
	uint8_t *out;
	size_t n;                            /* written */
	size_t starts[RELOCATE_MAX_INSNS + 1]; /* of the copies; the last is the code's end */
	bool far;                            /* some target was out of reach */
};

static void put(struct emit *e, const void *bytes, size_t n)
{
	memcpy(e->out + e->n, bytes, n);
	e->n += n;
}

static void put_u8(struct emit *e, uint8_t byte)
{
	e->out[e->n++] = byte;
}

/* The displacement at `field` of an instruction that ends at `end`, both offsets in out. */
static void aim(struct emit *e, size_t field, size_t end, uint64_t target)
{
	int64_t delta = (int64_t)(target - (e->to + end));
	int32_t rel = (int32_t)delta;

	e->far |= rel != delta;
	memcpy(e->out + field, &rel, sizeof(rel));
}

static void put_rel32(struct emit *e, uint64_t target)
{
	e->n += 4;
	aim(e, e->n - 4, e->n, target);
}

static uint64_t target_of(const struct emit *e, const struct relocate_insn *i)
{
	return i->inside ? e->to + e->starts[i->inside - 1] : e->bias + (uint64_t)i->target;
}

/* `push *constant(%rip)`: the constant stands behind everything else. */
static void push_return(struct emit *e)
{
	size_t slot = e->starts[e->r->n] + (e->r->falls ? 5 : 0);

	put(e, "\xff\x35", 2);
	put_rel32(e, e->to + slot);
}

/* jmp r/m is call r/m with another number in the modrm byte. */
static void put_call_indirect(struct emit *e, const struct relocate_insn *i,
			      const uint8_t *original)
{
	size_t modrm = e->n + 6u + i->field;

	push_return(e);
	put(e, original, i->len);
	if ((e->out[modrm] & 0xc7) == 0x05)
		aim(e, modrm + 1, e->n, e->bias + (uint64_t)i->target);
	e->out[modrm] = (uint8_t)((e->out[modrm] & 0xc7) | 4 << 3);
}

static void put_insn(struct emit *e, const struct relocate_insn *i, const uint8_t *original)
{
	switch (i->op) {
	case RELOCATE_JCC:
		put_u8(e, 0x0f);
		put_u8(e, (uint8_t)(0x80 | i->field));
		put_rel32(e, target_of(e, i));
		break;
	case RELOCATE_LOOP:
		put(e, original, i->len - 1u);
		put(e, "\x02\xeb\x05\xe9", 4);
		put_rel32(e, target_of(e, i));
		break;
	case RELOCATE_CALL:
		push_return(e);
		/* fall through */
	case RELOCATE_JMP:
		put_u8(e, 0xe9);
		put_rel32(e, target_of(e, i));
		break;
	case RELOCATE_CALL_IND:
		put_call_indirect(e, i, original);
		break;
	case RELOCATE_RIP:
		put(e, original, i->len);
		aim(e, e->n - i->len + i->field, e->n, target_of(e, i));
		break;
	default:
		put(e, original, i->len);
	}
}

int relocate_emit(const struct relocate_recipe *r, const uint8_t *original, uint64_t vaddr,
		  uint64_t from, uint64_t to, uint8_t *out)
{
	struct emit e = { .r = r, .bias = from - vaddr, .to = to, .out = out };
	uint64_t ret = from + r->len;
	size_t at = 0;

	for (unsigned i = 0; i < r->n; i++)
		e.starts[i + 1] = e.starts[i] + emitted(&r->insn[i]);
	for (unsigned i = 0; i < r->n; at += r->insn[i].len, i++)
		put_insn(&e, &r->insn[i], original + at);
	if (r->falls) {
		put_u8(&e, 0xe9);
		put_rel32(&e, ret);
	} else if (r->n && is_call(&r->insn[r->n - 1])) {
		put(&e, &ret, CALL_SLOT);
	}
	return e.far ? -ERANGE : (int)e.n;
}

/* --- checking ---------------------------------------------------------------- */

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
	return at == r->len && fits(r);
}
