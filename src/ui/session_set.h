/* SPDX-License-Identifier: MIT */
/* The files of a session in the background, and options as writes to them. */
#pragma once
#include "ui/invocation.h"

/* Carries inv's writes out in inv's session. 0, or -errno and *err; writes before the refused one
 * stay done. */
int session_set(const struct invocation *inv, struct err *err);
/* Reads a file of inv's session or, with -k, of the kernel's. free() *text. 0, or -errno and *err;
 * -ENODATA: the kernel has no such file. */
int session_cat(const struct invocation *inv, const char *file, char **text, struct err *err);
