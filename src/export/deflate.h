/* SPDX-License-Identifier: MIT */
/* A zlib stream (RFC 1950) made by all cores. The bytes are cut into blocks, each compressed with
 * the end of the one before as its dictionary; the result is one stream, and the same however many
 * cores there are. One thread uses it. */
#pragma once
#include <stddef.h>

#include "base/err.h"

struct deflater;
/* put: takes the stream's bytes, in order, on the thread that adds; not 0 ends it all. Never NULL;
 * deflate_free() frees it. */
struct deflater *deflate_new(int (*put)(void *arg, const unsigned char *bytes, size_t n),
			     void *arg);
/* Adds bytes; 0, put's result, or -ENOMEM and *err. */
int deflate_add(struct deflater *d, const char *bytes, size_t n, struct err *err);
/* Ends the stream; as deflate_add(). */
int deflate_finish(struct deflater *d, struct err *err);
void deflate_free(struct deflater *d);
