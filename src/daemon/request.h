/* SPDX-License-Identifier: MIT */
/* Carries out one request of a client, on the connection's own thread (serve.c). */
#pragma once
#include <stdatomic.h>

#include "daemon/serve.h"

struct request_context {
	/* The part of the server that request_handle uses. */
	const struct serve_request *request;
	const atomic_bool *stopping; /* set when the session ends: streams end then */
	int stop;                    /* a descriptor, readable when stopping is set */
	atomic_bool *asked;          /* set when the request has been read; may be NULL */
	bool crowded;                /* too many clients: only WIRE_END is carried out */
};

/* Whether the client is our own user or root, by SO_PEERCRED: the kernel fixed it at connect. */
bool request_allowed(int fd);
/* Handles one request; the client may send any bytes. True: it asked to end the session; the caller
 * answers when that has happened. */
bool request_handle(const struct request_context *a, int fd);
/* Sends the answer's head; err is used only if error is not 0. False: the client is gone. */
bool request_answer(int fd, int error, const struct err *err, uint64_t bytes);
