/* SPDX-License-Identifier: MIT */
/* Places of a probed thread's registers in struct probe_regs (shared/probe.h), as the agent's
 * assembly leaves them. The machine's part has:
 *   PROBE_SP, PROBE_FP        stack pointer, frame pointer
 *   PROBE_KEPT(r)             { } of the others that a call keeps, as in stack_regs.kept
 *   PROBE_ARG0 to PROBE_ARG5  arguments of a system call; the first three are a function's, too
 *   PROBE_NUMBER              before a system call: its number
 *   PROBE_RESULT              after it: its result
 *   PROBE_CALLED_WITH         { } of a function's first whole-number arguments, in their order
 *   PROBE_OF_DWARF            { } by DWARF's number of a register
 *   PROBE_DWARF_FLOATS        DWARF's number of the first vector register
 *   PROBE_ON_STACK            bytes from the stack pointer at entry to the arguments on the stack
 *   PROBE_PUSHED              bytes below the stack pointer that are written before C is called */
#pragma once
#include "arch/machine.h"
#include MACHINE_HEADER(probe_regs.h)
