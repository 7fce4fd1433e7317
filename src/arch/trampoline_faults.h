/* SPDX-License-Identifier: MIT */
/* A trampoline that faults because the stack ends: where it keeps the registers that it uses, and
 * the kernel's ucontext that they go back to. Inside of the traced process, in a signal's handler.
 * The machine's part has:
 *   UCONTEXT_PC, UCONTEXT_SP   places in the ucontext, in words
 *   UCONTEXT_GOES_ON           the place of the address at which a record's slow path goes on
 *   UCONTEXT_SLOT              the place of the slot that was reserved for a record of one word
 *   FAULTS_AT_BODY, FAULTS_AT_FOUND, FAULTS_AT_SLOT
 *                              words below a return address: the trampoline's body, the way on, the
 *                              slot for a record of two words */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arch/machine.h"

/* Puts the registers of the context back to what they were when the trampoline was entered. first:
 * the pc is its first instruction that touches the stack, and none has changed. */
static inline void trampoline_faults_restore(uint64_t *context, bool first);

#include MACHINE_HEADER(trampoline_faults.h)
