/* SPDX-License-Identifier: MIT */
/* A program that is recorded while its trace is looked at: a process of brace's own records into a
 * file that grows, which whoever called reads meanwhile, as far as it is written. Or a session in
 * the background, whose buffer is extracted into a new file each time. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/stop.h"
#include "ui/invocation.h"

struct live_trace {
	char *path;       /* of the file */
	pid_t recorder;   /* 0: it has ended */
	int status;       /* then: its exit status */
	int said;         /* a file of what the program and the recorder print; -1: none */
	off_t printed;    /* bytes of it that the user has seen */
	bool kept;        /* the file is the user's (-o) */
	const char *session; /* its name; NULL: a recorder */
	char *directory;  /* of the session's file */
};

/* Starts the program of the operands, or attaches to inv->pids, and waits until the file can be
 * read. 0; or the exit status, and what the recorder said is printed. live_trace_end() in any
 * case. Called before there are other threads. */
int live_trace_begin(struct live_trace *t, struct invocation *inv, const struct stop *stop);
/* live_trace_begin() of a session in the background: extracts what is in its buffer now. */
int live_trace_begin_session(struct live_trace *t, const char *session);
/* Extracts a session's buffer anew, into t->path; readers of the file of before keep that. Does
 * nothing for a recorder, whose file grows. 0, or -errno and *err: the file is gone. */
int live_trace_renew(struct live_trace *t, struct err *err);
/* Whether it is still recording. */
bool live_trace_goes_on(struct live_trace *t);
/* The file's size in bytes. Of a session it tells nothing of what is new. */
uint64_t live_trace_size(const struct live_trace *t);
/* Ends the recording: an attached process goes on untraced, and so does a program that was started,
 * for whose end it waits. A session goes on. Prints what was printed meanwhile, and removes the
 * file unless it is kept. stop: a signal that came meanwhile is the program's, too. */
void live_trace_end(struct live_trace *t, const struct stop *stop);
