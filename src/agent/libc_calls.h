/* SPDX-License-Identifier: MIT */
/* The system calls of libc that lead through the agent, because it has to act before them:
 * executions, filters, limits, locks, users. */
#pragma once
#include <stdint.h>

#include "arch/libc_calls.h"

/* A call as the program makes it, from the registers that libc_calls.S pushes. */
struct call_registers { CALL_REGISTERS; };

/* The kernel's struct rlimit64. */
struct call_limit { uint64_t now, max; };

/* Decisions made before the call and needed after it. */
struct call_plan {
	CALL_PLAN_REGISTERS; /* the call that is made */
	/* Handle of a message to withdraw if the call fails, see message_write(); 0 = none. */
	uint32_t note;
	uint32_t environment;  /* exec: 1 = the environment is to be built */
	uint32_t forbidden;    /* filter: agent.forbidden before; UINT32_MAX = nothing to restore */
	uint32_t limit_set;    /* limits: 1 = `limit` is set instead of the program's */
	uint32_t lock;         /* locks: the flags that were asked for; 0 = nothing to do */
	uint32_t user;         /* 1: the process may be another user's after the call */
	uint32_t name;         /* 1: the thread has another name after the call */
	uint32_t dispatch;     /* 1: agent_dispatches was set for it */
	uint64_t limit_told;   /* limits: address of a result that has to be corrected; 0 = none */
	struct call_limit limit;
	uint32_t forbids;      /* filter: the bits that were set besides `forbidden` */
};
/* Returns the plan that changes nothing. */
static inline struct call_plan libc_call_as_it_is(const struct call_registers *r)
{
	return (struct call_plan){
		.arg3 = r->arg3, .arg2 = r->arg2, .arg1 = r->arg1, .arg0 = r->arg0,
		.number = r->number,
		.forbidden = UINT32_MAX,
	};
}

_Static_assert(sizeof(struct call_plan) <= 128, "libc_calls.S makes room for it");

/* Leads execve, execveat, fexecve, prctl, syscall and the calls about limits, locks and users in
 * the process's libc to the agent. False if execve is not as expected. */
_Bool libc_calls_lead(char **envp);
/* A probe may stand after the call in libc's syscall(): it tells of the children that are made
 * there, and libc_calls.S does not. Written at the program's start. */
extern _Bool libc_calls_clones_seen;

/* Before a call: fill in *p and return the bytes of stack wanted, a multiple of 16. May run in a
 * vfork's child. exec.c, filter.c, limits.c, locks.c. */
uint64_t agent_exec_coming(const struct call_registers *r, struct call_plan *p);
uint64_t agent_filter_coming(const struct call_registers *r, struct call_plan *p);
uint64_t agent_limit_coming(const struct call_registers *r, struct call_plan *p);
void limits_done(const struct call_plan *p); /* after a call that succeeded */
uint64_t agent_lock_coming(const struct call_registers *r, struct call_plan *p);
void locks_done(const struct call_plan *p);
uint64_t agent_name_coming(const struct call_registers *r, struct call_plan *p); /* rename.c */
/* dispatch.c: whether the call switches the dispatch of system calls on, and what is decided then,
 * into a plan that changes nothing yet. */
_Bool dispatch_is_coming(const struct call_registers *r);
void dispatch_coming(struct call_plan *p);
/* 1: some thread of the process may have its system calls dispatched. */
extern uint8_t agent_dispatches;
uint64_t agent_user_coming(const struct call_registers *r, struct call_plan *p);
/* exec.c: with the wanted stack at `area`, right before the call; and right after it, with its
 * result. */
void agent_call_ready(const struct call_registers *r, struct call_plan *p, char *area);
void agent_call_done(int64_t result, const struct call_plan *p);
