/* SPDX-License-Identifier: MIT */
/* The formats that are read: a function each. Private to src/import, and for fuzz/import.c. */
#pragma once
#include "import/build.h"
#include "import/lines.h"

/* Where a format's files come from, by name; "" is the file itself. They stay until the end. 0, or
 * -errno and *err. */
struct import_files {
	int (*get)(void *of, const char *name, struct import_text *out, struct err *err);
	void *of;
};

/* The functions below add the records of the files to *b, which stays the caller's. 0, or -errno
 * and *err; then *b is of use only for import_build_free(). */

/* uftrace's data directory: calls of functions. */
int import_uftrace(struct import_build *b, const struct import_files *files, struct err *err);
/* The text of trace-cmd report: a function graph. */
int import_graph_text(struct import_build *b, const struct import_files *files, struct err *err);
/* The text of babeltrace2 of a CTF trace: calls as LTTng-UST's cyg-profile has them. Opens binaries
 * that it names, for their functions. */
int import_ctf_text(struct import_build *b, const struct import_files *files, struct err *err);
/* The text of perf script: samples with their stacks. A sample is a stack of calls that lasts for
 * its period and ends when it was taken, or begins where the one before ends. */
int import_perf(struct import_build *b, const struct import_files *files, struct err *err);
