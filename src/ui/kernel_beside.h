/* SPDX-License-Identifier: MIT */
/* The kernel under trace beside programs, by -k: a kind of beside.c. */
#pragma once
#include "session/session.h"
#include "ui/invocation.h"

/* With -k, makes the instance by inv->kernel_writes; nothing is recorded before the program is
 * there, or the processes of -p are followed. Without, *own stays NULL. 0, or the exit status
 * (said): nothing is left. */
int kernel_beside_begin(struct invocation *inv, struct session_beside *out, void **own);
/* After the session is freed: undoes all settings, says what the kernel recorded and lost, and
 * frees. Returns status, or brace's own if something is left. */
int kernel_beside_end(void *own, const struct invocation *inv, int status);
