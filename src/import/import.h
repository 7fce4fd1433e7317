/* SPDX-License-Identifier: MIT */
/* A trace of another tool as a trace of brace's, so that all of brace's views serve it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct import_result {
	const char *tool;       /* whose it is */
	uint64_t calls, threads, lost;
	uint64_t left_out;      /* records, or lines, that a trace has no place for */
	uint64_t strange;       /* binaries here that are not those that were traced */
};

/* Reads `path` (a directory of uftrace's or of CTF, or a text of perf script or trace-cmd report)
 * and writes the trace file `output`. `text` stands for the bytes of the file, where a tool made
 * it of them; NULL: the file is the text. 0, or -errno and *err: there is no new file then. Memory
 * grows with the records. */
int import_trace(const char *path, const char *text, const char *output,
		 struct import_result *result, struct err *err);
/* Files and directories that are no text, and that import_trace() takes as the text that their own
 * tool prints. */
enum import_binary {
	IMPORT_NO_BINARY, /* or it cannot be opened */
	IMPORT_TRACE_DAT, /* trace-cmd report */
	IMPORT_PERF_DATA, /* perf script */
	IMPORT_CTF,       /* a directory: babeltrace2 --clock-seconds --no-delta */
	IMPORT_BINARIES_N
};
enum import_binary import_binary_of(const char *path);
/* Checks that there are only regular files and directories below the directory. babeltrace2 opens
 * everything there, and would wait for the writer of a FIFO. 0, or -errno and *err, which names the
 * other file. */
int import_check_below(const char *path, struct err *err);
