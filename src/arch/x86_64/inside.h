/* SPDX-License-Identifier: MIT */
/* arch/inside.h for x86-64: inline assembly, of general registers only. The contracts stand in
 * arch/inside.h. */
#pragma once
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
