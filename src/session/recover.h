/* SPDX-License-Identifier: MIT */
/* What a tracer that died left behind: a file that ends early, and, while the program lives, the session
 * memory. Made into one whole file, in which nothing stands twice and what is missing is counted. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct recover_request {
	const char *file;   /* the cut file; NULL: none, the names are read from the process */
	pid_t pid;          /* a process that was traced; 0: none */
	const char *output;
};

struct recover_result {
	uint64_t from_file, from_memory; /* records */
	uint64_t lost;      /* produced, and in neither */
	uint64_t unwritten; /* of those: what the tracer had taken over and not yet written */
	uint64_t calls, bytes;
	uint64_t cut_bytes; /* at the file's end, that could not be read */
	uint32_t threads;   /* that the memory had records of */
	int cut;            /* the file ends early */
};

/* 0, or -errno and *err (EINVAL: the file is whole, or nothing is asked for; EBUSY: the tracer lives; ESRCH,
 * EPERM, EACCES: the process; ENODATA: it has no session memory); then no output is left behind. */
int session_recover(const struct recover_request *req, struct recover_result *res, struct err *err);

/* The part behind the door, for bytes of any origin: adds the session memory at `at` of file fd to a
 * trace. As session_recover with a file, but that no process is asked for anything. */
int recover_memory(int fd, uint64_t at, uint64_t size, const struct recover_request *req,
		   struct recover_result *res, struct err *err);
