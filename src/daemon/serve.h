/* SPDX-License-Identifier: MIT */
/* Serves a tree over a session's socket, to its user and root only, until a client or a signal ends
 * it. serve_run is called by one thread; serve_stop from anywhere. */
#pragma once
#include "tree/tree.h"

struct server;

struct serve_request {
	/* The session's name, and the tree to serve. The server owns neither. */
	const char *name;
	struct tree *tree;
	/* Writes the buffer into a new trace file at path. */
	int (*extract)(void *context, const char *path, struct err *err);
	bool (*is_over)(void *context); /* whether nothing more will be recorded */
	/* The processes that it traces, a line each: "PID NAME"; free() it. */
	char *(*programs)(void *context);
	void *context;
};

/* Takes the lock and listens: clients can connect from here on. 0, or -errno and *err. serve_close
 * frees *out. */
int serve_open(const struct serve_request *req, struct server **out, struct err *err);
/* Serves until serve_stop, or a client's request to end, which serve_close answers. No client is
 * being served when it returns: the caller may free what the request's callbacks use. */
void serve_run(struct server *s);
void serve_stop(struct server *s); /* async-signal-safe */
/* Removes the socket and frees. Answers the client that asked for the end last, after the session
 * has ended. */
void serve_close(struct server *s);
