/* SPDX-License-Identifier: MIT */
/* Events that a process records of its own threads: at the system calls that start, name or end one
 * (calls.h), where a new program begins, and where one waits for a lock (lock:contention_*). */
#pragma once
#include <stdint.h>

enum task_event {
	TASK_NEWTASK,
	TASK_RENAME,
	TASK_EXEC,
	TASK_EXIT,
	TASK_SCHED_EXEC,
	TASK_SCHED_EXIT,
	TASK_SCHED_FORK,
	TASK_CONTENTION_BEGIN,
	TASK_CONTENTION_END,
	TASK_SIGNAL,
	TASK_EVENTS
};

#define TASK_NO_EVENT 0xffffu

/* The armed ones of these events. Filters follow it. */
struct task_block {
	struct {
		uint16_t event;         /* its number in the session, or TASK_NO_EVENT */
		uint8_t stacked;        /* its records come with the stack */
		uint8_t scopes;         /* as in struct probe_site */
		uint32_t filter;        /* a filter_program, bytes from the block; 0 = all */
	} at[TASK_EVENTS];
};

/* The system calls that the agent makes for these events alone: rows X(name, arguments...), with P
 * for some pointer. A program's seccomp filter may forbid one, and the events come without what it
 * tells. */
#define TASK_CALLS(X, P)          \
	X(sched_getscheduler, 0)  \
	X(sched_getparam, 0, P)   \
	X(getpriority, 0, 0)      \
	X(getppid, 0)

/* Contents of a struct probe_site of kind PROBE_SIGNAL (probe.h), at the first instruction of a
 * signal's handler. */
struct signal_info {
	uint64_t handler;               /* its address */
	struct task_block tasks;        /* the filter counts from here */
};

/* Records of these events, from offset 8 on, as their formats say (event/tasks.c). */
#define TASK_COMM 16u
struct task_newtask {
	int32_t pid;
	char comm[TASK_COMM];
	uint32_t zero;
	uint64_t clone_flags;
	int16_t oom_score_adj, pad[3];
};
struct task_rename {
	int32_t pid;
	char oldcomm[TASK_COMM], newcomm[TASK_COMM];
	int16_t oom_score_adj, pad;
};
struct task_exit { char comm[TASK_COMM]; int32_t pid, prio; };
struct task_fork {
	char parent_comm[TASK_COMM];
	int32_t parent_pid;
	char child_comm[TASK_COMM];
	int32_t child_pid;
};
#define TASK_STATE_PREEMPTED 0x100 /* prev_state: it could have gone on (R+) */
struct task_switch {
	char prev_comm[TASK_COMM];
	int32_t prev_pid, prev_prio;
	int64_t prev_state;
	char next_comm[TASK_COMM];
	int32_t next_pid, next_prio;
};
/* The payload of sched:sched_waking and sched:sched_wakeup: who is woken. */
struct task_woken {
	char comm[TASK_COMM];
	int32_t pid, prio, target_cpu, pad;
};
struct task_signal { int32_t sig, errnum, code, pad; uint64_t handler, flags; };
/* A code that is not known: the handler has no SA_SIGINFO, so the kernel tells nobody in the
 * process. */
#define TASK_CODE_UNKNOWN INT32_MIN
/* The payload of exceptions:page_fault_user. */
struct task_fault { uint64_t address, ip, error_code; };
/* A wait for a word of the program's. flags: bits of the kernel's LCB_F_*. */
#define TASK_LOCK_RT (1u << 3)
#define TASK_LOCK_MUTEX (1u << 5)
struct task_contention { uint64_t lock; uint32_t flags, pad; };
struct task_contended { uint64_t lock; int32_t result, pad; };
struct task_exec { uint32_t filename; int32_t pid, old_pid; }; /* and the text */

/* In the session memory: a thread that is about to execute a program leaves its name here, for the
 * new program to tell. The place is chosen by the process's number; a process that finds it taken
 * takes it over. */
#define TASK_EXECS 64u
struct task_exec_note {
	uint32_t pid; /* written last (release, acquired by the new program); 0 = nobody */
	uint32_t tid;
	char comm[TASK_COMM];
};
