/* SPDX-License-Identifier: MIT */
/* All bytes of an open file. */
#pragma once
#include <stddef.h>

/* Reads to the end, which is a read of 0 bytes: files of tracefs and /proc have size 0 for stat(),
 * and may give less than is asked for long before their end. An error ends the text where it
 * happened: *error is its errno, else 0. *n: bytes, without the NUL behind them. free() the
 * result. */
char *read_all(int fd, size_t *n, int *error);
