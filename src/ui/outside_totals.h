/* SPDX-License-Identifier: MIT */
/* Messages and commands that a session's triggers have sent and begun outside of it, in a
 * sentence for each. */
#pragma once
#include <stdbool.h>

struct tree;

/* Waits a moment for messages on their way, then says how many each trigger of the tree sent or
 * ran, and how many were dropped. quiet: only what was dropped is said. */
void outside_totals_say(struct tree *tree, bool quiet);
