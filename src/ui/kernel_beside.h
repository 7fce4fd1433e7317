/* SPDX-License-Identifier: MIT */
/* The kernel under trace beside programs: brace record -k and graph -k. */
#pragma once
#include "kernel/producer.h"
#include "session/session.h"
#include "ui/invocation.h"

struct kernel_beside {
	struct session_beside beside;   /* for run_start() */
	struct kernel_source *source;   /* NULL: without -k */
	struct kernel_producer *producer;
};

/* With -k, makes the instance by inv->kernel_writes; nothing is recorded before the program is
 * there, or the processes of -p are followed. 0, or the exit status (said): nothing is left. */
int kernel_beside_begin(struct invocation *inv, struct kernel_beside *out);
/* The kernel's side for run_start(): NULL without -k. */
const struct session_beside *kernel_beside_of(const struct kernel_beside *b);
/* After the session is freed: undoes all settings, and says what the kernel recorded and lost.
 * Returns status, or brace's own if something is left. */
int kernel_beside_end(struct kernel_beside *b, const struct invocation *inv, int status);
