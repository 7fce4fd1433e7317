/* SPDX-License-Identifier: MIT */
/* A session behind ftrace's tree: writes to the files act on the traced programs, and their records
 * appear in `trace` and `trace_pipe`.
 *
 *	struct tree *t = instance_tree_new();
 *	... settings are written ...
 *	live_start(&request, t, &live, &err);    the programs run, or are attached to
 *	... the tree is served ...
 *	live_stop(live);                         attached programs are as they were
 *
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

/* Starts or attaches to the programs with the settings that the tree has. Returns 0, or -errno and
 * *err as session_start: nothing is left behind then. live_stop frees *out. */
int live_start(const struct live_request *req, struct tree *tree, struct live **out,
	       struct err *err);
/* Ends the session: a launched program goes on, untraced. The tree keeps its settings. NULL is
 * fine. No thread may use the tree's files of the session any more once instance_detach has
 * returned for them. */
void live_stop(struct live *l);
/* Whether all programs have ended and their records are in the buffers. */
bool live_is_over(struct live *l);
/* Returns when live_is_over is true. */
void live_wait(struct live *l);
/* The session behind the tree, for closing figures and session_stop. live_stop frees it. */
struct session *live_session(struct live *l);
/* Writes the top instance's buffer into a trace file, for brace report and its like. The records
 * stay. */
int live_extract(struct live *l, const char *path, struct err *err);
