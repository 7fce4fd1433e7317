/* SPDX-License-Identifier: MIT */
/* A program under trace behind a tree in this process. Triggers act on records in order of time,
 * which only an instance behind a tree has: record then runs one, and graph always does, since it
 * prints trace_pipe. */
#pragma once
#include "instance/instances.h"
#include "ui/invocation.h"
#include "ui/screen.h"

struct tree_run {
	struct tree *tree;
	struct instances *instances;
	struct tree_open *pipe;   /* trace_pipe, until it has been printed; NULL: nobody will */
};

struct tree_run_result {
	struct session_result session;
	uint64_t dropped;         /* records that the instance's buffer had no room for */
};

/* Whether an instance is needed: for triggers, for options that make records from others, and for
 * tracers whose threads measure. */
bool tree_run_needed(const struct invocation *inv);
/* Whether records are kept to be written now and then: --snapshot-on. */
bool tree_run_takes_snapshots(const struct invocation *inv);
/* Says that an instance does not have the kernel's records (-k). The exit status. */
int tree_run_refuse_kernel(void);
struct tree_run_use {
	bool prints;              /* the file of -o is made before, for screen_open_begun() */
	/* `run` calls tree_run_print(), for which trace_pipe is opened before the programs run */
	bool pipes;
	/* The run needs no tree (tree_run_needed()): the settings are the command line's, and these
	 * are more sources of records (NULL: none). */
	bool plain;
	const struct session_beside *beside;
	/* 0, or -errno and *err. */
	int (*run)(struct tree_run *t, void *arg, struct err *err);
	void *arg;
};

/* Makes the settings, checks and starts; then calls `run`, while interrupts and --duration are
 * heeded; then ends. 0, or the exit status (said). */
int tree_run_begin(struct invocation *inv, const struct tree_run_use *use,
		   struct tree_run_result *result);
/* Once, of a run that pipes: prints trace_pipe until the programs have ended, but no more than
 * `limit` lines. When nobody reads any more, they go on unrecorded. 0, or -errno and *err. */
#define TREE_RUN_ALL UINT64_MAX
int tree_run_print(struct tree_run *t, struct screen *screen, uint64_t limit, struct err *err);
