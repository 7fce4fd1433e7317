/* SPDX-License-Identifier: MIT */
/* Records of threads and processes that begin, are named and end: docs/events.md. */
#pragma once
#include "shared/probe.h"
#include "shared/tasks.h"

/* What is armed, and where the thread is; regs NULL: nowhere yet. */
struct task_at { const struct task_block *block; const struct probe_regs *regs; uint64_t ip; };

/* Before a system call, and behind it. */
void task_before(const struct task_at *t, uint32_t number);
void task_behind(const struct task_at *t, uint32_t number);
/* A record of n words, the first for its header, if the event is armed and its filter lets it pass. */
void task_write(const struct task_at *t, enum task_event kind, void *record, unsigned n);
/* Behind a clone that libc's syscall() made, from libc_calls.S. */
void task_cloned(uint64_t number, uint64_t rdi, int64_t child);
/* Blocks may be gone, or others: no thread is in here. */
void task_forget(void);
/* A program begins: what it is, and what its process was until now. */
void task_begun(const struct task_block *b);
