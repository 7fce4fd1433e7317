/* SPDX-License-Identifier: MIT */
/* brace fleet fetch: a trace file that brace push --trace sent, back from the servers. */
#pragma once
#include "ui/invocation.h"

/* Returns the exit status: 0, or EXIT_BRACE (said): there is no file then. */
int fleet_fetch(const struct invocation *inv);
