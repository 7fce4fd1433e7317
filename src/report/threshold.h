/* SPDX-License-Identifier: MIT */
/* That short calls are not in a trace, said to whoever reads its figures. A trace without a threshold has nothing of this. */
#pragma once
#include "base/out.h"
#include "trace/trace_info.h"

/* A line behind "# ". cut: there are calls that were told at their ends alone, whatever the threshold is now. */
void threshold_print(const struct trace_info *info, bool cut, struct out *out);
/* ,"threshold_ns":N: 0: none */
void threshold_print_json(const struct trace_info *info, struct out *out);
