/* SPDX-License-Identifier: MIT */
/* The reasons of tracee_check(), for hold.c. Any thread; nothing is stopped. */
#pragma once
#include "base/err.h"
#include "tracee/proc_status.h"

/* tracee_check() without the seccomp filters, which only a stopped process shows. 0, or -errno
 * and *err: the rule that forbids it. */
int check_rules(pid_t pid, struct err *err);
/* Explains what Yama's ptrace_scope of this value means for tracing the process. Returns -EPERM. */
int check_explain_yama(int scope, const struct proc_status *s, struct err *err);
