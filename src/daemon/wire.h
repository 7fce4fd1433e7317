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
	WIRE_CAT = 1, /* path; data: the text */
	WIRE_ECHO,    /* path, text, append */
	WIRE_STREAM,  /* path; data: as it comes, until one side closes */
	WIRE_EXTRACT, /* path of a new trace file */
	WIRE_END,     /* the session ends; answered when it has */
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
