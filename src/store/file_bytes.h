/* SPDX-License-Identifier: MIT */
/* A trace's file as it is, for who copies it. */
#pragma once
#include "store/store.h"

/* Gives all of the file's own bytes to take(), from the first on, at most 1 MB at once. 0; what
 * take() returned, if not 0; or -errno and *err: the file cannot be read any more, or became
 * shorter. */
int file_bytes(struct store_reader *r, int (*take)(void *arg, const char *bytes, size_t n),
	       void *arg, struct err *err);
