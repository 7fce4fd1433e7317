/* Records of threads and processes that begin, are named and end: docs/events.md. */
#pragma once
#include "shared/tasks.h"

/* Before a system call, and behind it. regs: of struct probe_regs. */
void task_before(const uint64_t *regs, uint32_t number, const struct task_block *b);
void task_behind(const uint64_t *regs, uint32_t number, const struct task_block *b);
/* A record of n words, the first for its header, if the event is armed and its filter lets it pass. */
void task_write(const struct task_block *b, enum task_event kind, void *record, unsigned n);
/* Behind a clone that libc's syscall() made, from libc_calls.S. */
void task_cloned(uint64_t number, uint64_t rdi, int64_t child);
/* Blocks may be gone, or others: no thread is in here. */
void task_forget(void);
/* A program begins: what it is, and what its process was until now. */
void task_begun(const struct task_block *b);
