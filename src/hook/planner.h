/* SPDX-License-Identifier: MIT */
/* A module's plan together with the sweep and the padding that it was made from, for the prober,
 * which plans more in the same module. Private to src/hook. */
#pragma once
#include "hook/padding.h"
#include "hook/plan.h"

/* hook_plan() that keeps its material: *sweep and *padding are the caller's to free; padding->s is
 * sweep. 0, or -errno and *err: nothing is kept. */
int hook_plan_keeping(const struct sym_module *m, struct hook_plan **out, struct sweep *sweep,
		      struct padding *padding, struct err *err);
