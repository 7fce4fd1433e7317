/* SPDX-License-Identifier: MIT */
/* A hash of two words under a secret key, for tables whose keys a traced program, or the author of
 * a trace file, may choose: who does not know the key cannot make keys that meet in one bucket. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The secret: 16 random bytes. */
struct hash_key { uint64_t at[2]; };

/* Draws a new key. Where the kernel has no random numbers (its generator is not ready yet, or a
 * filter forbids the call) it is made of the time and of this process's addresses. Any thread. */
struct hash_key keyed_hash_key(void);

/* SipHash-2-4 of a and b, 16 bytes in this machine's order (which is little-endian). Any thread. */
uint64_t keyed_hash(const struct hash_key *k, uint64_t a, uint64_t b);
/* The hash of n bytes, behind those whose hash is h (0: none). */
uint64_t keyed_hash_bytes(const struct hash_key *k, uint64_t h, const void *bytes, size_t n);
