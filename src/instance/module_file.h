/* SPDX-License-Identifier: MIT */
/* Opens the file of a module of the session's programs, after its process has gone, too. */
#pragma once
#include <sys/types.h>

#include "trace/trace_info.h"

/* Opens the very file that the process maps. If the process is gone, its path is opened. Neither
 * is, if it is another build than the module's. Of the module only path, start and build-id are
 * read. Returns a descriptor, which the caller closes; or -errno. */
int module_file_open(pid_t pid, const struct trace_module *m);
