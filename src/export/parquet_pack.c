/* SPDX-License-Identifier: MIT */
/* Numbers to packed bits. parquet_file.c calls this for each column of a group of rows, on brace's
 * only thread. Nothing here fails. Arithmetic is of unsigned numbers that wrap, as the format
 * demands: a difference may be larger than a signed number holds. */
#include "export/parquet_pack.h"

enum { BLOCK = 128, SMALL = 32, SMALLS = BLOCK / SMALL };

/* Bits that wait for a whole byte. */
struct bits { struct bytes *to; unsigned __int128 held; unsigned n; };

/* Appends the lowest `width` bits of v, the lowest first. At most 7 bits wait and 64 come: 128 bits
 * hold them. */
static void put_bits(struct bits *b, uint64_t v, unsigned width)
{
	b->held |= (unsigned __int128)v << b->n;
	for (b->n += width; b->n >= 8; b->n -= 8) {
		bytes_u8(b->to, (uint8_t)b->held);
		b->held >>= 8;
	}
}

/* --- differences -------------------------------------------------------------------------- */

/* A block's differences less their smallest one, each small block with its own width.
 * DELTA_BINARY_PACKED of parquet-format's Encodings.md: the smallest difference, the four widths,
 * then the small blocks. The comparison is with a sign, the subtraction wraps. */
static void put_block(struct bytes *to, uint64_t *differences, size_t n)
{
	int64_t least = (int64_t)differences[0];
	unsigned width[SMALLS] = { 0 };
	struct bits bits = { .to = to };

	for (size_t i = 1; i < n; i++)
		if ((int64_t)differences[i] < least)
			least = (int64_t)differences[i];
	for (size_t i = 0; i < n; i++) {
		unsigned w = parquet_width(differences[i] -= (uint64_t)least);

		if (w > width[i / SMALL])
			width[i / SMALL] = w;
	}
	bytes_uleb(to, bytes_zigzag(least));
	for (size_t i = 0; i < SMALLS; i++)
		bytes_u8(to, (uint8_t)width[i]);
	/* A small block that has a number is whole: zeros fill it. */
	for (size_t i = 0; i < (n + SMALL - 1) / SMALL * SMALL; i++)
		put_bits(&bits, i < n ? differences[i] : 0, width[i / SMALL]);
}

/* The head: numbers of a block, small blocks in it, all numbers, and the first of them. */
void parquet_pack_differences(struct bytes *to, const int64_t *numbers, size_t n)
{
	uint64_t differences[BLOCK];

	bytes_uleb(to, BLOCK);
	bytes_uleb(to, SMALLS);
	bytes_uleb(to, n);
	bytes_uleb(to, bytes_zigzag(n ? numbers[0] : 0));
	for (size_t i = 1; i < n; i += BLOCK) {
		size_t some = n - i < BLOCK ? n - i : BLOCK;

		for (size_t k = 0; k < some; k++)
			differences[k] = (uint64_t)numbers[i + k] - (uint64_t)numbers[i + k - 1];
		put_block(to, differences, some);
	}
}

/* --- runs --------------------------------------------------------------------------------- */

/* One run of bit-packed numbers: its head is the number of groups of eight, and a 1 (Encodings.md,
 * RLE). Zeros fill the last group; the page's number of values says where they end. */
void parquet_pack_bits(struct bytes *to, const int64_t *numbers, size_t n, unsigned width)
{
	const size_t eights = (n + 7) / 8;
	struct bits bits = { .to = to };

	bytes_uleb(to, eights << 1 | 1);
	for (size_t i = 0; i < eights * 8; i++)
		put_bits(&bits, i < n ? (uint64_t)numbers[i] : 0, width);
}

/* Runs of equal levels: the head is twice the length, and the level follows in a byte, since its
 * width is one bit. */
void parquet_pack_levels(struct bytes *to, const uint8_t *levels, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && levels[end] == levels[i];)
			end++;
		bytes_uleb(to, (end - i) << 1);
		bytes_u8(to, levels[i]);
	}
}
