/* SPDX-License-Identifier: MIT */
/* The directory in which background sessions are found: the user's own, with a socket and a lock
 * file for each session, by name. The holder of the lock serves the session; the kernel releases it
 * when that process dies. */
#pragma once
#include <stdbool.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/vec.h"

/* Gives the address of a session's socket. The directory is $XDG_RUNTIME_DIR/brace if that is not
 * another user's, else /run/user/UID/brace, else /tmp/brace-UID. It is created with mode 0700, and
 * refused if it is not the user's alone. `name`: letters, digits, - and _. 0, or -errno and
 * *err. */
int run_dir_prepare(const char *name, struct sockaddr_un *out, struct err *err);
/* Takes the session's lock, held until the returned descriptor is closed. -EBUSY and *err: a
 * session of this name runs. */
int run_dir_lock(const char *name, struct err *err);
/* Names of the running sessions, sorted; free() each. */
typedef VEC(char *) name_list;
int run_dir_list(name_list *out, struct err *err);
