/* SPDX-License-Identifier: MIT */
/* The options by which brace push and brace fleet find their servers. */
#pragma once
#include "fleet/server.h"
#include "ui/invocation.h"

/* Reads --to, or $BRACE_FLEET, and --auth, --ca and --insecure. s is empty; the caller frees it,
 * whatever comes. 0, or EXIT_BRACE (said). */
int fleet_option_servers(const struct invocation *inv, const char *command,
			 struct fleet_servers *s);
