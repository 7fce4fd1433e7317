/* SPDX-License-Identifier: MIT */
/* Recovers the remains of a tracer that died: a file that ends early and, while the program lives,
 * the session memory. Makes one whole file of them, in which nothing stands twice and the missing
 * records are counted. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct recover_request {
	const char *file;   /* the cut file; NULL: none, names are read from the process */
	pid_t pid;          /* a process that was traced; 0: none */
	const char *ring;   /* the file of the session memory; NULL: none. With it: no pid, and a
			     * file, which has the names */
	const char *output;
};

struct recover_result {
	uint64_t from_file, from_memory; /* records; the memory may be a ring's */
	uint64_t lost;      /* recorded, but in neither */
	uint64_t unwritten; /* among the lost: taken over by the tracer, and not yet written */
	uint64_t calls, bytes;
	uint64_t cut_bytes; /* unreadable bytes at the file's end */
	uint32_t threads;   /* threads with records in the memory */
	int cut;            /* the file ends early */
	bool other_boot;    /* the ring is of before the machine was started anew */
	uint64_t holes;     /* bytes that somebody took out of the ring */
	char ring[256];     /* the ring that the file names, and that was not asked for; "" */
};

/* 0, or -errno and *err (-EINVAL: the file is whole, or nothing is asked for; -EBUSY: the tracer
 * lives; -ESRCH, -EPERM, -EACCES: the process; -ENODATA: it has no session memory; -EPROTO: no
 * ring, or another session's); then no output is left behind. */
int session_recover(const struct recover_request *req, struct recover_result *res, struct err *err);

/* (fuzzing) The part that works on bytes of any origin: adds the session memory at `at` of file fd
 * to a trace. Like session_recover with a file, but asks no process for anything. 0, or -errno and
 * *err: the bytes are no session memory, or spoiled. */
int recover_memory(int fd, uint64_t at, uint64_t size, const struct recover_request *req,
		   struct recover_result *res, struct err *err);
