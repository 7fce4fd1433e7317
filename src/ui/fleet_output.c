/* SPDX-License-Identifier: MIT */
/* cmd/fleet.c and fleet_query.c call it, on brace's only thread. A failure is said when the pager
 * has ended. */
#include "ui/fleet_output.h"

#include "ui/fleet_option.h"
#include "ui/say.h"

static enum rows_form form_of(const struct invocation *inv)
{
	return inv->json ? ROWS_JSON : inv->csv ? ROWS_CSV : ROWS_TABLE;
}

void fleet_output_begin(struct fleet_output *o, const struct invocation *inv)
{
	const enum rows_form form = form_of(inv);

	screen_open(&o->screen, inv, form == ROWS_TABLE ? SCREEN_PAGED : SCREEN_PLAIN, NULL);
	if (form == ROWS_CSV)
		screen_binary(&o->screen);
	rows_init(&o->rows, form, &o->screen);
}

int fleet_output_end(struct fleet_output *o, int r, const struct fleet_answer *a,
		     const struct err *err)
{
	int status;

	rows_end(&o->rows);
	status = screen_close(&o->screen, 0);
	if (r)
		return say_error(err);
	return status ? status : fleet_option_missing(a);
}
