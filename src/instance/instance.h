/* SPDX-License-Identifier: MIT */
/* A session behind ftrace's tree: what is written to the files happens to the traced programs, and what they
 * record is in `trace` and `trace_pipe`.
 *
 *	struct tree *t = instance_tree_new();
 *	... settings are written ...
 *	live_start(&request, t, &live, &err);    the programs run, or are attached to
 *	... the tree is served ...
 *	live_stop(live);                         attached programs are as they were
 */
#pragma once
#include "session/session.h"
#include "tree/instance.h"

struct live;

struct live_request {
	char *const *argv;        /* program and arguments, NULL-terminated; NULL: attach */
	const pid_t *pids;
	size_t n_pids;
	const char *agent_path;   /* NULL: where brace finds it */
};

/* With the settings the tree has. 0, or -errno and *err as session_start: nothing is left behind then. */
int live_start(const struct live_request *req, struct tree *tree, struct live **out, struct err *err);
/* A launched program goes on, untraced. The tree keeps its settings. NULL is fine. */
void live_stop(struct live *l);
/* All programs have ended, and what they recorded is in the buffers. */
bool live_is_over(struct live *l);
/* Returns when they have. */
void live_wait(struct live *l);
/* For closing figures, and to end it (session_stop): it goes with live_stop. */
struct session *live_session(struct live *l);
/* The top instance's buffer into a trace file, for brace report and its like. Nothing is taken away. */
int live_extract(struct live *l, const char *path, struct err *err);
