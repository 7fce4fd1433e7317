/* SPDX-License-Identifier: MIT */
/* Processes by their names, as ps and pgrep show them. */
#pragma once
#include <sys/types.h>

#include "base/vec.h"

struct process_ids { VEC(pid_t) at; };

/* Adds the ids of the processes of this name that this user may look into; kernel threads and brace
 * itself are none. */
void pids_named(const char *name, struct process_ids *out);
