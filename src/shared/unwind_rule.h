/* SPDX-License-Identifier: MIT */
/* The unwind table of one region of trampolines: the tracer writes it behind the region's code
 * (arch/x86_64/unwind_rule.S), the agent shows it to unwinders (agent/unwind.c). It begins with a
 * struct unwind_info. For assembly, too. */
#ifndef BRACE_UNWIND_RULE_H
#define BRACE_UNWIND_RULE_H

/* Places of the words of struct unwind_info, which expressions of the table read. */
#define UNWIND_BYTES 8
#define UNWIND_LAYOUTS 16
#define UNWIND_LAYOUTS_END 24
#define UNWIND_STEP 32
#define UNWIND_NOTHING 40
/* Places in the table: headers as PT_GNU_EH_FRAME points to, and the entry for GCC's unwinder
 * (tests/arch/trampoline_test.c compares them). */
#define UNWIND_HEADER 64        /* for libgcc and LLVM's libunwind */
#define UNWIND_NONGNU_HEADER 84 /* for nongnu's libunwind, as in arch/x86_64/agent/align_cfa.S */
#define UNWIND_ENTRY 128

/* Places of the fields of struct trampoline_layout. */
#define LAYOUT_AT 0
#define LAYOUT_BODY 4
#define LAYOUT_FROM 8
#define LAYOUT_PLAIN 12
#define LAYOUT_LEN 13
#define LAYOUT_PUSHED 14
#define LAYOUT_GROWN 15

/* In `pushed`: a probe's call of the agent, with the stack pointer LAYOUT_STEP lower, all of which
 * is before `body`. No offset in moved code is so great (RELOCATE_MAX_BYTES). */
#define LAYOUT_CALLS_AGENT 0xfe
#define LAYOUT_STEP 128
/* In `pushed`: data up to `body`, with machine code of filters, which the agent calls: functions
 * without a frame. */
#define LAYOUT_FILTER 0xfd

#ifndef __ASSEMBLER__
#include <stdint.h>

/* Addresses in the process. */
struct unwind_info {
	uint64_t base, bytes;        /* the region; offset of the end of its trampolines */
	uint64_t layouts, layouts_end; /* struct trampoline_layout, by `at` */
	uint64_t step; /* bytes: the first step of a binary search: half the list or more */
	uint64_t nothing;            /* 0: a return address that ends a stack */
	/* Offsets from `base` of jumps to trampolines that stand in padding of the text, ascending:
	 * int32_t. */
	uint64_t islands, n_islands;
};
#endif
#endif
