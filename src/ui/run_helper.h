/* SPDX-License-Identifier: MIT */
/* The output of a helper program of the system (ld.so, dpkg-query, perf), without a shell. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define HELPER_LIST_MOST (4u << 20) /* bytes of a list of files */

/* The text that a helper printed. */
struct helper_text {
	char *text;  /* free() it; NULL: it could not be run, or failed */
	bool cut;    /* it printed more than was asked for: text is its whole records up to there */
};

/* Runs argv without input, its errors discarded. argv[0] is searched in PATH. Keeps no more than
 * `most` bytes of its standard output, and what ends with `end` of them (a line's is "\n"): a
 * helper that prints more is killed. */
struct helper_text run_helper(const char *const *argv, size_t most, const char *end);
/* Runs argv as run_helper() does, but keeps its standard error and discards its output. */
struct helper_text run_helper_errors(const char *const *argv, size_t most, const char *end);
