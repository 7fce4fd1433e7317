/* SPDX-License-Identifier: MIT */
/* The commands whose target is the kernel (-k, -K). Each returns the exit status. */
#pragma once
#include "ui/invocation.h"

int kernel_graph(struct invocation *inv);
int kernel_record(struct invocation *inv);
int kernel_list(struct invocation *inv);
int kernel_reset(struct invocation *inv);
/* Before the kernel is traced: removes what a brace that died has left, and says so. */
void kernel_remove_leftovers(void);
