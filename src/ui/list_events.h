/* SPDX-License-Identifier: MIT */
/* brace list --events for a file or process. */
#pragma once
#include "ui/invocation.h"

/* Lists events of `binary` (a path) or inv's process; with neither, those that every program has.
 * Returns the exit status. */
int list_events(struct invocation *inv, const char *binary);
