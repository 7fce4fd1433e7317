/* SPDX-License-Identifier: MIT */
/* Where sessions that run in the background are found: a directory of the user's own, in it a socket and a lock for
 * each, by name. Who holds the lock serves the session; the kernel takes it from who dies. */
#pragma once
#include <stdbool.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/vec.h"

/* $XDG_RUNTIME_DIR/brace if that is not another user's, else /run/user/UID/brace, else /tmp/brace-UID: made with mode 0700 if it is not there, and
 * refused if it is not the user's alone. `name`: letters, digits, - and _. 0, or -errno and *err. */
int run_dir_address(const char *name, struct sockaddr_un *out, struct err *err);
/* The lock, held until the descriptor is closed; -EBUSY and *err: a session of this name runs. */
int run_dir_lock(const char *name, struct err *err);
/* Names of sessions that run, sorted; free() each. */
typedef VEC(char *) name_list;
int run_dir_list(name_list *out, struct err *err);
