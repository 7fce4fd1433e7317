/* SPDX-License-Identifier: MIT */
/* The data of one probe of one event, in a region of trampolines. The agent finds it from the
 * trampoline; a later brace finds in it the bytes that the program had there. */
#pragma once
#define PROBE_SITE_PROGRAM 96 /* bytes from a struct probe_site */
#ifndef __ASSEMBLER__
#include "shared/fetch.h"

#define PROBE_CHAIN_MAX 64u /* events at one instruction; bounds the chain in shared memory */
#define PROBE_MAGIC 0x65626f7270637262ull /* "brcprobe" */

/* PROBE_FETCH: a fetch program gathers the fields. PROBE_CALL: a struct call_info (calls.h) stands
 * in its place. PROBE_SIGNAL: a struct signal_info (tasks.h). PROBE_ENTRY: a fetch program, at a
 * function's entry; its record is no event's: its words are kept for the call's return. */
enum probe_kind { PROBE_FETCH, PROBE_CALL, PROBE_SIGNAL, PROBE_ENTRY };

struct probe_site {
	uint64_t magic;
	uint64_t ip;             /* address of the probed instruction in this process */
	uint64_t patch;          /* address of the jump */
	uint64_t base;           /* load bias of its module */
	/* Address of a two-byte counter, raised while this is enabled; 0 = none. */
	uint64_t semaphore;
	uint64_t island;         /* address of the island of a short jump; 0 = none */
	uint8_t expected[8], island_expected[8]; /* the program's own bytes there */
	uint32_t event;          /* the session's number of it */
	uint32_t next; /* another event of the same instruction: bytes from here; 0 = none */
	uint32_t filter, filter_bytes; /* bytes from here; 0 = none: every record */
	uint32_t program_bytes;
	uint8_t patch_len, kind /* enum probe_kind */,
		stacked /* its records come with the stack */,
		kept /* a return, whose program wants words of the call's entry */;
	/* Raised when the event is switched off: what was kept before is not believed. */
	uint32_t generation;
	uint32_t scopes; /* its records are those in one of these (MEMORY_SCOPES); 0: all */
	struct fetch_program program;
};

/* Registers of a probed thread, as arch/x86_64/agent/probe.S leaves them. */
struct probe_regs { uint64_t at[FETCH_REGS]; };
_Static_assert(__builtin_offsetof(struct probe_site, ip) == 8,
	       "the machine's agent/probe_frame.h says so to unwinders");
_Static_assert(__builtin_offsetof(struct probe_site, program) == PROBE_SITE_PROGRAM,
	       "the machine's agent/syscall.S reads it");
#endif
