/* SPDX-License-Identifier: MIT */
/* A signal frame as the kernel would have pushed it, from which rt_sigreturn restores a thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "arch/machine.h"

/* In bytes, and the machine's part has them:
 *   SIGFRAME_CONTEXT      the context, rounded up to a multiple of 64
 *   SIGFRAME_VECTORS_MAX  PTRACE_GETREGSET REGS_VECTORS (regs.h), at most
 *   SIGFRAME_END          behind them
 *   SIGFRAME_LINK         offset of uc_link, which the kernel does not look at
 * and SIGFRAME_MARK_AFTER, words: sigframe_is_mark(). */
#include MACHINE_HEADER(sigframe.h)
#define SIGFRAME_MAX (SIGFRAME_CONTEXT + SIGFRAME_VECTORS_MAX + SIGFRAME_END)

/* Fills `to`, which will stand at address `at` (a multiple of 64) of the process; the stack pointer
 * has to be `at` at the system call. `vectors`: n bytes of PTRACE_GETREGSET REGS_VECTORS. Returns
 * the frame's bytes. */
size_t sigframe_build(uint8_t to[SIGFRAME_MAX], uint64_t at, const struct user_regs_struct *regs,
		      uint64_t mask, const uint8_t *vectors, size_t n);

/* True for a word that, in a frame of the kernel's, stands SIGFRAME_MARK_AFTER words after the
 * address at which the interrupted code goes on. Other words may look the same. */
bool sigframe_is_mark(uint64_t word);
