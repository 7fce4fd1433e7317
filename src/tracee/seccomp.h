/* SPDX-License-Identifier: MIT */
/* Whether a process's seccomp filter would allow our system calls: found by running the filter
 * ourselves, before the kernel would kill the program for one of them. On a holder's thread. */
#pragma once
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Returns the answer of the filter (classic BPF over struct seccomp_data) to x86-64's system call
 * `number` with these arguments; SECCOMP_RET_KILL_PROCESS for a malformed filter. */
uint32_t seccomp_run(const struct sock_filter *program, size_t n, long number,
		     const uint64_t args[6]);

/* Returns 0 if the process has no filter, or all its filters allow what an attach and the agent
 * need. Else -EPERM (forbidden: the system call is named) or -EACCES (filters cannot be read
 * without CAP_SYS_ADMIN), and *err. */
int seccomp_check(pid_t pid, struct err *err);

/* Returns the abilities that the process's filters forbid and that the agent can do without:
 * LACKS_* (shared/memory.h). All of them if the filters cannot be read. */
uint32_t seccomp_lacks(pid_t pid);
