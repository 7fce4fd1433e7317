/* SPDX-License-Identifier: MIT */
/* The plan cache's place: a directory of the user's own, with a file for each block. Private to
 * src/hook. */
#pragma once
#include "hook/cache_file.h"

/* Makes the key of the open file, whose name below root is `path` (sym_open_fd). False: it is no
 * ELF file that can be read; opening it says why. */
bool cache_key_of(int fd, const char *path, const char *root, struct cache_key *out);

/* Reads the stored block of this key; free() it. NULL: there is none, or it belongs to another
 * user. */
uint8_t *cache_fetch(const struct cache_key *key, size_t *n);
/* Loads the module of the stored block, of the file at this path; hook_module_free() frees it.
 * NULL: there is none, or it is damaged. */
struct hook_module *hook_module_load_cached(const struct cache_key *key, const char *path);
/* Stores a block. Best effort: a full disk or an unwritable home changes nothing. */
void cache_store(const struct cache_key *key, const uint8_t *bytes, size_t n);
