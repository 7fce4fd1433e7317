/* SPDX-License-Identifier: MIT */
/* The options, as writes to the files of a session in the background. */
#pragma once
#include "ui/invocation.h"

/* In inv's session. 0, or -errno and *err; what came before the one that is refused has been done. */
int session_set(const struct invocation *inv, struct err *err);
