/* SPDX-License-Identifier: MIT */
/* Both halves of a product with a secret factor, one over the other, for each eight bytes; the idea
 * is that of Wang Yi's wyhash. Tables of many folders call it, readers of traces for each switch of
 * stacks. A constructor draws the secret before any thread is there, so no access is locked.
 * Nothing fails. */
#include "base/table_hash.h"

#include <string.h>

#include "base/keyed_hash.h"

static struct hash_key secret;

__attribute__((constructor)) static void draw_secret(void)
{
	secret = keyed_hash_key();
	secret.at[1] |= 1; /* a factor: an even one would lose bits */
}

/* Keys that differ in their high bits alone, or in their low ones, are as far apart as any. */
uint64_t table_hash_number(uint64_t key)
{
	const unsigned __int128 product =
		(unsigned __int128)(key ^ secret.at[0]) * secret.at[1];

	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

uint64_t table_hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	const char *at = bytes;

	h = table_hash_number(h ^ n);
	for (; n >= sizeof(uint64_t); at += sizeof(uint64_t), n -= sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		h = table_hash_number(h ^ word);
	}
	if (n) {
		uint64_t word = 0;

		memcpy(&word, at, n);
		h = table_hash_number(h ^ word);
	}
	return h;
}

uint64_t table_hash_text(uint64_t h, const char *text)
{
	return table_hash_bytes(h, text, strlen(text));
}
