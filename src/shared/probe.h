/* SPDX-License-Identifier: MIT */
/* What stands in a region of trampolines for one probe of one event: the agent finds it from the trampoline, and a later
 * brace finds from it what was there before. */
#pragma once
#define PROBE_SITE_PROGRAM 88 /* bytes from a struct probe_site */
#ifndef __ASSEMBLER__
#include "shared/fetch.h"

#define PROBE_MAGIC 0x65626f7270637262ull /* "brcprobe" */

/* PROBE_FETCH: its program gathers fields. PROBE_CALL: a struct call_about (calls.h) stands there; PROBE_SIGNAL: a struct
 * signal_about (tasks.h). */
enum probe_kind { PROBE_FETCH, PROBE_CALL, PROBE_SIGNAL };

struct probe_site {
	uint64_t magic;
	uint64_t ip;             /* of the probed instruction, in this process */
	uint64_t patch;          /* of the jump */
	uint64_t base;           /* what its module was moved by */
	uint64_t semaphore;      /* counter of two bytes, raised while this is enabled; 0 = none */
	uint64_t island;         /* of a short jump; 0 = none */
	uint8_t expected[8], island_expected[8]; /* what the program had there */
	uint32_t event;          /* the session's number of it */
	uint32_t next;           /* of another event at the same instruction: bytes from here; 0 = none */
	uint32_t filter, filter_bytes; /* bytes from here; 0 = none: every record */
	uint32_t program_bytes;
	uint8_t patch_len, kind /* enum probe_kind */, stacked /* its records come with the stack */, pad;
	struct fetch_program program;
};

/* The registers of a probed thread, as agent/probe.S leaves them. */
struct probe_regs { uint64_t at[FETCH_REGS]; };
_Static_assert(__builtin_offsetof(struct probe_site, ip) == 8, "agent/probe_frame.h says so to unwinders");
_Static_assert(__builtin_offsetof(struct probe_site, program) == PROBE_SITE_PROGRAM, "agent/syscall.S reads it");
#endif
