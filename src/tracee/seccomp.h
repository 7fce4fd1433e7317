/* SPDX-License-Identifier: MIT */
/* Whether a seccomp filter would let our system calls through: found out by running the filter
 * ourselves, before the kernel would kill the program for one of them. */
#pragma once
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* What the filter (classic BPF over struct seccomp_data) returns for x86-64's system call `number`
 * with these arguments. SECCOMP_RET_KILL_PROCESS for a malformed one. */
uint32_t seccomp_run(const struct sock_filter *program, size_t n, long number, const uint64_t args[6]);

/* 0 if the process has no filter, or all its filters allow what the agent and an attach need. Else
 * -EPERM (forbidden: the system call is named) or -EACCES (filters cannot be read without
 * CAP_SYS_ADMIN), and *err. */
int seccomp_check(pid_t pid, struct err *err);

/* What the process's filters forbid that the agent can do without: LACKS_* (shared/memory.h). All of it if they cannot be
 * read. */
uint32_t seccomp_lacks(pid_t pid);
