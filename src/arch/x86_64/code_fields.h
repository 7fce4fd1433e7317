/* SPDX-License-Identifier: MIT */
/* arch/code_fields.h for x86-64, by SSE2: 16 fields at a time. The contracts stand in
 * arch/code_fields.h; every x86-64 processor has SSE2. */
#pragma once

#include <emmintrin.h>

/* 0f 80 to 0f 8f: jcc rel32. */
static inline bool code_field_branches(const uint8_t *field)
{
	return (field[-1] & 0xf0) == 0x80 && field[-2] == 0x0f;
}

static inline bool code_field_is_use(const uint8_t *field)
{
	return field[-1] == 0xe8 || (field[-1] & 0xc7) == 0x05; /* call; modrm of disp32(%rip) */
}

/* The two tests above, on the byte before each field and the one before that. */
static inline uint32_t code_fields_used(const uint8_t *at)
{
	typedef uint8_t octets __attribute__((vector_size(16)));
	octets last, before;

	memcpy(&last, at - 1, sizeof(last));
	memcpy(&before, at - 2, sizeof(before));
	return (uint32_t)_mm_movemask_epi8((__m128i)((last == 0xe8) | ((last & 0xc7) == 0x05) |
						     (((last & 0xf0) == 0x80) & (before == 0x0f))));
}

static inline uint32_t code_spread_mask(code_lanes mask)
{
	/* Bit k of four becomes bit 4k of sixteen. */
	static const uint16_t spread[16] = {
		0x0000, 0x0001, 0x0010, 0x0011, 0x0100, 0x0101, 0x0110, 0x0111,
		0x1000, 0x1001, 0x1010, 0x1011, 0x1100, 0x1101, 0x1110, 0x1111,
	};

	return spread[_mm_movemask_ps((__m128)mask)];
}
