/* SPDX-License-Identifier: MIT */
/* arch/inside.h for x86-64: inline assembly, of general registers only. The contracts stand in
 * arch/inside.h. */
#pragma once
#include "arch/old_calls.h"
#include "arch/x86_64/tcb.h"

/* The kernel spoils rcx and r11. */
static inline long inside_syscall(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static inline long inside_stat(const char *path, void *to)
{
	return inside_syscall(OLD_CALL_STAT, OLD_CALL_STAT_ARGS((long)path, (long)to), 0, 0, 0, 0);
}

static inline long inside_readlink(const char *path, char *to, size_t n)
{
	return inside_syscall(OLD_CALL_READLINK,
			      OLD_CALL_READLINK_ARGS((long)path, (long)to, (long)n), 0, 0, 0);
}

static inline long inside_access(const char *path, int mode)
{
	return inside_syscall(OLD_CALL_ACCESS, OLD_CALL_ACCESS_ARGS((long)path, mode), 0, 0, 0, 0);
}

/* No lock prefix: no other thread writes to the word. */
static inline uint64_t inside_add(uint64_t *word, uint64_t by)
{
	__asm__ volatile("xadd %0, %1" : "+r"(by), "+m"(*word) : : "memory");
	return by;
}

/* No lock prefix, as above. */
static inline bool inside_exchange(uint64_t *word, uint64_t before, uint64_t next)
{
	bool done;

	__asm__ volatile("cmpxchg %3, %1"
			 : "=@ccz"(done), "+m"(*word), "+a"(before)
			 : "r"(next)
			 : "memory");
	return done;
}

/* volatile: the word may change whenever the thread is moved (rseq's cpu_id). */
static inline uint32_t inside_thread_word(int64_t offset)
{
	uint32_t word;

	__asm__ volatile("mov %%fs:(%1), %0" : "=r"(word) : "r"(offset));
	return word;
}

/* The number as text for the assembler, after macros in it were replaced. */
#define INSIDE_TEXT_OF(number) #number
#define INSIDE_TEXT(number) INSIDE_TEXT_OF(number)
static inline uint64_t inside_pointer_guard(void)
{
	uint64_t guard;

	__asm__("mov %%fs:" INSIDE_TEXT(TCB_GUARD) ", %0" : "=r"(guard));
	return guard;
}

/* The stack pointer is word 6 of a jmp_buf, in glibc and in musl. A mixed address hardly ever has
 * its upper 17 bits clear. */
static inline uint64_t inside_saved_sp(const uint64_t *jmp_buf, bool *mixed)
{
	*mixed = jmp_buf[6] >> 47;
	return jmp_buf[6];
}

/* glibc rotates, behind its xor. */
static inline uint64_t inside_unmix_sp(uint64_t sp, uint64_t guard)
{
	return (sp >> 17 | sp << 47) ^ guard;
}

/* rep stosb and rep movsb: a loop in C would become a call of memset() or memcpy(). */
static inline void inside_fill(void *to, int byte, size_t n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
}

static inline void inside_copy(void *to, const void *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

#define INSIDE_SPIN_FREE 1u /* glibc's pthread_spinlock_t counts down from it */

/* Where there is none, rdsspq is a nop and leaves 0. */
static inline bool inside_has_shadow_stack(void)
{
	uint64_t pointer = 0;

	__asm__ volatile("rdsspq %0" : "+r"(pointer));
	return pointer;
}
