/* SPDX-License-Identifier: MIT */
/* brace fleet -H HOSTS record: one recording on many hosts at once. */
#pragma once
#include "ui/invocation.h"

/* Returns the exit status: 0; 1: not all hosts recorded, or a program's status was not 0; or
 * EXIT_BRACE (said): none did. */
int fleet_record(const struct invocation *inv);
