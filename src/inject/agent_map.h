/* SPDX-License-Identifier: MIT */
/* Puts the agent into a held process that does not have it: a memory file of the process's own, mapped at
 * place->base. */
#pragma once
#include "inject/agent_place.h"

/* 0, or -errno and *err, and nothing of it is there. */
int agent_map(struct tracee *t, const struct agent_file *f, const struct agent_place *place, struct err *err);
