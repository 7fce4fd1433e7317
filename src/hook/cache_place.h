/* SPDX-License-Identifier: MIT */
/* Where blocks are kept: a directory of the user's own, a file for each. Private to src/hook. */
#pragma once
#include "hook/cache_file.h"

/* The key of the open file, of this name below root (sym_open_fd). False: it is no ELF file that can be read; then
 * opening it says why. */
bool cache_key_of(int fd, const char *path, const char *root, struct cache_key *out);

/* Reads the stored block of this key; NULL: there is none, or it belongs to somebody else. free() it. */
uint8_t *cache_fetch(const struct cache_key *key, size_t *n);
/* Best effort: a full disk or a home that cannot be written leaves things as they were. */
void cache_store(const struct cache_key *key, const uint8_t *bytes, size_t n);
