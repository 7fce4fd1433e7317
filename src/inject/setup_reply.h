/* SPDX-License-Identifier: MIT */
/* The tracer's answer to an agent: what to map, with the memories' descriptors. */
#pragma once
#include <stdbool.h>

#include "shared/memory.h"

/* Sends it with three descriptors. False, and errno, if the other side does not take it. */
bool setup_reply_send(int fd, const struct protocol_setup *w, const int fds[3]);
