/* SPDX-License-Identifier: MIT */
/* brace hist -K: a histogram that the kernel counts itself, by a hist trigger on one of its events,
 * or on a probe that is made at a function for it. */
#pragma once
#include "ui/invocation.h"

/* The exit status (said): the program's, if there is one. */
int kernel_hist(struct invocation *inv);
