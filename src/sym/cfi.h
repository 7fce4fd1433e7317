/* SPDX-License-Identifier: MIT */
/* Runs call frame instructions to find out what a frame looks like at one instruction. Private to
 * src/sym. */
#pragma once
#include "arch/dwarf.h"
#include "base/cursor.h"

/* Rules of a caller's register (DWARF 5, 6.4.1). The two expressions give its address, or its
 * value; the CFA is on their stack. */
enum cfi_rule_kind {
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_AT_CFA,
	CFI_IS_CFA,
	CFI_REGISTER,
	CFI_EXPRESSION,
	CFI_IS_EXPRESSION
};

struct cfi_rule {
	uint8_t kind;
	uint32_t bytes;        /* length of an expression */
	union {
		int64_t offset;         /* from the CFA */
		uint64_t register_number;
		const uint8_t *expression;
	};
};

#define CFI_RULES (unsigned)DWARF_REGS /* columns that calls keep, and the return address */

struct cfi_state {
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct cfi_rule cfa;   /* its expression, if it has one */
	struct cfi_rule rules[CFI_RULES];
	bool cfa_expression;
	bool ra_undefined;
	bool saved;            /* a register other than the return address is on the stack */
};

struct cfi_machine {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;           /* DWARF column of the return address */
	uint64_t address;      /* address that the instructions so far have led to */
	uint64_t until;        /* stop before passing this address */
	struct cfi_state state;
	/* The state after the CIE, for "restore"; NULL: nobody looks at rules. */
	const struct cfi_state *initial;
};

/* Runs the program; false when it has an unknown instruction, or ends early. */
bool cfi_run(struct cfi_machine *m, struct cursor program);
