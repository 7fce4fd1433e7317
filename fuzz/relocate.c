/* SPDX-License-Identifier: MIT */
/* Any bytes: what relocate_scan accepts is emitted within its bounds, decodes to as many
 * bytes as were written, and is accepted by relocate_valid. */
#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "arch/relocate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int ok)
{
	if (!ok)
		abort();
}

/* All but the constant behind a moved call is code. */
static void check_decodes(const struct relocate_recipe *r, const uint8_t *code, size_t n)
{
	bool call = r->n && relocate_is_call(&r->insn[r->n - 1]);
	size_t at = 0, end = call ? n - 8 : n;

	while (at < end) {
		struct insn in;

		check(insn_decode(code + at, end - at, at, &in));
		at += in.len;
	}
	check(at == end);
}

static void move(const uint8_t *code, size_t n, size_t want, uint64_t vaddr, uint64_t from,
		 uint64_t to)
{
	uint8_t *out = malloc(RELOCATE_MAX_BYTES), *original;
	struct relocate_recipe r;
	size_t column = 0;
	int emitted;

	if (relocate_scan(code, n, vaddr, want, &r, &column) == 0) {
		check(r.len <= n && (r.len >= want || !r.falls) && r.n <= RELOCATE_MAX_INSNS);
		original = malloc(r.len + 1u);
		memcpy(original, code, r.len);
		check(relocate_valid(&r, original));
		emitted = relocate_emit(&r, original, vaddr, from, to, out);
		check(emitted < 0 || emitted <= RELOCATE_MAX_BYTES);
		if (emitted > 0)
			check_decodes(&r, out, (size_t)emitted);
		free(original);
	} else {
		check(column <= n);
	}
	free(out);
}

/* A stored recipe: whatever relocate_valid lets through must not overrun. */
static void emit_stored(const uint8_t *data, size_t n)
{
	struct relocate_recipe r;
	uint8_t *original, *out = malloc(RELOCATE_MAX_BYTES);

	memcpy(&r, data, sizeof(r));
	r.falls = data[2] & 1;
	original = calloc(1, r.len + 1u);
	memcpy(original, data + sizeof(r), n - sizeof(r) < r.len ? n - sizeof(r) : r.len);
	if (relocate_valid(&r, original))
		check(relocate_emit(&r, original, 0x1000, 0x401000, 0x402000, out) <=
		      RELOCATE_MAX_BYTES);
	free(original);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 1)
		return 0;
	move(data + 1, n - 1, data[0] % 16, 0x1000, 0x401000, 0x402000);
	move(data + 1, n - 1, 5, 0xfffffffffffff000u, 0x7ffffffff000u, 0x700000000000u);
	if (n > sizeof(struct relocate_recipe))
		emit_stored(data, n);
	return 0;
}
