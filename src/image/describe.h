/* SPDX-License-Identifier: MIT */
/* What a trace says of itself: the machine, the command, who wrote it. */
#pragma once
#include "model/settings.h"
#include "trace/trace_info.h"

/* All but the clock; takes cmdline over. trace_info_free() it. */
struct trace_info *describe(char *cmdline, const char *tracer, uint64_t thresh_ns);
/* The settings, each file's text, in place of those that info has. */
void describe_settings(struct trace_info *info, const struct settings *s);
/* Of a process: its arguments, separated by blanks; its executable. "" if the process is not there. free() them. */
char *describe_cmdline(int pid);
char *describe_exe(int pid);
/* As /proc says, or 0. */
int describe_oom_score_adj(int pid);
