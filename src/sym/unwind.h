/* SPDX-License-Identifier: MIT */
/* From a function to its caller, by a file's call frame information (.eh_frame, which stripped
 * programs have, too): applies its rules to a thread's registers. DWARF 5, 6.4. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arch/dwarf.h"
#include "base/err.h"

/* Registers by DWARF's numbers (arch/dwarf.h); that of the pc is the last one. */
enum { UNWIND_SP = DWARF_SP, UNWIND_FP = DWARF_FP, UNWIND_PC = DWARF_PC, UNWIND_REGS = DWARF_REGS };

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

/* Turns an offset of code in the file into its vaddr. False: there is no code. */
bool unwind_vaddr(const struct unwind_file *f, uint64_t offset, uint64_t *vaddr);
/* Whether the file's code lies at a vaddr, memory that the file does not fill included. */
bool unwind_has_code(const struct unwind_file *f, uint64_t vaddr);
/* Whether the tables have a rule at a vaddr. */
bool unwind_knows(struct unwind_file *f, uint64_t vaddr);
/* Whether the tables say that the code at a vaddr has no caller: it is a thread's first. */
bool unwind_is_first(struct unwind_file *f, uint64_t vaddr);
