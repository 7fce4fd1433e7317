/* SPDX-License-Identifier: MIT */
/* A small process that outlives brace: if brace is killed, its dead mount is taken away, so that the
 * directory can be used again. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Starts it for a mount on dir that is about to be made; call while there is one thread. It goes away by
 * itself when brace is gone. 0, or -errno and *err. */
int keeper_start(const char *dir, struct err *err);
