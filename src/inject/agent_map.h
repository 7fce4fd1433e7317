/* SPDX-License-Identifier: MIT */
/* Puts the agent into a stopped process that does not have it: as a memory file that the process
 * owns, mapped at agent->base. */
#pragma once
#include "inject/agent_layout.h"

/* 0, or -errno and *err; then no part of it is mapped. */
int agent_map(struct tracee *t, const struct agent_file *f, const struct agent_layout *agent,
	      struct err *err);
