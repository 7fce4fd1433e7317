/* SPDX-License-Identifier: MIT */
/* The code that a program made while it ran (a translator's, a JIT's), as it tells profilers: by
 * lines of perf's map file ("START SIZE NAME", hexadecimal numbers) or by records of perf's jitdump
 * format. Both are appended to while the program runs, so that this takes them in parts. The bytes
 * are the program's: names may hold anything. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define MADE_CODE_MAX (1u << 18)       /* entries that are kept; what comes then is left out */
#define MADE_CODE_NAME_MAX 400u        /* bytes of a name that are kept */
#define MADE_CODE_TEXT_MAX (64u << 20) /* bytes of all names */

struct made_code_entry {
	uint64_t start, size; /* a range of addresses that does not wrap; size is not 0 */
	uint32_t order, name; /* the greater order is newer; the name's place in text */
};

/* All zero is an empty one. */
struct made_code {
	VEC(struct made_code_entry) at;
	VEC(uint64_t) reach; /* by entry, once sorted: the highest end up to it */
	VEC(char) text;      /* names with their NULs */
	/* Entries before `old` are in order of address; so are the newer ones up to `sorted`, and
	 * those behind stand as they came. */
	size_t old, sorted;
	uint64_t limit;      /* of made_code_bytes(); 0: none but the bounds above */
	uint64_t left_out;   /* entries for which there was no room */
	bool begun;          /* of a dump: its header has been read */
	bool bad;            /* of a dump: what follows cannot be read */
};

void made_code_free(struct made_code *m); /* what it has: *m is an empty one afterwards */
/* Bytes that the entries and their names fill; a vector's room may be twice that. */
uint64_t made_code_bytes(const struct made_code *m);

/* Takes the whole lines of the next n bytes of a map file; returns how many bytes these are. What
 * is no entry is passed over. */
size_t made_code_add_map(struct made_code *m, const char *bytes, size_t n);

/* Takes the whole records of the next n bytes of a jitdump; returns how many bytes these are. Sets
 * m->bad where the bytes are none: nothing more is taken then. Byte order is this machine's. */
size_t made_code_add_dump(struct made_code *m, const uint8_t *bytes, size_t n);

/* The newest entry around an address, or NULL; valid until more is added or looked for. Of a
 * hostile program, whose entries lie in each other by the thousand, it may be an older one. */
const struct made_code_entry *made_code_find(struct made_code *m, uint64_t address);
static inline const char *made_code_name(const struct made_code *m, const struct made_code_entry *e)
{
	return m->text.at + e->name;
}
