/* SPDX-License-Identifier: MIT */
/* Options as writes to the files of a session in the background. */
#pragma once
#include "ui/invocation.h"

/* Carries inv's writes out in inv's session. 0, or -errno and *err; writes before the refused one
 * stay done. */
int session_set(const struct invocation *inv, struct err *err);
