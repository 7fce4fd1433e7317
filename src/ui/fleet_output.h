/* SPDX-License-Identifier: MIT */
/* What brace fleet prints: rows of an answer in the form that the options choose, and behind them
 * what they lack. */
#pragma once
#include "fleet/answer.h"
#include "ui/rows.h"

struct fleet_output {
	struct screen screen;
	struct rows rows;     /* for rows_sink */
};

void fleet_output_begin(struct fleet_output *o, const struct invocation *inv);
/* r: how the asking went. Prints what waits, and says what failed or lacks. Returns the exit
 * status: 0; 1: not all servers answered; or EXIT_BRACE. */
int fleet_output_end(struct fleet_output *o, int r, const struct fleet_answer *a,
		     const struct err *err);
