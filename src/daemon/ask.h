/* SPDX-License-Identifier: MIT */
/* Requests to a session that runs in the background, over its socket. Each opens a connection of
 * its own and blocks until the answer is there. 0, or -errno and *err with the session's own error;
 * -ENOENT: there is no such session. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

bool ask_is_there(const char *session); /* Whether the session can be reached. */
/* Reads a file, or a directory's names. free() *text. */
int ask_cat(const char *session, const char *path, char **text, struct err *err);
/* The processes that the session traces, a line each: "PID NAME", bytes of names escaped. free()
 * *text. -ENOTSUP: the session is an older brace's. */
int ask_programs(const char *session, char **text, struct err *err);
/* Writes text (at most WIRE_TEXT_MAX bytes) to a file; append: `>>`. */
int ask_echo(const char *session, const char *path, const char *text, bool append, struct err *err);
/* Reads a file as it grows, until the session ends or sink returns false. */
int ask_stream(const char *session, const char *path,
	       bool (*sink)(void *arg, const char *bytes, size_t n), void *arg, struct err *err);
/* Has the session write its top buffer into a new trace file. path is absolute, since the session
 * has a working directory of its own, and the file is the session's user's. The buffer keeps its
 * records. Returns when the file is whole. */
int ask_extract(const char *session, const char *path, struct err *err);
/* Returns when the session's programs have ended and all of them is recorded, or the session
 * ends. */
int ask_wait(const char *session, struct err *err);
/* The session serves its tree on a FUSE connection until the returned descriptor is closed. The
 * caller keeps and closes its own descriptor of the connection. */
int ask_mount(const char *session, int fuse, struct err *err);
/* Ends the session, and returns when it has ended. */
int ask_end(const char *session, struct err *err);
