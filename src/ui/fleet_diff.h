/* SPDX-License-Identifier: MIT */
/* brace fleet diff: two runs that were pushed, side by side as brace diff prints two files. */
#pragma once
#include "ui/invocation.h"

/* Returns the exit status: 0; 1: not all servers answered; or EXIT_BRACE (said). */
int fleet_diff(const struct invocation *inv);
