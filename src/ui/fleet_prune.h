/* SPDX-License-Identifier: MIT */
/* brace fleet prune: old runs go. */
#pragma once
#include "ui/invocation.h"

/* Returns the exit status: 0; 1: not all servers answered; or EXIT_BRACE (said). */
int fleet_prune_runs(const struct invocation *inv);
