/* SPDX-License-Identifier: MIT */
/* What recovered records mean, from the processes that made them: modules, functions and call sites, as far as
 * the file of the dead tracer does not tell. Everything read from a process is untrusted. */
#pragma once
#include "collect/shared_memory.h"
#include "trace/trace_info.h"

#define NAMES_IMAGES_MOST 4096u /* programs in one session; a spoiled memory may claim more */

/* A trace_info for a session memory without a file, as `pid` knows it: machine, command, clock, and the modules
 * that the tracer noted in the image memory. */
struct trace_info *names_of_process(pid_t pid, const struct shared_memory *memory);

/* Adds the call sites of each image of which a process lives. */
void names_add_sites(struct trace_info *info, const struct shared_memory *memory);
