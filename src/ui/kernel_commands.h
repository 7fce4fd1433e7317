/* SPDX-License-Identifier: MIT */
/* What the commands do with -k and -K: the kernel is their target. Each returns the exit status. */
#pragma once
#include "ui/invocation.h"

int kernel_graph(struct invocation *inv);
int kernel_record(struct invocation *inv);
int kernel_list(struct invocation *inv);
int kernel_reset(struct invocation *inv);
