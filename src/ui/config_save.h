/* SPDX-License-Identifier: MIT */
/* A session's settings as a boot configuration. */
#pragma once
#include "base/out.h"
#include "base/err.h"

/* Prints what differs from a new session's settings, so that `brace config --apply` of the text
 * makes a session like it; instances too. 0, or -errno and *err (-ENOENT: no such session). */
int config_save(const char *session, struct out *out, struct err *err);
