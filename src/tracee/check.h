/* SPDX-License-Identifier: MIT */
/* The sentences of tracee_check. */
#pragma once
#include "base/err.h"
#include "tracee/proc_status.h"

/* tracee_check without the seccomp filters, which only a held process shows. */
int check_rules(pid_t pid, struct err *err);
/* What Yama's ptrace_scope of this value means for tracing the process. -EPERM. */
int check_explain_yama(int scope, const struct proc_status *s, struct err *err);
