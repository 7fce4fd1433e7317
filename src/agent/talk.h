/* SPDX-License-Identifier: MIT */
/* The dialogue over the tracer's socket; the messages are in shared/memory.h. */
#pragma once
#include <stdbool.h>

#include "shared/memory.h"

/* The descriptors of a setup reply, in their order. */
enum talk_fd { TALK_SESSION, TALK_IMAGE, TALK_CODE, TALK_ANSWERS, TALK_FDS };

/* Connects to the tracer at "ADDRESS:TOKEN" (`@` stands for an abstract one's NUL). Returns a
 * descriptor to close, or -1. */
int talk_connect(const char *way);
/* Sends a request with the token of `way`. handler: PROTOCOL_HANDLER's address, else 0. False: it
 * could not be sent. */
bool talk_hello(int fd, const char *way, enum protocol_request request, uint64_t handler);
void talk_wait(int fd); /* waits until the tracer has done what was asked, or is gone */
/* Receives a setup reply. False if nothing is to be traced, or the answer is malformed. The
 * descriptors are the caller's to close. */
bool talk_setup(int fd, struct protocol_setup *w, int fds[TALK_FDS]);
