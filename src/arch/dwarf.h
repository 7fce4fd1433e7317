/* SPDX-License-Identifier: MIT */
/* DWARF's numbers of the machine's registers, for unwind tables. The machine's part has:
 *   DWARF_SP, DWARF_FP, DWARF_PC   stack pointer, frame pointer, and the column of the return
 *                                  address
 *   DWARF_REGS                     columns that unwind rules are kept for, from 0 to DWARF_PC
 *   DWARF_KEPT                     { } of the others that a call keeps, as in stack_regs.kept
 *   DWARF_FRESH_CFA                CFA minus stack pointer at a function's first instruction */
#pragma once
#include "arch/machine.h"
#include MACHINE_HEADER(dwarf.h)
