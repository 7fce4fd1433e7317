/* Call frame instructions, run just far enough to know what a frame looks like at one
 * instruction. Private to src/sym. */
#pragma once
#include "base/cursor.h"

struct cfi_state {
	uint64_t cfa_register;
	int64_t cfa_offset;
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
};

/* Runs the program; false when it holds an instruction that is not known, or ends early. */
bool cfi_run(struct cfi_machine *m, struct cursor program);
