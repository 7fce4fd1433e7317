/* SPDX-License-Identifier: MIT */
/* One connection to a session: reads the request, carries it out, answers. Runs on the connection's own thread (serve.c). */
#pragma once
#include <stdatomic.h>

#include "daemon/serve.h"

struct request_context {
	const struct serve_request *request;
	const atomic_bool *stopping; /* set when the session ends: streams end */
	int stop;                    /* a descriptor, readable when stopping is set */
	atomic_bool *asked;          /* set when the request has been read; may be NULL */
	bool crowded;                /* too many clients: only WIRE_END is carried out */
};

/* Whether the client is our own user or root, by SO_PEERCRED. */
bool request_allowed(int fd);
/* Handles one request; the client may send any bytes. True: it asked the session to end; the caller answers when the session has. */
bool request_handle(const struct request_context *a, int fd);
/* Sends the answer; err only if error is not 0. False: the client is gone. */
bool request_answer(int fd, int error, const struct err *err, uint64_t bytes);
