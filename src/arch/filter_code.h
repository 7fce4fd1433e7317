/* SPDX-License-Identifier: MIT */
/* Machine code of a filter (shared/filter.h) that tests only numbers of the record: a load, a
 * comparison and a jump for each, where filter_run() takes an instruction apart. It stands behind
 * the program that it was made of, and gives the same answers. */
#pragma once
#include "arch/machine.h"
#include "shared/filter.h"

#define FILTER_CODE_INSNS 32u /* longer programs have none */
/* The machine's part has FILTER_CODE_MAX, an upper bound of filter_code_emit()'s bytes. */
#include MACHINE_HEADER(filter_code.h)

/* Writes `bool f(const void *record)`, which is position-independent and uses only registers that a
 * call need not keep. Returns its bytes; 0: the program has tests of other kinds, or is too long.
 * *needs: bytes that a record must have. `out` has FILTER_CODE_MAX bytes. The program must be one
 * that filter_verify() accepts. */
uint32_t filter_code_emit(const struct filter_program *p, uint8_t *out, uint16_t *needs);
