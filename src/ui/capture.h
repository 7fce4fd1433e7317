/* SPDX-License-Identifier: MIT */
/* The output of a helper program of the system (ld.so, dpkg-query), without a shell. */
#pragma once

/* Runs argv without input, its errors discarded. Its standard output, malloc'ed, or NULL if it
 * could not be run or failed. argv[0] is looked for in PATH. */
char *capture(const char *const *argv);
