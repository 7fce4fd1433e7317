/* SPDX-License-Identifier: MIT */
/* The output of brace fleet: rows of an answer in the form that the options choose, or a page of
 * them, and behind them what they lack. */
#pragma once
#include "export/html_rows.h"
#include "fleet/answer.h"
#include "ui/rows.h"
#include "ui/screen.h"

struct fleet_output {
	const struct invocation *inv;
	struct screen screen;
	struct html_rows page; /* of --html */
	struct rows rows;      /* for rows_sink */
};

/* 0, or EXIT_BRACE (said): nothing was begun. */
int fleet_output_begin(struct fleet_output *o, const struct invocation *inv);
/* r: how the asking went. Prints what waits, and says what failed or lacks. Returns the exit
 * status: 0; 1: not all servers answered; or EXIT_BRACE. */
int fleet_output_end(struct fleet_output *o, int r, const struct fleet_answer *a,
		     const struct err *err);
