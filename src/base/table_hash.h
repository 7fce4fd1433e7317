/* SPDX-License-Identifier: MIT */
/* The hash of brace's tables in memory. Their keys are names and numbers of traced programs and of
 * files, whose authors could choose them so that all meet in one place. So it has a secret of this
 * process, and its values are for nobody else. Where a key may be tried out and the answers timed
 * at leisure, keyed_hash.h is stronger, and slower. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* All bits depend on all bits of the key. Any thread. */
uint64_t table_hash_number(uint64_t key);
/* The hash of n bytes behind what had the hash h (nothing: 0). "ab", "c" has another one than "a",
 * "bc". Any thread. */
uint64_t table_hash_bytes(uint64_t h, const void *bytes, size_t n);
/* table_hash_bytes() of a text. */
uint64_t table_hash_text(uint64_t h, const char *text);
