/* SPDX-License-Identifier: MIT */
/* A program under trace whose records have triggers: what these do is known only of what is looked at in order of time, which a
 * session behind a tree does. record and graph have one of their own, in this process. */
#pragma once
#include "instance/instance.h"
#include "ui/invocation.h"

struct triggered {
	struct tree *tree;
	struct live *live;
};

/* Whether what is asked for needs one: triggers, or options that make records of others. */
bool triggered_needed(const struct invocation *inv);
/* Settings, checks, start; then `use`, until whose return interrupts and --duration are heeded; then the end. 0, or
 * the exit status for what went wrong (said). */
int triggered_run(struct invocation *inv, int (*use)(struct triggered *t, void *arg, struct err *err), void *arg,
		  int *wait_status);
