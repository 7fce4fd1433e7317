/* SPDX-License-Identifier: MIT */
/* brace list without a file or process: what a session in the background has. */
#pragma once
#include "ui/invocation.h"

/* Exit status. */
int list_session(struct invocation *inv);
