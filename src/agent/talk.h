/* SPDX-License-Identifier: MIT */
/* What is said over the tracer's socket; the formats are in shared/memory.h. */
#pragma once
#include <stdbool.h>

#include "shared/memory.h"

#define TALK_FDS 3 /* session memory, image memory, code memory */

/* To the tracer at this address (`@` stands for an abstract one's NUL): a descriptor, or -1. */
int talk_connect(const char *path);
bool talk_hello(int fd, enum protocol_request request, uint64_t handler); /* handler: PROTOCOL_HANDLER's, else 0 */
void talk_wait(int fd); /* until the tracer has done what was asked, or is gone */
/* False if there is nothing to be traced, or the answer is none. The descriptors are the caller's. */
bool talk_welcome(int fd, struct protocol_welcome *w, int fds[TALK_FDS]);
