/* SPDX-License-Identifier: MIT */
/* arch/probe_regs.h for x86-64: instructions' numbers of the registers; the kernel's
 * conventions. */
#pragma once

enum {
	PROBE_RESULT = 0,
	PROBE_NUMBER = 0,
	PROBE_ARG2 = 2,
	PROBE_SP = 4,
	PROBE_FP = 5,
	PROBE_ARG1 = 6,
	PROBE_ARG0 = 7,
	PROBE_ARG4 = 8,
	PROBE_ARG5 = 9,
	PROBE_ARG3 = 10
};
#define PROBE_KEPT(r) { (r)[3], (r)[12], (r)[13], (r)[14], (r)[15] }
#define PROBE_CALLED_WITH { PROBE_ARG0, PROBE_ARG1, PROBE_ARG2, 1, PROBE_ARG4, 9 }
#define PROBE_OF_DWARF { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 }
#define PROBE_DWARF_FLOATS 17
#define PROBE_ON_STACK 8
/* The red zone, and two words of agent/probe.S. */
#define PROBE_PUSHED (128 + 16)
