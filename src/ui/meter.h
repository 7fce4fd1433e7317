/* SPDX-License-Identifier: MIT */
/* Shows how far the reading of a trace file is: a line on standard error from the second second on,
 * with the time that is left, where standard error is a terminal that can clear a line. At most one
 * at a time; the main thread begins and ends it. */
#pragma once
#include "store/store.h"

/* Begins to show how much of r is read, which outlives the meter. Call it behind interrupt_catch()
 * if the command has that: otherwise an interrupt clears the line and ends brace. */
void meter_begin(const struct store_reader *r, const char *path);
/* Ends it, and clears the line. Without a meter nothing. */
void meter_end(void);
/* Clears the line for other words, behind which it comes again. From any thread. */
void meter_make_room(void);
