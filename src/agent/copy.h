/* SPDX-License-Identifier: MIT */
/* Copies of memory that is there for certain, without libc and without vector registers. Inline,
 * for the copies of a probe's values (probe.c, arguments.c, constants.c). Any thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The kernel's struct iovec. */
struct copy_range { void *at; uint64_t bytes; };

/* A number is copied whole: who loads it next would wait for the stores of its bytes. */
static inline void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t n)
{
	uint32_t i = 0;

	/* Volatile, else the compiler makes these loops a call of memcpy. */
	for (; n - i >= 8; i += 8)
		*(volatile uint64_t __attribute__((aligned(1))) *)(to + i) =
			*(const volatile uint64_t __attribute__((aligned(1))) *)(from + i);
	for (; i < n; i++)
		((volatile uint8_t *)to)[i] = ((const volatile uint8_t *)from)[i];
}

/* Bit 7 of the lowest byte that is 0; bits above it may be wrong. 0: no byte is. */
static inline uint64_t copy_zero_in(uint64_t word)
{
	return (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);
}

/* Copies a string up to its NUL, or n bytes of it, and sets *got to the bytes up to there. True: it
 * ends within them. Bytes behind the NUL, still among the n, may be copied, too. */
static inline bool copy_string(uint8_t *to, const uint8_t *from, uint32_t n, uint32_t *got)
{
	uint32_t i = 0;

	for (; n - i >= 8; i += 8) {
		uint64_t word = *(const volatile uint64_t __attribute__((aligned(1))) *)(from + i),
			 zero = copy_zero_in(word);

		*(volatile uint64_t __attribute__((aligned(1))) *)(to + i) = word;
		if (zero) {
			*got = i + (uint32_t)__builtin_ctzll(zero) / 8 + 1;
			return true;
		}
	}
	for (; i < n; i++)
		if (!(((volatile uint8_t *)to)[i] = ((const volatile uint8_t *)from)[i])) {
			*got = i + 1;
			return true;
		}
	*got = n;
	return false;
}
