/* SPDX-License-Identifier: MIT */
/* SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012), for an
 * input of two words. report/verify.c keeps objects by it, whose keys programs choose. No state,
 * any thread, nothing fails. */
#include "base/keyed_hash.h"

#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include "base/monotonic.h"

/* The paper's constants, and the last block: it has no bytes left, and the length 16 on top. */
#define INITIAL                                                              \
	{ 0x736f6d6570736575u, 0x646f72616e646f6du, 0x6c7967656e657261u,     \
	  0x7465646279746573u }
#define LAST_BLOCK (UINT64_C(16) << 56)

struct sip { uint64_t v[4]; };

static uint64_t rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

/* The paper's SipRound. */
static void mix(struct sip *s)
{
	uint64_t *v = s->v;

	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static void add_word(struct sip *s, uint64_t word)
{
	s->v[3] ^= word;
	mix(s);
	mix(s);
	s->v[0] ^= word;
}

/* A key that can be guessed makes a table slow, not wrong: so there is one in any case. */
struct hash_key keyed_hash_key(void)
{
	struct hash_key k;
	/* Without waiting: at boot the generator may not be ready for a long time. */
	const bool drawn = getrandom(&k, sizeof(k), GRND_NONBLOCK) == sizeof(k);

	if (!drawn)
		k = (struct hash_key){ { monotonic_ns(), (uintptr_t)&k } };
	return k;
}

uint64_t keyed_hash(const struct hash_key *k, uint64_t a, uint64_t b)
{
	struct sip s = { INITIAL };

	for (unsigned i = 0; i < 4; i++)
		s.v[i] ^= k->at[i & 1];
	add_word(&s, a);
	add_word(&s, b);
	add_word(&s, LAST_BLOCK);
	s.v[2] ^= 0xff;
	for (unsigned i = 0; i < 4; i++)
		mix(&s);
	return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}

/* The length goes in first: texts that differ only in NULs at their ends are otherwise equal, as
 * the last word is filled with them. */
uint64_t keyed_hash_bytes(const struct hash_key *k, uint64_t h, const void *bytes, size_t n)
{
	const char *at = bytes;

	h = keyed_hash(k, h, n);
	for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, at + i, n - i < sizeof(word) ? n - i : sizeof(word));
		h = keyed_hash(k, h, word);
	}
	return h;
}
