/* SPDX-License-Identifier: MIT */
/* The system calls of libc's that lead through us: what a process does that its agent must know of
 * before it happens. */
#pragma once
#include <stdint.h>

/* As libc_calls.S pushes them. */
struct call_registers { uint64_t r9, r8, r10, rdx, rsi, rdi, rax; };

/* As the kernel has it. */
struct call_limit { uint64_t now, max; };

/* What is decided before the call and needed after it. */
struct call_plan {
	uint64_t r10, rdx, rsi, rdi, rax; /* as the kernel shall see them */
	uint32_t note;         /* to withdraw if it fails, see note_write; 0 = none */
	uint32_t environment;  /* exec: 1 = ours is to be made */
	uint32_t forbidden;    /* filter: agent.forbidden as it was; UINT32_MAX = nothing to put back */
	uint32_t limit_set;    /* limits: 1 = `limit` is set instead of the program's */
	uint32_t lock;         /* locks: the flags that were asked for; 0 = nothing to do */
	uint32_t user;         /* 1: the process may be another user's then */
	uint64_t limit_told;   /* limits: where the kernel writes one that has to be corrected; 0 = nowhere */
	struct call_limit limit;
};
static inline struct call_plan call_as_it_is(const struct call_registers *r)
{
	return (struct call_plan){
		.r10 = r->r10, .rdx = r->rdx, .rsi = r->rsi, .rdi = r->rdi, .rax = r->rax, .forbidden = UINT32_MAX,
	};
}

_Static_assert(sizeof(struct call_plan) <= 128, "libc_calls.S makes room for it");

/* Leads execve, execveat, fexecve, prctl, syscall and what is about limits and users of the process's libc here. False if execve
 * is not as expected: then what is executed goes on without us. */
_Bool libc_calls_lead(char **envp);

/* exec.c, filter.c: bytes of stack wanted, a multiple of 16. May run in a vfork's child. */
uint64_t agent_exec_coming(const struct call_registers *r, struct call_plan *p);
uint64_t agent_filter_coming(const struct call_registers *r, struct call_plan *p);
uint64_t agent_limit_coming(const struct call_registers *r, struct call_plan *p);
void limits_done(const struct call_plan *p); /* the call succeeded */
uint64_t agent_lock_coming(const struct call_registers *r, struct call_plan *p);
void locks_done(const struct call_plan *p);
uint64_t agent_user_coming(const struct call_registers *r, struct call_plan *p);
void agent_call_ready(const struct call_registers *r, struct call_plan *p, char *area);
void agent_call_done(int64_t result, const struct call_plan *p);
