/* SPDX-License-Identifier: MIT */
/* Files that a session with a ring (brace start --ring FILE) leaves: FILE, its memory, if it died;
 * FILE.trace, the newest records that it had taken; FILE.trace.N, those before. The next session
 * with the same ring, or the user, finds them as FILE.last and FILE.last.1, which are whole trace
 * files. */
#pragma once
#include "base/err.h"

/* Makes FILE.last of it, says what it has, and removes the rest. 0, also where nothing was left, or
 * -errno and *err: then all stays as it was (-EBUSY: the session lives). *info: the text of
 * last_boot_info, for free(): where the programs' files were; NULL: nothing was left. */
int last_session_take(const char *ring, char **info, struct err *err);
