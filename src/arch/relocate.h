/* SPDX-License-Identifier: MIT */
/* Moves instructions, in two steps. relocate_scan() turns a window of whole instructions into a
 * recipe (slow, decodes; once for each function, and cached); relocate_emit() writes the recipe's
 * code for any pair of addresses (fast, no decoder). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/machine.h"

/* The machine's part has struct relocate_insn, one moved instruction: a plan's files keep it. Each
 * machine's has the member `target`, the vaddr that a branch leads to, which may be changed. The
 * machine's part also has RELOCATE_MAX_INSNS, and RELOCATE_MAX_BYTES, an upper bound of the bytes
 * that relocate_emit() writes, jump back included. */
struct relocate_insn;
/* True for a call of any kind. */
static inline bool relocate_is_call(const struct relocate_insn *in);
/* True for a direct jump, conditional jump or call that leads out of the moved instructions. A
 * loop's instruction does not count. */
static inline bool relocate_leaves(const struct relocate_insn *in);

#include MACHINE_HEADER(relocate.h)

struct relocate_recipe {
	uint8_t n;          /* instructions */
	uint8_t len;        /* original bytes covered: >= the bytes asked for */
	bool falls;         /* execution may pass the end: a jump back is needed */
	struct relocate_insn insn[RELOCATE_MAX_INSNS];
};

/* Scans whole instructions from code (at vaddr; `avail` readable bytes) until at least `want` bytes
 * are covered. Stops early at an instruction that never falls through (a return, a jump): out->len
 * may be less than want then. `want` is what will be overwritten: branches into it go to the
 * copies, branches to vaddr itself stay. 0, or -errno: EILSEQ undecodable,
 * EOPNOTSUPP an instruction that cannot move, EBUSY a call that would return into the first `want`
 * bytes (*column is the offset of the instruction in all three), ENODATA the code ends before. */
int relocate_scan(const uint8_t *code, size_t avail, uint64_t vaddr, size_t want,
		  struct relocate_recipe *out, size_t *column);

/* Writes the moved code for runtime address `to`, for a function whose runtime address is
 * `from` (= bias + vaddr, bias = from - vaddr). The code ends with a jump back to
 * from + recipe->len when recipe->falls. Returns bytes written, or -ERANGE when a target is
 * out of reach from `to`. out has RELOCATE_MAX_BYTES bytes. */
int relocate_emit(const struct relocate_recipe *r, const uint8_t *original, uint64_t vaddr,
		  uint64_t from, uint64_t to, uint8_t *out);

/* The places of the moved instructions beside the original ones: up to offset `plain` they are at
 * the same distance; the one that begins there has `grown` bytes more. `pushed`: offset of the jump
 * of a moved call, behind its push; 0xff = there is none. Offsets in the moved code. */
struct relocate_shape { uint8_t plain, grown, pushed; };
struct relocate_shape relocate_shape_of(const struct relocate_recipe *r);

/* True if relocate_scan() can have made this recipe of these bytes (recipe->len of them are
 * readable); relocate_emit() then stays within its bounds. For recipes that were stored. */
bool relocate_valid(const struct relocate_recipe *r, const uint8_t *original);
