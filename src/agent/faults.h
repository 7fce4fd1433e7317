/* SPDX-License-Identifier: MIT */
/* Faults of the program's own instructions that happen where brace has moved them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* True if the kernel's frame of a signal is at sp, the address of an entered function's return
 * address. Below it lie the registers that CALL_C keeps. */
bool faults_is_frame(uint64_t sp);
/* Corrects what the handler of such a frame will see of a fault. Returns the address that it
 * returns to: `ret`, or our own code. Does not return where only the agent's C found no stack: the
 * interrupted function runs. No signals may be blocked by us, nor anything be half done. */
uint64_t faults_enter(uint64_t sp, uint64_t ret);
extern const uint8_t agent_fault_landing[];
/* Leaves a handler, wherever it is, for what its context says. */
void faults_leave(uint64_t *context) __attribute__((noreturn));
