/* SPDX-License-Identifier: MIT */
/* Call frame instructions, run just far enough to know what a frame looks like at one
 * instruction. Private to src/sym. */
#pragma once
#include "base/cursor.h"

/* Of a caller's register (DWARF 5, 6.4.1). The two expressions: its address, its value; from the CFA on the stack. */
enum cfi_rule_kind { CFI_SAME, CFI_UNDEFINED, CFI_AT_CFA, CFI_IS_CFA, CFI_REGISTER, CFI_EXPRESSION, CFI_IS_EXPRESSION };

struct cfi_rule {
	uint8_t kind;
	uint32_t bytes;        /* of an expression */
	union {
		int64_t offset;         /* from the CFA */
		uint64_t register_number;
		const uint8_t *expression;
	};
};

#define CFI_RULES 17u          /* those of x86-64's registers that calls keep, and of the return address */

struct cfi_state {
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct cfi_rule cfa;   /* its expression, if it is one */
	struct cfi_rule rules[CFI_RULES];
	bool cfa_expression;
	bool ra_undefined;
	bool saved;            /* some register but the return address is on the stack */
};

struct cfi_machine {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;           /* DWARF column of the return address */
	uint64_t address;      /* where the instructions so far have led */
	uint64_t until;        /* stop before passing this address */
	struct cfi_state state;
	const struct cfi_state *initial; /* what "restore" means: as the CIE leaves it. NULL: nobody looks at rules */
};

/* Runs the program; false when it holds an instruction that is not known, or ends early. */
bool cfi_run(struct cfi_machine *m, struct cursor program);
