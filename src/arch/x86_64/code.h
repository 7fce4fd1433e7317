/* SPDX-License-Identifier: MIT */
/* arch/code.h for x86-64: jmp rel32 and rel8, endbr64, call rel32, syscall, and the PLT styles of
 * GNU ld, LLD and mold. Freestanding: no call of libc that a compiler cannot leave out. The
 * contracts stand in arch/code.h; comments here are about the bytes. */
#pragma once

#define CODE_JUMP_BYTES 5u
#define CODE_SHORT_JUMP_BYTES 2u
#define CODE_CALL_BYTES 5u
#define CODE_LOADS_STACK_BYTES 3u
#define CODE_PLT_READ 16u
#define CODE_LANDING_BYTES 4u

/* The nop that include/brace/event.h leaves. */
#define CODE_EVENT_NOP { 0x0f, 0x1f, 0x44, 0x00, 0x00 }

#define CODE_OP_CALL 0xe8
#define CODE_OP_JUMP 0xe9
#define CODE_OP_SHORT_JUMP 0xeb
#define CODE_OP_INT3 0xcc
#define CODE_OP_NOP 0x90

/* Returns the 32-bit displacement at p, which need not be aligned. */
static inline int32_t code_displacement(const uint8_t *p)
{
	int32_t d;

	__builtin_memcpy(&d, p, sizeof(d));
	return d;
}

/* A displacement counts from the end of the jump. */
static inline bool code_in_reach(uint64_t from, uint64_t to)
{
	int64_t distance = (int64_t)(to - (from + CODE_JUMP_BYTES));

	return (int32_t)distance == distance;
}

/* The operand before the opcode: it may be the process's own text, which nobody executes yet. */
static inline int code_jump(uint64_t from, uint64_t to, uint8_t *out)
{
	int32_t distance = (int32_t)(to - (from + CODE_JUMP_BYTES));

	if (!code_in_reach(from, to))
		return -ERANGE;
	__builtin_memcpy(out + 1, &distance, sizeof(distance));
	out[0] = CODE_OP_JUMP;
	return 0;
}

/* Here, too, the end of the jump is where the displacement counts from. */
static inline int code_short_jump(uint64_t from, uint64_t to, uint8_t *out)
{
	int64_t distance = (int64_t)(to - (from + CODE_SHORT_JUMP_BYTES));

	if ((int8_t)distance != distance)
		return -ERANGE;
	out[0] = CODE_OP_SHORT_JUMP;
	out[1] = (uint8_t)distance;
	return 0;
}

static inline struct code_reach code_short_reach(uint64_t from)
{
	uint64_t end = from + CODE_SHORT_JUMP_BYTES;

	return (struct code_reach){ end + (uint64_t)INT8_MIN, end + INT8_MAX };
}

static inline bool code_is_jump(const uint8_t *p, uint64_t at, uint64_t *to)
{
	*to = at + CODE_JUMP_BYTES + (uint64_t)(int64_t)code_displacement(p + 1);
	return p[0] == CODE_OP_JUMP;
}

static inline bool code_is_short_jump(const uint8_t *p, uint64_t at, uint64_t *to)
{
	*to = at + CODE_SHORT_JUMP_BYTES + (uint64_t)(int64_t)(int8_t)p[1];
	return p[0] == CODE_OP_SHORT_JUMP;
}

/* endbr64; endbr32 does nothing in a 64-bit program. */
static inline size_t code_landing(const uint8_t *p, size_t n)
{
	return n >= 4 && p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == 0xfa ? 4 : 0;
}

/* Forms with 66 prefixes count. */
static inline size_t code_nop(const uint8_t *p, size_t n)
{
	static const uint8_t by_modrm_size[256] = {
		[0x00] = 3, [0x40] = 4, [0x44] = 5, [0x80] = 7, [0x84] = 8,
	};
	size_t prefix = 0;

	while (prefix < n && (p[prefix] == 0x66 || p[prefix] == 0x2e))
		prefix++;
	if (prefix < n && p[prefix] == CODE_OP_NOP)
		return prefix + 1;
	if (n - prefix >= 3 && p[prefix] == 0x0f && p[prefix + 1] == 0x1f &&
	    by_modrm_size[p[prefix + 2]])
		return prefix + by_modrm_size[p[prefix + 2]];
	return 0;
}

