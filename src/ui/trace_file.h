/* SPDX-License-Identifier: MIT */
/* A trace file as replay, report and info take one. */
#pragma once
#include "store/store.h"
#include "ui/invocation.h"

/* Opens the command's first operand, or trace.brace. Says what is wrong with it, and warns of
 * one that was cut short. 0 or EXIT_BRACE. */
int trace_file_open(const struct invocation *inv, struct store_reader **out);
