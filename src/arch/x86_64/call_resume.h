/* SPDX-License-Identifier: MIT */
/* Places in the function tracer's trampoline (arch/x86_64/trampoline.S), from where it goes on
 * with a stub: entry.S reads them there when it writes the record itself. The first two are the
 * ends of 4-byte fields. */
#pragma once

#define CALL_FUNCTION 18 /* the function's id */
#define CALL_WORD 44     /* the low bits of the record */
#define CALL_RESUME 100  /* where it goes on when the record is written */
