/* SPDX-License-Identifier: MIT */
/* Finds the agent's file: the wanted one, else the one beside the brace executable, else the
 * installed one. */
#pragma once
#include "base/err.h"

/* *out is the path with links resolved; the caller frees it. -ENOENT, or -EINVAL if LD_PRELOAD
 * cannot express the path; *err says so. */
int agent_path_find(const char *wanted, char **out, struct err *err);
