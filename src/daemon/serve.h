/* SPDX-License-Identifier: MIT */
/* A tree served over a session's socket, to its user only, until somebody ends it. */
#pragma once
#include "tree/tree.h"

struct server;

struct serve_request {
	const char *name;
	struct tree *tree;
	/* The buffer into a new trace file at this path. */
	int (*extract)(void *context, const char *path, struct err *err);
	bool (*is_over)(void *context); /* nothing more is going to be recorded */
	void *context;
};

/* From here on others can connect. */
int serve_open(const struct serve_request *req, struct server **out, struct err *err);
/* Until serve_stop, or a request to end; who asked for that is answered by serve_close. */
void serve_run(struct server *s);
void serve_stop(struct server *s); /* from a signal handler too */
void serve_close(struct server *s);
