/* SPDX-License-Identifier: MIT */
/* The output of a helper program of the system (ld.so, dpkg-query), without a shell. */
#pragma once

/* Runs argv without input, its errors discarded. Returns its standard output, which the caller
 * frees, or NULL if it could not be run or failed. argv[0] is searched in PATH. */
char *run_helper(const char *const *argv);
