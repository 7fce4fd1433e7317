/* SPDX-License-Identifier: MIT */
/* The system calls a module makes itself, and how each is led past the agent: by a probe right before the `syscall`
 * instruction and one right behind it. The instruction itself stays where it is, so the kernel, its seccomp filters, a
 * signal that restarts the call and a thread that is cancelled in it find what they would find without us.
 *
 *     [before: mov $1, %eax]  syscall  [behind: cmp $-4096, %rax] */
#pragma once
#include "hook/probe.h"

#define SYSCALL_UNKNOWN UINT32_MAX

/* Why a call is not led, or only one half of it. */
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
extern const char *const syscall_bar_words[SYSCALL_BARS_N], *const syscall_bar_texts[SYSCALL_BARS_N];

struct hook_syscall {
	uint64_t vaddr;           /* of the instruction */
	uint32_t function;        /* by index, or PROBE_ALONE */
	uint32_t number;          /* SYSCALL_UNKNOWN: %rax says it when it happens */
	bool returns;             /* false: exit, exit_group; nothing comes behind */
	bool joined;              /* the program comes behind it by other ways too: it returned only if it had begun */
	bool ahead;               /* a thread's end: `before` is where its number is loaded, in front of the loop it is made in */
	bool twice;               /* fork, vfork, clone, clone3: a child comes behind it too, with 0 */
	uint8_t bar;              /* enum syscall_bar */
	/* The prober's. HOOK_NONE in `before`: the call is not led at all. In `behind`: no return is seen. */
	const struct hook_probe *before, *behind;
};

typedef VEC(struct hook_syscall) hook_syscall_list;

/* All of them, by vaddr. They live as long as the prober. */
void hook_syscalls_find(struct hook_prober *p, hook_syscall_list *out);
