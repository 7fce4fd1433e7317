/* SPDX-License-Identifier: MIT */
/* Tells readers of a trace's figures that short calls are missing. A trace without a threshold
 * prints nothing here. */
#pragma once
#include "base/out.h"
#include "trace/trace_info.h"

/* Prints a line behind "# ". cut: some calls were recorded at their ends only, whatever the
 * threshold is now. */
void threshold_print(const struct trace_info *info, bool cut, struct out *out);
/* Prints ,"threshold_ns":N with 0 for none. */
void threshold_print_json(const struct trace_info *info, struct out *out);
