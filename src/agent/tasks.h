/* SPDX-License-Identifier: MIT */
/* Records of threads and processes that begin, are named and end, and of locks that are waited for:
 * docs/events.md. On the thread that makes the call. */
#pragma once
#include "shared/probe.h"
#include "shared/tasks.h"

/* The armed events, and where the thread stands; regs NULL: at no instruction of the program. */
struct task_at { const struct task_block *block; const struct probe_regs *regs; uint64_t ip; };

/* Call before and after a system call that has such events. */
void task_before(const struct task_at *t, uint32_t number);
void task_behind(const struct task_at *t, uint32_t number);
/* Writes a record of n words, the first for its header, if the event is armed and its filter lets
 * it pass. */
void task_write(const struct task_at *t, enum task_event kind, void *record, unsigned n);
/* Call after a clone that libc's syscall() made: libc_calls.S. */
void task_cloned(uint64_t number, uint64_t arg0, int64_t child);
/* Forgets the last block, which may be gone or replaced. Call while no thread is in here. */
void task_forget(void);
/* A program begins: tells of the execution and of the name that the process had. */
void task_begun(const struct task_block *b);
