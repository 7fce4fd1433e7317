/* SPDX-License-Identifier: MIT */
/* Facts of instructions for walks along the control flow (see the header). sym/body.c and
 * sym/called.c ask, on the thread that opens a file; no state, nothing fails. */
#include "arch/walk.h"

#include <string.h>

#define TABLE_MAX 4096 /* entries of a jump table */

static bool is_bytes(const uint8_t *p, const struct insn *in, const char *bytes, size_t n)
{
	return in->len >= n && !memcmp(p, bytes, n);
}

/* --- the stack --- */

/* lea displacement(%rbp), %rsp, as after a stack of variable size. */
static bool is_rsp_from_frame(const uint8_t *p, const struct insn *in, int64_t *disp)
{
	int32_t wide;

	if (is_bytes(p, in, "\x48\x8d\x65", 3)) {
		*disp = (int8_t)p[3];
		return true;
	}
	if (!is_bytes(p, in, "\x48\x8d\xa5", 3))
		return false;
	memcpy(&wide, p + 3, 4);
	*disp = wide;
	return true;
}

/* Sets the depth from the frame pointer, where that holds one. */
static void depth_from_frame(struct walk_stack *s, int64_t disp)
{
	s->known = s->framed;
	s->depth = s->frame + disp;
}

void walk_follow_stack(struct walk_stack *s, const uint8_t *p, const struct insn *in)
{
	int64_t disp;

	if (is_bytes(p, in, "\xc9", 1)) { /* leave */
		depth_from_frame(s, 8);
		s->framed = false;
	} else if (is_bytes(p, in, "\x48\x89\xec", 3) || is_bytes(p, in, "\x48\x8b\xe5", 3)) {
		depth_from_frame(s, 0); /* mov %rbp, %rsp */
	} else if (is_rsp_from_frame(p, in, &disp)) {
		depth_from_frame(s, disp);
	} else {
		s->known = insn_stack(p, in, &s->depth) && s->known;
	}
	/* mov %rsp, %rbp */
	if (is_bytes(p, in, "\x48\x89\xe5", 3) || is_bytes(p, in, "\x48\x8b\xec", 3)) {
		s->framed = s->known;
		s->frame = s->depth;
	} else if (is_bytes(p, in, "\x5d", 1)) { /* pop %rbp */
		s->framed = false;
	}
}

/* At entry the return address lies on an aligned stack. */
bool walk_is_aligned(const struct walk_stack *s)
{
	return s->known && (s->depth & 15) == 8;
}

/* --- kinds of instructions --- */

bool walk_is_strange(const uint8_t *p, const struct insn *in)
{
	if (in->map != MAP_ONE)
		return false;
	switch (in->opcode) {
	case 0x00: /* add %al, (%rax) */
		return p[in->len - 1] == 0;
	case 0x6c ... 0x6f: case 0xca ... 0xcb: case 0xcd ... 0xcf: case 0xe4 ... 0xe7:
	case 0xec ... 0xef: case 0xf1: case 0xfa ... 0xfb:
		return true;
	default:
		return false;
	}
}

bool walk_is_trap(const struct insn *in)
{
	return in->map == MAP_ONE && in->opcode == 0xcc;
}

bool walk_is_return(const struct insn *in)
{
	return in->map == MAP_ONE && (in->opcode == 0xc3 || in->opcode == 0xc2);
}

bool walk_takes_address(const struct insn *in)
{
	return in->relative && in->map == MAP_ONE && in->opcode == 0x8d; /* lea */
}

/* --- jump tables --- */

/* cmp $constant, of 8 bits, or of 32; %al and %eax have forms of their own. */
uint32_t walk_bound(const uint8_t *p, const struct insn *in, uint32_t before)
{
	bool group = in->map == MAP_ONE && (in->modrm >> 3 & 7) == 7; /* cmp, of group 1 */
	int32_t wide;

	if (in->map != MAP_ONE)
		return before;
	if (in->opcode == 0x3c || (group && (in->opcode == 0x80 || in->opcode == 0x83)))
		return (uint32_t)p[in->len - 1] + 1;
	if ((in->opcode != 0x3d && !(group && in->opcode == 0x81)) || in->prefixes & PREFIX_66)
		return before;
	memcpy(&wide, p + in->len - 4, 4);
	return wide >= 0 && wide < TABLE_MAX ? (uint32_t)wide + 1 : 0;
}

bool walk_is_table_jump(const uint8_t *p, const struct insn *in, uint64_t *table)
{
	*table = in->modrm >> 6 == 3 ? 0 : insn_absolute(p, in);
	return *table != 0;
}

/* --- the first argument --- */

void walk_note_argument(const uint8_t *p, const struct insn *in, uint64_t *value)
{
	if (is_bytes(p, in, "\x48\x8d\x3d", 3)) /* lea address(%rip), %rdi */
		*value = in->target;
	else if (is_bytes(p, in, "\x48\xc7\xc7", 3)) /* mov $address, %rdi */
		*value = insn_absolute(p, in);
}

/* --- between functions --- */

size_t walk_padding(const uint8_t *p, size_t n)
{
	return n && *p == 0xcc ? 1 : insn_nop(p, n);
}

/* True if a nop ends where the bytes end. */
static bool ends_with_nop(const uint8_t *p)
{
	for (size_t k = 1; k <= WALK_BEFORE; k++)
		if (insn_nop(p + WALK_BEFORE - k, k) == k)
			return true;
	return false;
}

/* True if the bytes may end with ret, hlt, jmp, ud2, or a call that does not return. */
static bool ends_with_stop(const uint8_t *p)
{
	uint8_t last = p[WALK_BEFORE - 1], second = p[WALK_BEFORE - 2], fifth = p[WALK_BEFORE - 5];

	return last == 0xc3 || last == 0xf4 || second == 0xeb || (second == 0x0f && last == 0x0b) ||
	       fifth == 0xe8 || fifth == 0xe9;
}

/* Zeros pad to an alignment only. */
bool walk_may_end(const uint8_t *before, bool aligned)
{
	uint8_t last = before[WALK_BEFORE - 1];

	return last == 0xcc || (last == 0 && aligned) || ends_with_stop(before) ||
	       ends_with_nop(before);
}
