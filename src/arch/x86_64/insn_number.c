/* SPDX-License-Identifier: MIT */
/* The number of a system call, in %eax, as instructions change it. hook/sweep.c and hook/syscalls.c
 * follow it. No state; any thread. Nothing fails: a number that cannot be told is not known. */
#include "arch/insn.h"

#include <string.h>

#define RAX 0

bool insn_is_system_call(const uint8_t *p, const struct insn *in)
{
	return in->len == INSN_SYSTEM_CALL_BYTES && p[0] == 0x0f && p[1] == 0x05;
}

/* mov $value to a register of 32 bits, by its opcode. */
static bool moves_constant(const uint8_t *p, const struct insn *in, uint8_t opcode, uint32_t *value)
{
	if (in->len != INSN_LOAD_BYTES || p[0] != opcode)
		return false;
	memcpy(value, p + 1, sizeof(*value));
	return true;
}

/* mov $number, %eax */
bool insn_sets_number(const uint8_t *p, const struct insn *in, uint32_t *number)
{
	return moves_constant(p, in, 0xb8, number);
}

/* mov $first, %edi */
bool insn_sets_first(const uint8_t *p, const struct insn *in, uint32_t *first)
{
	return moves_constant(p, in, 0xbf, first);
}

/* mov $number, %eax; xor %eax, %eax; mov $number, %rax. */
bool insn_loads_number(const uint8_t *p, const struct insn *in, uint32_t *number)
{
	*number = 0;
	if (in->len == 2 && (p[0] == 0x31 || p[0] == 0x33) && p[1] == 0xc0)
		return true;
	if (in->len == 5 && p[0] == 0xb8)
		memcpy(number, p + 1, 4);
	else if (in->len == 7 && memcmp(p, "\x48\xc7\xc0", 3) == 0)
		memcpy(number, p + 3, 4);
	else
		return false;
	return true;
}

/* Returns the register of the modrm byte's reg field. */
static unsigned reg_operand(const struct insn *in)
{
	return (in->modrm >> 3 & 7) | (in->rex & 4) << 1;
}

/* Returns the register of the r/m operand; UINT32_MAX: it is in memory. */
static unsigned rm_operand(const struct insn *in)
{
	return in->modrm >> 6 == 3 ? (in->modrm & 7u) | (in->rex & 1u) << 3 : UINT32_MAX;
}

/* Opcodes that write their r/m operand, their other operand, or none, of those that stand between a
 * number and its call. No others are known. */
static const uint8_t to_rm[] = { 0x01, 0x09, 0x21, 0x29, 0x31, 0x80, 0x81,
				 0x83, 0x88, 0x89, 0xc1, 0xc6, 0xc7, 0xd1 };
static const uint8_t to_reg[] = { 0x03, 0x0b, 0x23, 0x2b, 0x33, 0x63, 0x8b, 0x8d };
static const uint8_t to_none[] = { 0x38, 0x39, 0x3a, 0x3b, 0x3d, 0x84, 0x85, 0x90 };

static bool is_in(uint8_t opcode, const uint8_t *list, size_t n)
{
	return memchr(list, opcode, n) != NULL;
}

/* %ah is a part of it, and has number 4 in byte instructions. */
static bool is_rax(unsigned reg, bool byte)
{
	return reg == RAX || (byte && reg == 4);
}

/* The part of insn_keeps_number() for opcodes after 0f: cmov, set, nop. */
static bool keeps_rax_0f(const struct insn *in)
{
	if (in->opcode >= 0x40 && in->opcode <= 0x4f) /* cmov */
		return reg_operand(in) != RAX;
	if (in->opcode >= 0x90 && in->opcode <= 0x9f) /* set */
		return !is_rax(rm_operand(in), true);
	return in->opcode == 0x1f;
}

bool insn_keeps_number(const struct insn *in)
{
	bool byte = in->opcode == 0x80 || in->opcode == 0x88 || in->opcode == 0xc6;

	if (in->flow != FLOW_NEXT)
		return in->flow == FLOW_BRANCH;
	if (in->map == MAP_0F)
		return keeps_rax_0f(in);
	if (in->map != MAP_ONE)
		return false;
	if (is_in(in->opcode, to_rm, sizeof(to_rm)))
		return !is_rax(rm_operand(in), byte);
	if (is_in(in->opcode, to_reg, sizeof(to_reg)))
		return reg_operand(in) != RAX;
	if (in->opcode >= 0xb8 && in->opcode <= 0xbf)
		return in->opcode != 0xb8 || in->rex & 1;
	return is_in(in->opcode, to_none, sizeof(to_none)) || (in->opcode & 0xf8) == 0x50;
}

bool insn_is_nop(const struct insn *in)
{
	return (in->map == MAP_ONE && in->opcode == 0x90) ||
	       (in->map == MAP_0F && in->opcode == 0x1f);
}

/* mov $value, %ecx to %edi */
bool insn_loads_other(const uint8_t *p, const struct insn *in, unsigned *reg, uint32_t *value)
{
	if (in->len != INSN_LOAD_BYTES || p[0] <= 0xb8 || p[0] > 0xbf)
		return false;
	*reg = p[0] & 7u;
	memcpy(value, p + 1, sizeof(*value));
	return true;
}

/* mov $60, %edx; nop;  again: xor %edi, %edi; mov %edx, %eax; syscall; jmp again */
bool insn_is_end_loop(const uint8_t *p, unsigned reg)
{
	return p[0] == 0x31 && p[1] == 0xff && p[2] == 0x89 && p[3] == (0xc0 | reg << 3) &&
	       p[6] == 0xeb && p[7] == 0xf8;
}
