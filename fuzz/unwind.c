/* SPDX-License-Identifier: MIT */
/* Any bytes as an ELF file's call frame information: from any address in it to the callers. */
#include <stdlib.h>
#include <string.h>

#include "sym/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct memory { const uint8_t *bytes; size_t n; };

static bool read_word(void *context, uint64_t address, uint64_t *word)
{
	const struct memory *m = context;

	if (m->n < sizeof(*word) || address > m->n - sizeof(*word))
		return false;
	memcpy(word, m->bytes + address, sizeof(*word));
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const uint64_t begins[] = { 0, 0x2f0, 0x320, 0x360, 0x3a0, 0x1000, 0x1139, 0x401136 };
	struct memory m = { bytes, n };
	struct unwind_file *f;
	struct err err;

	if (unwind_open_bytes(bytes, n, &f, &err))
		return 0;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		struct unwind_regs r = { { 0 } };
		bool interrupted;

		r.at[UNWIND_PC] = begins[i];
		for (int k = 0; k < 16 && unwind_step(f, r.at[UNWIND_PC], &r, &interrupted, read_word, &m); k++)
			;
	}
	unwind_close(f);
	return 0;
}
