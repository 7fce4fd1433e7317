/* SPDX-License-Identifier: MIT */
/* Words that users bring along from perf, strace, uftrace, trace-cmd and bpftrace, and what brace
 * has in their place. */
#pragma once

/* The rest of a sentence that tells what to do instead, if another tool has a command of this name,
 * or if it is a program's path or an option; else NULL. */
const char *others_command(const char *word);
/* Works like others_command for an option, as it was written ("-F", "--task"), of one of brace's
 * commands. */
const char *others_option(const char *command, const char *option);
