/* SPDX-License-Identifier: MIT */
/* The registers of a stopped thread, as ptrace has them: what a tracer reads there and changes. A
 * machine's folder has the definitions. Unless a thread's id is asked for, a function works on the
 * caller's copy. Any thread, except for those that take an id: ptrace wants the tracer's. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

#include "arch/machine.h"

/* Transfer all registers of a thread that stands. Return 0, or -1 and errno. */
static inline long regs_get(pid_t tid, struct user_regs_struct *r);
static inline long regs_put(pid_t tid, const struct user_regs_struct *r);
/* Sets one register of a thread that stands, at once. Returns 0, or -1 and errno. */
static inline long regs_put_pc(pid_t tid, uint64_t pc);
static inline long regs_put_result(pid_t tid, int64_t result);

/* Read and change *r, which regs_put() gives to the thread. */
static inline uint64_t regs_pc(const struct user_regs_struct *r);
static inline uint64_t regs_sp(const struct user_regs_struct *r);
static inline uint64_t regs_thread_pointer(const struct user_regs_struct *r);
static inline void regs_set_pc(struct user_regs_struct *r, uint64_t pc);
static inline void regs_set_sp(struct user_regs_struct *r, uint64_t sp);
/* Sets flags as a function expects them. */
static inline void regs_set_flags(struct user_regs_struct *r);

/* Fills out with REGS_POINTERS registers in which compilers keep an object's address. Not all: a
 * register that no call sees is left out. */
static inline void regs_pointers(const struct user_regs_struct *r, uint64_t *out);

/* Fills out by DWARF's numbers (arch/dwarf.h), DWARF_REGS of them, the pc last. */
static inline void regs_to_dwarf(const struct user_regs_struct *r, uint64_t *out);

/* Number of the system call that the thread is in; negative: none. */
static inline int64_t regs_call(const struct user_regs_struct *r);
static inline uint64_t regs_call_arg(const struct user_regs_struct *r, unsigned i);
/* Its result, negative as the kernel gives it; ERESTART* while it is interrupted. */
static inline int64_t regs_result(const struct user_regs_struct *r);
static inline void regs_set_result(struct user_regs_struct *r, int64_t result);
/* At the entry of a system call: makes the kernel do another one. After it, or where it was
 * interrupted: REGS_NO_CALL keeps the kernel from restarting it. */
#define REGS_NO_CALL (-1)
static inline void regs_replace_call(struct user_regs_struct *r, int64_t number);
/* Back to before the system call's instruction, with its number: it is made anew. */
static inline void regs_repeat_call(struct user_regs_struct *r);
/* To a system call's instruction at `at`, with number and arguments. */
static inline void regs_begin_call(struct user_regs_struct *r, uint64_t at, long number,
				   const uint64_t args[6]);
/* To the entry of function(args[0..3]), as if it had been called on the stack that ends at `stack`
 * by the instruction before `back`. Returns the address at which the caller has to store `back`; 0:
 * a register has it. */
static inline uint64_t regs_begin_function(struct user_regs_struct *r, uint64_t function,
					   const uint64_t args[4], uint64_t stack, uint64_t back);

/* True at the entry of a system call by which a C library's start sets the thread pointer; *to is
 * what it is set to. */
static inline bool regs_sets_thread_pointer(const struct user_regs_struct *r, uint64_t *to);

/* The machine's part has, besides:
 *   REGS_POINTERS          number of registers that regs_pointers() gives
 *   REGS_CALL_BYTES        length of a system call's instruction
 *   REGS_RED_ZONE          bytes below a stack pointer that a leaf function uses
 *   REGS_VECTORS           the set of PTRACE_GETREGSET that has the vector registers
 *   REGS_START_MARK        bytes { ... } that code which sets the thread pointer has in it */
#include MACHINE_HEADER(regs.h)