static inline bool code_is_trap(uint8_t byte)
{
	return byte == CODE_OP_INT3;
}

/* Zeros stand between sections that a linker aligned without a filler of its own. */
static inline bool code_is_filler(uint8_t byte)
{
	return byte == CODE_OP_INT3 || byte == CODE_OP_NOP || byte == 0;
}

/* The two bytes may also be part of another instruction: a decoder decides. */
static inline bool code_may_call_system(const uint8_t *bytes, size_t n)
{
	static const uint8_t system_call[] = { 0x0f, 0x05 };

	return memmem(bytes, n, system_call, sizeof(system_call));
}

/* With REX.W: mov, xchg or lea to %rsp, except from %rsp or %rbp. */
static inline bool code_loads_stack(const uint8_t *p)
{
	unsigned reg = p[2] >> 3 & 7, rm = p[2] & 7;
	bool low = !(p[0] & 1), plain = low && (rm == 4 || rm == 5);

	if ((p[0] & 0xfa) != 0x48)
		return false;
	if (p[1] == 0x8b || p[1] == 0x8d || p[1] == 0x87)
		return reg == 4 && !(p[0] & 4) && !plain;
	return p[1] == 0x89 && p[2] >> 6 == 3 && rm == 4 && low &&
	       !(!(p[0] & 4) && (reg == 4 || reg == 5));
}

/* memchr() is what makes it fast: it is asked about every byte of a text. */
static inline const uint8_t *code_find_call(const uint8_t *p, const uint8_t *end)
{
	p = __builtin_memchr(p, CODE_OP_CALL, (size_t)(end - p));
	return p && (size_t)(end - p) >= CODE_CALL_BYTES ? p : NULL;
}

static inline uint64_t code_call_target(const uint8_t *p, uint64_t at)
{
	return at + CODE_CALL_BYTES + (uint64_t)(int64_t)code_displacement(p + 1);
}

/* jmp *slot(%rip), perhaps after an endbr64 or a bnd prefix. */
static inline bool code_next_slot_jump(const uint8_t *p, size_t n, uint64_t at, size_t *i,
				       uint64_t *slot)
{
	for (size_t k = *i; k + 6 <= n; k++) {
		if (p[k] != 0xff || p[k + 1] != 0x25)
			continue;
		*slot = at + k + 6 + (uint64_t)(int64_t)code_displacement(p + k + 2);
		*i = k + 1;
		return true;
	}
	return false;
}

/* Entries continue with push, a nop or int3. */
static inline bool code_plt_entry(const uint8_t *p, struct code_plt *out)
{
	size_t endbr = code_landing(p, CODE_PLT_READ), jump = endbr + (p[endbr] == 0xf2);
	const uint8_t *after = p + jump + 6;
	bool lazy = *after == 0x68;

	*out = (struct code_plt){ jump, 6, lazy || endbr ? 16 : 8 };
	return lazy || (after[0] == 0x66 && after[1] == CODE_OP_NOP) || *after == 0x0f ||
	       *after == CODE_OP_INT3;
}

/* Section headers of static programs do not tell the size. Other sizes are no entries. */
static inline uint64_t code_plt_size(const uint8_t *section, size_t n, uint64_t said)
{
	bool bare = n >= 8 && section[0] == 0xff && section[1] == 0x25 && section[6] == 0x66 &&
		    section[7] == CODE_OP_NOP; /* the jump and a 2-byte nop */

	if (said == 8 || said == 16 || said == 32)
		return said;
	return bare ? 8 : 16;
}

/* A push or jmp through memory, or endbr64. */
static inline bool code_may_begin_plt(const uint8_t *p)
{
	return p[0] == 0xff || p[0] == 0xf3;
}

/* push GOT+8(%rip), then jmp *GOT+16(%rip), with a bnd prefix perhaps. */
static inline bool code_is_plt_header(const uint8_t *p)
{
	return p[0] == 0xff && p[1] == 0x35 && (p[6] == 0xff || p[6] == 0xf2);
}
