/* SPDX-License-Identifier: MIT */
/* The instructions of a borrowed thread (tracee/borrow.h): a system call, and the way back to the
 * thread's own state by rt_sigreturn. A function that was called returns to BORROWED_CODE_RESULT.
 * No state; any thread.
 *
 *   0: system call    RESULT: keep the result    BACK: sp = frame; frame's link = 0;
 *                     rt_sigreturn */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "arch/machine.h"

/* BORROWED_CODE_BYTES, and the offsets BORROWED_CODE_RESULT, _BACK and _END (after the last
 * instruction). */
#include MACHINE_HEADER(borrowed_code.h)

/* Writes them, for a frame (arch/sigframe.h) at this address. */
void borrowed_code_emit(uint8_t out[BORROWED_CODE_BYTES], uint64_t frame);
/* True for such code with any frame; *frame is its address. */
bool borrowed_code_read(const uint8_t bytes[BORROWED_CODE_BYTES], uint64_t *frame);
/* The value that a function returned, of a thread that has come to the system call of BACK. */
uint64_t borrowed_code_result(const struct user_regs_struct *r);
