/* SPDX-License-Identifier: MIT */
/* Functions without room for a jump are entered through their direct callers: the displacement of
 * each call is changed to lead to the trampoline. Private to src/hook. */
#pragma once
#include "hook/plan.h"
#include "hook/sweep.h"

/* Finds the direct calls of, and jumps to, the functions for which led[i] is true. Those that have
 * any become HOOK_CALLERS, or HOOK_SOME_CALLERS where control may arrive in other ways as well. */
void callers_plan(const struct sweep *s, const bool *led, struct hook_plan *plan);
