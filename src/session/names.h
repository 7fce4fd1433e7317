/* SPDX-License-Identifier: MIT */
/* The meaning of recovered records, from the processes that made them: modules, functions and call
 * sites, where the dead tracer's file does not tell. Everything read from a process is
 * untrusted. */
#pragma once
#include <sys/stat.h>

#include "collect/shared_memory.h"
#include "trace/trace_info.h"

#define NAMES_IMAGES_MOST 4096u /* programs in one session; a spoiled memory may claim more */

/* Makes a trace_info for a session memory without a file, with what `pid` tells: machine, command,
 * clock, and the modules that the tracer noted in the image memory. The caller frees it. */
struct trace_info *names_of_process(pid_t pid, const struct shared_memory *memory);

/* Adds the call sites of each image that has a living process. ring: the file that such a process
 * maps (a number may be another process's by now); NULL: all are asked. */
void names_add_sites(struct trace_info *info, const struct shared_memory *memory,
		     const struct stat *ring);
