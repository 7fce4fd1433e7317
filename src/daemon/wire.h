/* SPDX-License-Identifier: MIT */
/* What is said over a session's socket: one request a connection, then its answer, then data. Both sides are one
 * user's brace, of one version or not: sizes are checked, unknown requests refused. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define WIRE_MAGIC 0x31637262u
#define WIRE_PATH_MAX 4096u
#define WIRE_TEXT_MAX 65536u

enum wire_request {
	WIRE_CAT = 1, /* path; data: the text, or the names in a directory */
	WIRE_ECHO,    /* path, text, append */
	WIRE_STREAM,  /* path; data: as it comes, until one side closes */
	WIRE_EXTRACT, /* path of a new trace file */
	WIRE_END,     /* the session ends; answered when it has */
	WIRE_FACE,    /* then a descriptor: a FUSE connection on which the tree is served, until one side closes */
};

struct wire_question {
	uint32_t magic, request, append, path_bytes, text_bytes;
};

struct wire_answer {
	uint32_t magic;
	int32_t error;     /* 0 or -errno, with err */
	uint64_t bytes;    /* of data; UINT64_MAX: until the end */
	struct err err;
};

/* All n bytes; false: the other side is gone. */
bool wire_send(int fd, const void *bytes, size_t n);
bool wire_receive(int fd, void *bytes, size_t n);
/* A descriptor, by itself. receive: -1 if there comes none. */
bool wire_send_fd(int fd, int given);
int wire_receive_fd(int fd);
