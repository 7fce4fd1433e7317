/* Where blocks are kept: a directory of the user's own, a file for each. Private to src/hook. */
#pragma once
#include "hook/cache_file.h"

/* What names the file at path, read from its first page and its notes. False: it is not an
 * ELF file that can be read; then opening it says why. */
bool cache_key_of(const char *path, struct cache_key *out);

/* Maps the stored block of this key, writable and private; NULL: there is none, or it
 * belongs to somebody else. munmap it. */
uint8_t *cache_fetch(const struct cache_key *key, size_t *n);
/* Best effort: a full disk or a home that cannot be written leaves things as they were. */
void cache_store(const struct cache_key *key, const uint8_t *bytes, size_t n);
