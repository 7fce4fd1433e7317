/* SPDX-License-Identifier: MIT */
/* A session of the kernel's own tracing, which goes on without brace: an instance in tracefs that
 * brace start -k makes and brace reset -k removes. The kernel keeps the records, and prints them
 * itself. */
#pragma once
#include "ui/invocation.h"

/* brace start -k: begins it; if there is one, applies the options and records again. The exit
 * status (said). */
int kernel_session_start(struct invocation *inv);
/* brace set -k. The exit status (said). */
int kernel_session_set(struct invocation *inv);
/* Reads a file of it. free() *text. 0, or -errno and *err; -ENODATA: the kernel has no such
 * file. */
int kernel_session_cat(const char *file, char **text, struct err *err);
/* Writes one. 0, or -errno and *err. */
int kernel_session_echo(const char *file, const char *text, struct err *err);
