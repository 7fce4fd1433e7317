/* SPDX-License-Identifier: MIT */
/* A program under trace whose records have triggers. Triggers act on records in order of time,
 * which only an instance behind a tree has: record and graph then run one of their own, in this
 * process. */
#pragma once
#include "instance/instances.h"
#include "ui/invocation.h"

struct tree_run {
	struct tree *tree;
	struct instances *instances;
};

/* Whether an instance is needed: for triggers, and for options that make records from others. */
bool tree_run_needed(const struct invocation *inv);
/* Makes the settings, checks and starts; then calls `use`, while interrupts and --duration are
 * heeded; then ends. 0, or the exit status (said). */
int tree_run_begin(struct invocation *inv,
		   int (*use)(struct tree_run *t, void *arg, struct err *err), void *arg,
		   int *wait_status);
