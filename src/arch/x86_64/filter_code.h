/* SPDX-License-Identifier: MIT */
/* Machine code of a filter (shared/filter.h) that looks at nothing but numbers of the record: a load, a comparison and a jump for
 * each, where filter_run takes an instruction apart. It stands behind the program it was made of, which says the same. */
#pragma once
#include "shared/filter.h"

#define FILTER_CODE_INSNS 32u /* longer programs have none */
#define FILTER_CODE_MAX (FILTER_CODE_INSNS * 28u + 16u)

/* Writes `bool f(const void *record)`, which stands anywhere and uses %rax and %rcx only. Its bytes; 0: the program has tests of other kinds, or is
 * too long. *needs: bytes that the record must have. `out` has FILTER_CODE_MAX. The program is one that filter_verify takes. */
uint32_t filter_code_emit(const struct filter_program *p, uint8_t *out, uint16_t *needs);
