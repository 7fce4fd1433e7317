/* SPDX-License-Identifier: MIT */
/* A module's plan as one block of bytes: the cache stores it, and a hook_module points into it.
 * Private to src/hook. */
#pragma once
#include "hook/cache.h"
#include "sym/file_key.h"

/* Identity of a block: the file, and this very build of brace. */
struct cache_key {
	struct file_key file;
	uint8_t brace[20];     /* its build-id */
	uint32_t entry_bytes;  /* stands in for a missing build-id of brace */
};

/* Makes the block of a planned module; free() it. *n: its bytes. */
uint8_t *cache_file_make(const struct sym_module *m, const struct hook_plan *p,
			 const struct cache_key *key, size_t *n);

/* Checks every byte on which anything depends. Returns true if all is well: *out's fields point
 * into the block, which must be writable and outlive it; path, name and needed are not set, and the
 * texts of DT_NEEDED begin at *needed. False: not a block for this key, or a damaged one. */
bool cache_file_read(uint8_t *bytes, size_t n, const struct cache_key *key, struct hook_module *out,
		     const char **needed);

/* Writes size, key and checksum into the header of a block (if n allows): for tests that damage the
 * rest. */
void cache_file_seal(uint8_t *bytes, size_t n, const struct cache_key *key);

/* A fast hash against accidental damage; not against forgery. */
uint64_t cache_hash(uint64_t seed, const void *bytes, size_t n);
