/* SPDX-License-Identifier: MIT */
/* From a module's functions to a hook for each, or the reason for none. The plan has file addresses
 * only, so one plan serves every process, and is cached by the file's identity. */
#pragma once
#include "arch/relocate.h"
#include "base/err.h"
#include "shared/nonlocal.h"
#include "sym/module.h"

#define HOOK_KINDS(X)                                                        \
	X(NONE, "none", "not hooked")                                        \
	X(NOP, "nop", "nops made for it (patchable entry, -mnop-mcount)")    \
	X(FENTRY, "fentry", "a call to __fentry__, replaced")                \
	X(MCOUNT, "mcount", "a call to mcount or __cyg_profile_func_enter: entry jump as usual") \
	X(XRAY, "xray", "an XRay sled")                                      \
	X(JUMP, "jump", "a jump over a moved prologue")                      \
	X(PADDED, "jump+padding", "a jump that uses the padding behind a short function") \
	X(SHORT, "short", "a short jump to an island in padding") \
	X(CALLERS, "callers", "too short for a jump: entered through all its direct callers") \
	X(SOME_CALLERS, "some-callers", "the same, but others may enter it, which is not seen")

#define HOOK_REASONS(X)                                                      \
	X(NONE, "", "")                                                      \
	X(COLD, "cold", "a cold fragment, not a function")                   \
	X(TOO_SHORT, "too-short", "shorter than a jump, no padding to use, no direct caller") \
	X(BRANCH_TARGET, "branch-target", "something jumps into the bytes a jump would need") \
	X(CALL_IN_WINDOW, "call-in-window", "a call returns into the bytes a jump would need") \
	X(UNDECODABLE, "undecodable", "its first bytes are not instructions") \
	X(UNMOVABLE, "unmovable", "begins with an instruction that cannot be moved") \
	X(READS_FLAGS, "reads-flags", "takes arguments in the flags (assembly)") \
	X(RUNTIME, "runtime", "the language's or C runtime relies on its bytes or address") \
	X(NOT_CODE, "not-code", "no proof that this is code")                \
	X(FILTERED, "filtered", "not selected by the filters")               \
	X(NO_ROOM, "no-room", "no memory for a trampoline within reach")     \
	X(CHANGED, "changed", "its bytes in memory are not those of the file") \
	X(TOO_MANY, "too-many", "more functions than ids")                   \
	/* entry-only: hooked, but the return is not followed */             \
	X(RETURNS_TWICE, "returns-twice", "returns twice or on another stack") \
	X(READS_CALLER, "reads-caller", "looks at its return address")       \
	X(NO_RETURN_ADDRESS, "no-return-address", "is not entered by a call") \
	X(CONVENTION, "convention", "has a calling convention of its own")   \
	X(RETURNS_FLAGS, "returns-flags", "returns a result in the flags (assembly)") \
	X(GO, "go", "Go moves stacks: returns are not followed")             \
	X(UNWINDER, "unwinder", "static and without symbols: its unwinder would not find our tables") \
	/* not hooked, in a process that ran already */                      \
	X(BUSY, "busy", "a thread stood in its first bytes at the moment it was to be hooked") \
	X(PAGE_END, "page-end", "its first bytes lie on two pages, which cannot be changed at once") \
	/* not hooked, a probe */                                            \
	X(TAKEN, "taken", "another hook has the bytes a jump would need")

enum hook_kind {
#define X(id, word, text) HOOK_##id,
	HOOK_KINDS(X)
#undef X
	HOOK_KINDS_N
};
enum hook_reason {
#define X(id, word, text) REASON_##id,
	HOOK_REASONS(X)
#undef X
	REASONS_N
};
extern const char *const hook_kind_words[HOOK_KINDS_N], *const hook_kind_texts[HOOK_KINDS_N];
extern const char *const hook_reason_words[REASONS_N], *const hook_reason_texts[REASONS_N];

#define HOOK_CALL_BYTES 4

/* A direct call of, or jump to, a function of HOOK_CALLERS or HOOK_SOME_CALLERS. */
struct hook_call {
	/* Address of its displacement: HOOK_CALL_BYTES, the last bytes of the instruction. */
	uint64_t at;
	uint32_t function, pad; /* index of the target */
};

struct hook_plan_entry {
	uint64_t vaddr;         /* of the function */
	uint32_t function;      /* index into module->functions */
	uint8_t kind;           /* enum hook_kind; HOOK_NONE: not hooked, see reason */
	uint8_t reason;         /* enum hook_reason: why not, or why entry only */
	bool entry_only;
	uint8_t leaves;         /* enum nonlocal_kind */
	uint8_t starts;         /* enum start_kind; with it, `leaves` is not NONLOCAL_NOT */
	uint8_t patch_offset;   /* offset of the patch from vaddr: behind a landing pad */
	uint8_t patch_len;      /* 5, 2 for HOOK_SHORT, 0 where callers are redirected */
	int16_t island; /* HOOK_SHORT: offset of the island from vaddr (5 bytes, a jmp rel32) */
	/* In the plan's calls: those that lead here and can be changed. */
	uint32_t first_call, n_calls;
	/* The window from the patch on; empty where callers are redirected. */
	struct relocate_recipe recipe;
};

struct hook_plan {
	uint32_t n;
	struct hook_plan_entry *entries; /* one per module function, in its order */
	VEC(struct hook_call) calls;     /* by function, then by address */
	uint32_t by_kind[HOOK_KINDS_N], by_reason[REASONS_N];
	/* Without libc: they may have another thread's thread pointer, or none. */
	bool starts_threads;
};

/* True if the function itself stays as it is and its callers are changed. */
static inline bool hook_by_callers(uint8_t kind)
{
	return kind == HOOK_CALLERS || kind == HOOK_SOME_CALLERS;
}

/* Plans every function of the module; the result depends on the file alone. Returns 0, or -errno
 * and *err. hook_plan_free() frees it. */
int hook_plan(const struct sym_module *m, struct hook_plan **out, struct err *err);
void hook_plan_free(struct hook_plan *p);
