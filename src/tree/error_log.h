/* SPDX-License-Identifier: MIT */
/* ftrace's error_log: the last commands that failed, each with a sentence and a caret under the
 * byte at fault.
 *
 *	[  365.598997] LOCATION: error: TEXT
 *	  Command: p non_exist_func
 *	             ^
 * / */
#pragma once
#include <pthread.h>
#include <stdint.h>

#include "base/err.h"
#include "base/out.h"

#define ERROR_LOG_KEPT 8

struct error_log {
	pthread_mutex_t lock;
	struct error_entry {
		uint64_t ns; /* CLOCK_MONOTONIC, like trace_clock's local */
		char *location, *text, *command;
		size_t column;
	} entries[ERROR_LOG_KEPT]; /* the oldest first */
	unsigned n;
};

/* error_log_free frees all entries. */
void error_log_init(struct error_log *l);
void error_log_free(struct error_log *l);
/* Adds an entry, dropping the oldest of ERROR_LOG_KEPT. Of a command of several lines the one with
 * the error is kept; `column` counts bytes of the whole. Strings are copied. */
void error_log_add(struct error_log *l, uint64_t ns, const char *location, const char *text,
		   const char *command, size_t n, size_t column);
/* Drops all entries. */
void error_log_clear(struct error_log *l);
/* Prints all entries, oldest first. */
void error_log_show(struct error_log *l, struct out *out);
