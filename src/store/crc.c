/* SPDX-License-Identifier: MIT */
/* CRC-32C eight bytes at a step with eight tables, made once: about 2 GB/s, a few percent of what
 * coding the same records costs, and it needs no instruction that some CPU lacks. Any thread:
 * pthread_once() makes the tables. Nothing fails. */
#include "store/crc.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Tables for eight bytes at a time: table[t][i] is byte i with t zero bytes behind it. */
static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? POLYNOMIAL : 0);
		table[0][i] = c;
	}
	for (int t = 1; t < 8; t++)
		for (uint32_t i = 0; i < 256; i++)
			table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 0xff];
}

/* One step of 8 bytes. Written for little-endian, as brace is for x86-64. */
static uint32_t crc_eight_bytes(uint32_t crc, const uint8_t *p)
{
	uint32_t lo, hi;

	memcpy(&lo, p, 4);
	memcpy(&hi, p + 4, 4);
	lo ^= crc;
	return table[7][lo & 0xff] ^ table[6][lo >> 8 & 0xff] ^ table[5][lo >> 16 & 0xff] ^
	       table[4][lo >> 24] ^ table[3][hi & 0xff] ^ table[2][hi >> 8 & 0xff] ^
	       table[1][hi >> 16 & 0xff] ^ table[0][hi >> 24];
}

uint32_t crc32c(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint32_t crc = ~0u;

	pthread_once(&once, make_tables);
	for (; n >= 8; p += 8, n -= 8)
		crc = crc_eight_bytes(crc, p);
	for (; n; p++, n--)
		crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
	return ~crc;
}
