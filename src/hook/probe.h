/* SPDX-License-Identifier: MIT */
/* A probe at any instruction: how the bytes there are to be replaced by a jump, or why they cannot
 * be.
 *
 *   window:   [lead: instructions before][rest: the probed one, and those after it]
 *
 * The jump overwrites the window's first bytes; in its place run the lead, the probe, the rest. A
 * lead is taken where the window from the probed instruction on would be too short or is jumped
 * into: markers stand in short blocks that only the program's cold paths go through. Nothing jumps
 * into the window except to its first byte. */
#pragma once
#include "arch/code.h"
#include "hook/cache.h"

#define PROBE_ALONE UINT32_MAX

struct hook_probe {
	uint64_t vaddr;               /* address of the probed instruction */
	uint8_t kind; /* HOOK_JUMP, HOOK_PADDED, HOOK_SHORT; HOOK_NONE: see reason */
	uint8_t reason;               /* enum hook_reason */
	uint8_t before;               /* bytes of the lead: the patch is at vaddr - before */
	uint8_t patch_len;            /* 5, or 2 for HOOK_SHORT */
	uint8_t len; /* bytes of the window: at least patch_len, padding included */
	int16_t island;               /* HOOK_SHORT: offset of the island from the patch */
	bool at_entry; /* at the patch of `function`: both can be had, the probe first */
	/* The function whose entry hook has bytes of this window; PROBE_ALONE: none. */
	uint32_t function;
	struct relocate_recipe lead, rest;
	uint8_t bytes[HOOK_WINDOW_MAX]; /* the file's bytes from the patch on */
	uint8_t island_bytes[CODE_JUMP_BYTES];
};

struct hook_prober;

/* Reads the file and every instruction in it (0.1 s for 8 MB): keep the prober while there may be
 * more to plan. Returns 0, or -errno and *err as sym_open's. Functions have the indices of
 * hook_module_load(). hook_prober_close() frees it. */
int hook_prober_open_fd(int fd, const char *path, struct hook_prober **out, struct err *err);
/* (tests) hook_prober_open_fd() by path. */
int hook_prober_open(const char *path, struct hook_prober **out, struct err *err);
/* hook_prober_open_fd() for an open module, which must outlive the prober. */
int hook_prober_of(const struct sym_module *m, struct hook_prober **out, struct err *err);
void hook_prober_close(struct hook_prober *p);
/* Returns the module, which lives as long as the prober. */
const struct sym_module *hook_prober_module(const struct hook_prober *p);

/* Plans a probe; an address always has the same answer, which lives as long as the prober. Windows
 * of different addresses may overlap: the code that applies the first refuses the second
 * (REASON_TAKEN). */
const struct hook_probe *hook_probe_plan(struct hook_prober *p, uint64_t vaddr);

/* hook_probe_plan() within [from, to], which contains vaddr. At `to` itself the instruction stays
 * where it is, and nothing but the probe stands before it: the window is a lead only. If anything
 * jumps to `to`, it would pass the probe by, so there is none. */
const struct hook_probe *hook_probe_within(struct hook_prober *p, uint64_t vaddr, uint64_t from,
					   uint64_t to);

/* True if something jumps into (from, to], or may: bytes that are not code count as jumped into. */
bool hook_prober_jumped_into(const struct hook_prober *p, uint64_t from, uint64_t to);

/* True if the windows share bytes. */
bool hook_probes_overlap(const struct hook_probe *a, const struct hook_probe *b);
