/* SPDX-License-Identifier: MIT */
/* brace fleet query: a user's own statement for the servers of a fleet. */
#pragma once
#include "ui/invocation.h"

/* Returns the exit status: 0; 1: not all servers answered; or EXIT_BRACE (said). */
int fleet_query(const struct invocation *inv);
