/* SPDX-License-Identifier: MIT */
/* The tracer's answer to an agent: what to map, with the memories' descriptors. */
#pragma once
#include <stdbool.h>

#include "shared/memory.h"

/* False, and errno, if the other side does not take it. */
bool welcome_send(int fd, const struct protocol_welcome *w, const int fds[3]);
