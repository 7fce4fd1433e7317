/* SPDX-License-Identifier: MIT */
/* brace list without a file or process: the content of a session in the background. */
#pragma once
#include "ui/invocation.h"

/* Returns the exit status. */
int list_session(struct invocation *inv);
