/* SPDX-License-Identifier: MIT */
/* A signal frame as the kernel would have pushed it, from which rt_sigreturn restores a thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define SIGFRAME_CONTEXT 320 /* bytes of the context, rounded up to a multiple of 64 */
#define SIGFRAME_XSTATE_MAX 16384
#define SIGFRAME_MAX (SIGFRAME_CONTEXT + SIGFRAME_XSTATE_MAX + 4)
#define SIGFRAME_LINK 8      /* offset of uc_link, which the kernel does not look at */

/* Fills `to`, which will stand at address `at` (a multiple of 64) of the process; the stack pointer
 * has to be `at` at the system call. `xstate`: n bytes of PTRACE_GETREGSET REGS_VECTORS (regs.h).
 * Returns the frame's bytes. */
size_t sigframe_build(uint8_t to[SIGFRAME_MAX], uint64_t at, const struct user_regs_struct *regs,
		      uint64_t mask, const uint8_t *xstate, size_t n);

/* True for a word that, in a frame of the kernel's, stands SIGFRAME_MARK_AFTER words after the
 * address at which the interrupted code goes on. Other words may look the same. */
#define SIGFRAME_MARK_AFTER 2
bool sigframe_is_mark(uint64_t word);
