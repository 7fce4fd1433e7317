/* SPDX-License-Identifier: MIT */
/* From a function to its caller, by a file's call frame information (.eh_frame, which stripped
 * programs have, too): applies its rules to a thread's registers. DWARF 5, 6.4. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* DWARF's register numbers (System V ABI, x86-64, 3.6.2): those that a call keeps, the stack
 * pointer, and 16: the instruction pointer. */
enum {
	UNWIND_RBX = 3,
	UNWIND_RBP = 6,
	UNWIND_RSP = 7,
	UNWIND_R12 = 12,
	UNWIND_RIP = 16,
	UNWIND_REGS
};

struct unwind_regs { uint64_t at[UNWIND_REGS]; };

/* Reads a word of the thread's memory. False: it is not known. */
typedef bool unwind_read(void *context, uint64_t address, uint64_t *word);

struct unwind_file;

/* Opens the tables of an open file; path is for sentences. Returns 0; or -errno and *err.
 * unwind_close() frees it. */
int unwind_open_fd(int fd, const char *path, struct unwind_file **out, struct err *err);
/* unwind_open_fd() of bytes, which must stay. */
int unwind_open_bytes(const uint8_t *bytes, size_t n, struct unwind_file **out, struct err *err);
void unwind_close(struct unwind_file *f); /* NULL is fine */

/* Turns the registers into the caller's. vaddr: the thread's place in the file; for a return
 * address one byte less, because the call may be its function's last instruction. *interrupted: a
 * signal interrupted the caller, which continues at its place. False: the file does not say, memory
 * is not known, or there is no caller; then nothing has changed. */
bool unwind_step(struct unwind_file *f, uint64_t vaddr, struct unwind_regs *regs, bool *interrupted,
		 unwind_read *read, void *context);
