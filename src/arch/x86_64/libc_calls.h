/* SPDX-License-Identifier: MIT */
/* arch/libc_calls.h for x86-64. Freestanding, in the traced process: bytes are read one after the
 * other, up to the first that differs. */
#pragma once
#include "arch/code.h"

#define CALL_REGISTERS uint64_t arg5, arg4, arg3, arg2, arg1, arg0, number
#define CALL_PLAN_REGISTERS uint64_t arg3, arg2, arg1, arg0, number
#define LIBC_CALL_BYTES 8u
#define LIBC_CALL_AGAIN 5u
static const uint8_t libc_call_again[] = { 0x0f, 0x05, 0xc3 }; /* syscall; ret */
#define LIBC_CALL_ASIDE 5u
#define LIBC_CALL_REACH 129u /* of a short jump that stands in place of the system call */
#define LIBC_CALL_READ (LIBC_CALL_REACH + 8u)
#define LIBC_CALL_ALIGN 16u  /* of functions */
#define LIBC_GET_CFA_BYTES 8u

/* syscall; cmp $imm32, %rax */
static inline bool libc_call_is(const uint8_t *at, int64_t *limit)
{
	if (at[0] != 0x0f || at[1] != 0x05 || at[2] != 0x48 || at[3] != 0x3d)
		return false;
	*limit = *(const int32_t *)(at + 4);
	return true;
}

/* syscall; jmp */
static inline bool libc_call_is_probed(const uint8_t *at)
{
	return at[0] == 0x0f && at[1] == 0x05 && at[2] == 0xe9;
}

/* A nop of several bytes, of the forms that assemblers fill with. */
static inline bool libc_call_is_padding(const uint8_t *at)
{
	unsigned n = 0;

	while (n < 3 && (at[n] == 0x66 || at[n] == 0x2e))
		n++;
	return at[n] == 0x0f && at[n + 1] == 0x1f;
}

static inline unsigned libc_call_aside(const uint8_t *p, uint64_t at, uint64_t end)
{
	uint64_t distance = end - at;

	return distance > 2 && distance <= LIBC_CALL_REACH &&
			       -end % LIBC_CALL_ALIGN >= LIBC_CALL_ASIDE &&
			       libc_call_is_padding(p + distance)
		       ? (unsigned)distance
		       : 0;
}

/* mov 0x90(%rdi), %rax; ret */
static inline bool libc_is_get_cfa(const uint8_t *at)
{
	static const uint8_t get[LIBC_GET_CFA_BYTES] = { 0x48, 0x8b, 0x87, 0x90, 0, 0, 0, 0xc3 };

	for (unsigned i = 0; i < sizeof(get); i++)
		if (at[i] != get[i])
			return false;
	return true;
}

static inline bool libc_is_empty(const uint8_t *at)
{
	return *at == 0xc3;
}

/* mov $15, %rax (or %eax); syscall */
static inline bool libc_is_sigreturn(const uint8_t *at)
{
	static const uint8_t forms[2][9] = {
		{ 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 },
		{ 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 },
	};
	static const uint8_t lengths[2] = { 9, 7 };

	for (unsigned i = 0; i < 2; i++) {
		unsigned n = 0;

		while (n < lengths[i] && at[n] == forms[i][n])
			n++;
		if (n == lengths[i])
			return true;
	}
	return false;
}
