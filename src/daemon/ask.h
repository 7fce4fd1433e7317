/* SPDX-License-Identifier: MIT */
/* Questions to a session that runs in the background. Each is 0, or -errno and *err with what the session said; -ENOENT:
 * there is no such session. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

bool ask_is_there(const char *session); /* it can be asked */
int ask_cat(const char *session, const char *path, char **text, struct err *err); /* free() it */
int ask_echo(const char *session, const char *path, const char *text, bool append, struct err *err);
/* sink: false when it wants no more. */
int ask_stream(const char *session, const char *path, bool (*sink)(void *arg, const char *bytes, size_t n), void *arg,
	       struct err *err);
int ask_extract(const char *session, const char *path, struct err *err);
/* The session serves its tree on a FUSE connection until the descriptor that is returned is closed; the caller's of the
 * connection is for him to close. */
int ask_face(const char *session, int fuse, struct err *err);
int ask_end(const char *session, struct err *err);
