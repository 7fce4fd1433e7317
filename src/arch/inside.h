/* SPDX-License-Identifier: MIT */
/* Instructions of the agent's C code, inside of the traced process: system calls, the thread
 * pointer's words, and changes that a signal handler on the same thread sees whole. No vector
 * register, no libc. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/machine.h"

/* One system call with six arguments; those that a call does not take are not looked at by the
 * kernel. Returns its result, -errno on failure. */
static inline long inside_syscall(long n, long a, long b, long c, long d, long e, long f);

/* Calls of the kernel by a path; results as above. to: the kernel's struct stat, or n bytes; mode:
 * R_OK and its like. */
static inline long inside_stat(const char *path, void *to);
static inline long inside_readlink(const char *path, char *to, size_t n);
static inline long inside_access(const char *path, int mode);

/* Adds to a word that other threads do not use, in one instruction: a handler on this thread comes
 * before or after it. Returns what the word was. */
static inline uint64_t inside_add(uint64_t *word, uint64_t by);
/* Replaces such a word by `next` if it is still `before`. Returns whether it was. */
static inline bool inside_exchange(uint64_t *word, uint64_t before, uint64_t next);

/* Loads the 4 bytes at an offset, in bytes, from the thread pointer, which the thread must have. */
static inline uint32_t inside_thread_word(int64_t offset);
/* Returns glibc's number that addresses in a jmp_buf are mixed with; any number in a thread of
 * another C library. */
static inline uint64_t inside_pointer_guard(void);

/* Returns the stack pointer that setjmp() left in a jmp_buf. *mixed: glibc has mixed it with the
 * guard, which inside_unmix_sp() takes out; musl does not. */
static inline uint64_t inside_saved_sp(const uint64_t *jmp_buf, bool *mixed);
static inline uint64_t inside_unmix_sp(uint64_t sp, uint64_t guard);

/* Byte loops that the compiler does not turn into calls. Copies go upwards; n may be 0. */
static inline void inside_fill(void *to, int byte, size_t n);
static inline void inside_copy(void *to, const void *from, size_t n);

/* True if the processor compares return addresses with a shadow stack, on which a replaced one is
 * not. */
static inline bool inside_has_shadow_stack(void);

#include MACHINE_HEADER(inside.h)
