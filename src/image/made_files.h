/* SPDX-License-Identifier: MIT */
/* The files by which programs (translators, JITs) tell profilers of the code that they make:
 * sym/made_code.h reads them. On any thread. */
#pragma once
#include <sys/types.h>

#include "collect/processes.h"

/* Opens /tmp/perf-PID.map of the process. Returns a descriptor that the caller closes, or -1: there
 * is none that can be the program's. */
int made_files_open_map(pid_t pid, const struct process_info *about);
/* Opens the process's jitdump, which a program maps as code for profilers to find it. Returns a
 * descriptor that the caller closes, or -1: there is none that can be the program's. */
int made_files_open_dump(pid_t pid, const struct process_info *about);
