/* SPDX-License-Identifier: MIT */
/* Reads any bytes as the files by which programs tell of code that they make (sym/made_code.h):
 * as a map file, or, by the first byte, as a jitdump; in parts as a reader gets them, by the
 * second byte. Every address that an entry has finds an entry that has it, and what comes in
 * parts is what comes at once. */
#include <stdlib.h>
#include <string.h>

#include "sym/made_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t add(struct made_code *m, bool dump, const uint8_t *bytes, size_t n)
{
	size_t took = dump ? made_code_add_dump(m, bytes, n) : made_code_add_map(m, (const char *)bytes, n);

	if (took > n)
		abort();
	return took;
}

static void check(struct made_code *m)
{
	for (size_t i = 0; i < m->at.n && i < 64; i++) {
		const struct made_code_entry e = m->at.at[i], *found = made_code_find(m, e.start + e.size - 1);

		if (!found || e.start + e.size - 1 - found->start >= found->size || found->order < e.order ||
		    strlen(made_code_name(m, found)) > MADE_CODE_NAME_MAX)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct made_code whole = { 0 }, parts = { 0 };
	size_t at = 0, step, took;
	bool dump;

	if (n < 2)
		return 0;
	dump = data[0] & 1;
	step = data[1] + 1u;
	data += 2;
	n -= 2;
	add(&whole, dump, data, n);
	/* A part grows until it holds something whole. */
	for (size_t have = step; at < n; have += took ? 0 : step) {
		size_t room = have < n - at ? have : n - at;

		took = add(&parts, dump, data + at, room);
		at += took;
		if (!took && room == n - at)
			break;
	}
	if (parts.at.n != whole.at.n || parts.bad != whole.bad)
		abort();
	check(&whole);
	check(&parts);
	made_code_free(&whole);
	made_code_free(&parts);
	return 0;
}
