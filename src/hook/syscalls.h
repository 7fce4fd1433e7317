/* SPDX-License-Identifier: MIT */
/* The system calls that a module makes itself, and how each is intercepted: by a probe
 * directly before the `syscall` instruction and one directly after it. The instruction itself stays
 * where it is, so the kernel, its seccomp filters, a signal that restarts the call and a thread
 * that is cancelled in it find what they would find without us.
 *
 *   [before: mov $1, %eax]  syscall  [behind: cmp $-4096, %rax] */
#pragma once
#include "hook/probe.h"

#define SYSCALL_UNKNOWN UINT32_MAX

/* Reasons why a call is not intercepted, or only one side of it. */
#define SYSCALL_BARS(X)                                                                            \
	X(NONE, "", "")                                                                            \
	X(ENTER, "enter", "no room for a jump between what may jump here and the system call")     \
	X(LEAVE, "leave", "no room for a jump behind the system call")                             \
	X(BOTH, "both", "no room for a jump on either side")                                       \
	X(SIGNAL_RETURN, "signal-return", "the end of a signal handler, which unwinders know by its bytes") \
	X(STACK_GONE, "stack-gone", "the thread gives its own stack back before it ends")          \
	X(CODE, "code", "not proven to be an instruction of a function that may be changed")

enum syscall_bar {
#define X(id, word, text) SYSCALL_BAR_##id,
	SYSCALL_BARS(X)
#undef X
	SYSCALL_BARS_N
};
extern const char *const syscall_bar_words[SYSCALL_BARS_N],
	*const syscall_bar_texts[SYSCALL_BARS_N];

struct hook_syscall {
	uint64_t vaddr;           /* address of the instruction */
	uint32_t function;        /* index, or PROBE_ALONE */
	uint32_t number;          /* SYSCALL_UNKNOWN: %rax has it at run time */
	bool returns;             /* false: exit, exit_group */
	/* The program reaches the address after it in other ways, too: it returned only if it had
	 * begun. */
	bool joined;
	/* A thread's end: `before` is at the load of its number, before the loop that makes the
	 * call. */
	bool ahead;
	bool twice;               /* fork, vfork, clone, clone3: a child returns, too, with 0 */
	uint8_t bar;              /* enum syscall_bar */
	/* The prober's answers. HOOK_NONE in `before`: the call is not intercepted at all; in
	 * `behind`: its return is not seen. */
	const struct hook_probe *before, *behind;
};

typedef VEC(struct hook_syscall) hook_syscall_list;

/* Finds all of them, by vaddr. The probes live as long as the prober. */
void hook_syscalls_find(struct hook_prober *p, hook_syscall_list *out);
