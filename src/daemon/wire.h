/* SPDX-License-Identifier: MIT */
/* The protocol of a session's socket: one request a connection, then its answer, then data. Both
 * sides are one user's brace, perhaps of different versions: sizes are checked, unknown requests
 * refused. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define WIRE_MAGIC 0x31637262u
#define WIRE_PATH_MAX 4096u
#define WIRE_TEXT_MAX 65536u

enum wire_request {
	WIRE_CAT = 1, /* path; data: the text, or a directory's names */
	WIRE_ECHO,    /* path, text, append */
	WIRE_STREAM,  /* path; data: as it is recorded, until one side closes */
	WIRE_EXTRACT, /* path of a new trace file */
	WIRE_END,     /* ends the session; answered when it has ended */
	/* followed by a descriptor: a FUSE connection on which the tree is served until one side
	 * closes */
	WIRE_MOUNT,
	WIRE_WAIT,    /* answered when the programs have ended and all is recorded */
	WIRE_PROGRAMS, /* data: a line for each process, "PID NAME" */
};

struct wire_question {
	uint32_t magic, request, append, path_bytes, text_bytes;
};

struct wire_answer {
	uint32_t magic;
	int32_t error;     /* 0 or -errno, with err */
	uint64_t bytes;    /* bytes of data; UINT64_MAX: until the connection closes */
	struct err err;
};

/* Send or receive all n bytes; false: the other side is gone. */
bool wire_send(int fd, const void *bytes, size_t n);
bool wire_receive(int fd, void *bytes, size_t n);
/* Send or receive a descriptor, in a message of its own. wire_receive_fd returns -1 if none
 * comes. */
bool wire_send_fd(int fd, int given);
int wire_receive_fd(int fd);
