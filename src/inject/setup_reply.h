/* SPDX-License-Identifier: MIT */
/* The tracer's answer to an agent: what to map, with the memories' descriptors. */
#pragma once
#include <stdbool.h>

#include "shared/memory.h"

/* Descriptors of the session memory, the image memory, the code memory and the answer memory. */
#define SETUP_REPLY_FDS 4
/* Sends it with these descriptors. False, and errno, if the other side does not take it. */
bool setup_reply_send(int fd, const struct protocol_setup *w, const int fds[SETUP_REPLY_FDS]);
