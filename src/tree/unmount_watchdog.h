/* SPDX-License-Identifier: MIT */
/* A small process that outlives brace: if brace is killed it removes the dead mount, so that the
 * directory can be used again. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Starts it for a mount on dir that is about to be made. Call it while the process has one thread,
 * since it forks. It ends by itself when brace is gone. 0, or -errno and *err. */
int unmount_watchdog_start(const char *dir, struct err *err);
