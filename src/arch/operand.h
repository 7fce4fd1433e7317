/* SPDX-License-Identifier: MIT */
/* Operands in the words of the machine's assembler, as compilers write them into the notes of USDT
 * markers. No state; any thread. The text is a file's: any bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/fetch.h"

/* Looks up addresses of the module's objects, which operands may name. */
struct operand_names {
	bool (*find)(void *module, const char *name, size_t n, uint64_t *vaddr);
	void *module;
};

/* Instructions of a fetch program (shared/fetch.h) that make the operand's value its number. */
#define OPERAND_INSNS 4
struct operand_code {
	struct fetch_insn at[OPERAND_INSNS];
	unsigned n;
};

/* Reads the operand, n characters, whose value has so many bytes: 1, 2, 4 or 8. names may be NULL.
 * False: it is none, or one that cannot be fetched there. */
bool operand_read(const char *text, size_t n, uint8_t size, bool is_signed,
		  const struct operand_names *names, struct operand_code *out);
