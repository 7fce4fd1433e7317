/* SPDX-License-Identifier: MIT */
/* Where the agent is: what was asked for, beside the brace executable, or as installed. */
#pragma once
#include "base/err.h"

int agent_path_find(const char *wanted, char **out, struct err *err);
