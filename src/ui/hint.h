/* SPDX-License-Identifier: MIT */
/* One line at the end of a command that names the next question, and the command that answers it.
 * Only people see it: on a terminal, and not with --quiet, --json or BRACE_HINTS=0. */
#pragma once
#include "ui/invocation.h"

/* Whether the user sees hints; asked before the command, which closes its output. */
bool hint_is_wanted(const struct invocation *inv);
/* Says the hint for the command, if there is one. */
void hint_say(const struct invocation *inv);
