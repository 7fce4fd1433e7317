/* SPDX-License-Identifier: MIT */
/* Arguments and values of calls as text. The prototype and the record may be anybody's. */
#pragma once
#include "base/out.h"
#include "trace/calls.h"

/* Returns "(cents=4, name=\"x1\")" for a call with EVENT_ARGUMENTS, which the caller frees. NULL:
 * what its function takes is not known, or the record does not fit. */
char *arguments_text(const struct trace_info *info, const struct event *e);

/* Returns "(...)" for a call whose arguments are not at hand, though its function has some: they
 * were lost, or their types cannot be recorded. NULL: it has none, or nothing is known of it. */
const char *arguments_unknown(const struct trace_info *info, uint32_t thread, uint32_t fn);

/* How a returned value is shown: not at all, because the function returns none or it is not asked
 * for; a text by the function's type, to be freed; or it is left to the caller. */
enum arguments_value { ARGUMENTS_VALUE_HIDDEN, ARGUMENTS_VALUE_TEXT, ARGUMENTS_VALUE_PLAIN };
enum arguments_value arguments_value(const struct trace_info *info, uint32_t image, uint32_t fn,
				     struct call_value value, char **text);
