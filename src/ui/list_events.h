/* SPDX-License-Identifier: MIT */
/* brace list --events of a file or process. */
#pragma once
#include "ui/invocation.h"

/* Those of `binary` (a path) or inv's process; of neither: those that every program has. Exit status. */
int list_events(struct invocation *inv, const char *binary);
