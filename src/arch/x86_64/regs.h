/* SPDX-License-Identifier: MIT */
/* arch/regs.h for x86-64. The kernel keeps a system call's number in orig_rax while the thread is
 * in it, and decides by rax whether an interrupted one begins again. */
#pragma once
#include <asm/prctl.h>
#include <elf.h>
#include <string.h>
#include <sys/syscall.h>

#define REGS_POINTERS 8u
#define REGS_CALL_BYTES 2u
#define REGS_RED_ZONE 128
#define REGS_VECTORS NT_X86_XSTATE
#define REGS_START_MARK { ARCH_SET_FS & 0xff, ARCH_SET_FS >> 8, 0, 0 }
#define REGS_PLAIN_FLAGS 0x202 /* interrupts on, direction forward */

static inline long regs_get(pid_t tid, struct user_regs_struct *r)
{
	return ptrace(PTRACE_GETREGS, tid, NULL, r);
}

static inline long regs_put(pid_t tid, const struct user_regs_struct *r)
{
	return ptrace(PTRACE_SETREGS, tid, NULL, r);
}

static inline long regs_put_pc(pid_t tid, uint64_t pc)
{
	return ptrace(PTRACE_POKEUSER, tid, (void *)offsetof(struct user_regs_struct, rip),
		      (void *)pc);
}

static inline long regs_put_result(pid_t tid, int64_t result)
{
	return ptrace(PTRACE_POKEUSER, tid, (void *)offsetof(struct user_regs_struct, rax),
		      (void *)result);
}

static inline uint64_t regs_pc(const struct user_regs_struct *r)
{
	return r->rip;
}

static inline uint64_t regs_sp(const struct user_regs_struct *r)
{
	return r->rsp;
}

static inline uint64_t regs_thread_pointer(const struct user_regs_struct *r)
{
	return r->fs_base;
}

static inline void regs_set_pc(struct user_regs_struct *r, uint64_t pc)
{
	r->rip = pc;
}

static inline void regs_set_sp(struct user_regs_struct *r, uint64_t sp)
{
	r->rsp = sp;
}

static inline void regs_set_flags(struct user_regs_struct *r)
{
	r->eflags = REGS_PLAIN_FLAGS;
}

static inline void regs_to_dwarf(const struct user_regs_struct *r, uint64_t *out)
{
	const uint64_t all[] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
				 r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
				 r->r12, r->r13, r->r14, r->r15, r->rip };

	memcpy(out, all, sizeof(all));
}

static inline void regs_pointers(const struct user_regs_struct *r, uint64_t *out)
{
	const uint64_t all[REGS_POINTERS] = { r->rax, r->rbx, r->rdi, r->rbp,
					      r->r12, r->r13, r->r14, r->r15 };

	for (unsigned i = 0; i < REGS_POINTERS; i++)
		out[i] = all[i];
}

static inline int64_t regs_call(const struct user_regs_struct *r)
{
	return (int64_t)r->orig_rax;
}

static inline uint64_t regs_call_arg(const struct user_regs_struct *r, unsigned i)
{
	const uint64_t args[6] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };

	return args[i];
}

static inline int64_t regs_result(const struct user_regs_struct *r)
{
	return (int64_t)r->rax;
}

static inline void regs_set_result(struct user_regs_struct *r, int64_t result)
{
	r->rax = (uint64_t)result;
}

static inline void regs_replace_call(struct user_regs_struct *r, int64_t number)
{
	r->orig_rax = (uint64_t)number;
}

static inline void regs_repeat_call(struct user_regs_struct *r)
{
	r->rax = r->orig_rax;
	r->rip -= REGS_CALL_BYTES;
}

static inline void regs_begin_call(struct user_regs_struct *r, uint64_t at, long number,
				   const uint64_t args[6])
{
	r->rip = at;
	r->rax = (uint64_t)number;
	r->rdi = args[0];
	r->rsi = args[1];
	r->rdx = args[2];
	r->r10 = args[3];
	r->r8 = args[4];
	r->r9 = args[5];
}

static inline uint64_t regs_begin_function(struct user_regs_struct *r, uint64_t function,
					   const uint64_t args[4], uint64_t stack, uint64_t back)
{
	(void)back;
	r->rip = function;
	r->rdi = args[0];
	r->rsi = args[1];
	r->rdx = args[2];
	r->rcx = args[3];
	r->rax = r->rbp = 0;
	/* The alignment that a function finds after the call that pushed its return address. */
	r->rsp = (stack & ~UINT64_C(15)) - 8;
	return r->rsp;
}

static inline bool regs_sets_thread_pointer(const struct user_regs_struct *r, uint64_t *to)
{
	*to = r->rsi;
	return r->orig_rax == SYS_arch_prctl && r->rdi == ARCH_SET_FS;
}
