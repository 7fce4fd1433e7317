/* SPDX-License-Identifier: MIT */
/* The sentence about tracing_thresh that every table of durations begins with. The threshold may
 * have been changed while the program ran, so that `cut` counts as well as the last value. Printers
 * call it with their own struct out, on its thread; no state, and nothing fails. */
#include "report/threshold.h"

#include <inttypes.h>

#define WHAT_IT_MEANS "were not recorded (tracing_thresh): counts and times are of the others, self time is not known\n"

void threshold_print(const struct trace_info *info, bool cut, struct out *o)
{
	if (info->thresh_ns)
		out_printf(o, "# calls shorter than %.12g us " WHAT_IT_MEANS,
			   (double)info->thresh_ns / 1000);
	else if (cut)
		out_str(o, "# short calls " WHAT_IT_MEANS);
}

void threshold_print_json(const struct trace_info *info, struct out *o)
{
	out_printf(o, ",\"threshold_ns\":%" PRIu64, info->thresh_ns);
}
