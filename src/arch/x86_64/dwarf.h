/* SPDX-License-Identifier: MIT */
/* arch/dwarf.h for x86-64: System V ABI, 3.6.2. */
#pragma once

enum { DWARF_RBX = 3, DWARF_FP = 6, DWARF_SP = 7, DWARF_R12 = 12, DWARF_PC = 16, DWARF_REGS };
#define DWARF_KEPT { DWARF_RBX, DWARF_R12, DWARF_R12 + 1, DWARF_R12 + 2, DWARF_R12 + 3 }
#define DWARF_FRESH_CFA 8 /* the return address */
