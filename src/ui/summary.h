/* The closing summary on standard error. */
#pragma once
#include "session/session.h"

/* `trace_file` NULL: none was written. */
void summary_print(const struct session_result *r, const char *trace_file);
