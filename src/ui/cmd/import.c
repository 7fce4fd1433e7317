/* SPDX-License-Identifier: MIT */
/* brace import: another tool's trace as a trace file. main() calls it, on brace's only thread.
 * Fails on what is none, and on an output that cannot be written. */
#include <inttypes.h>
#include <stdlib.h>

#include "import/import.h"
#include "ui/commands.h"
#include "ui/run_helper.h"
#include "ui/say.h"
#include "ui/summary.h"

/* *text: what trace-cmd prints of a trace.dat, or perf of its perf.data: a file's own tool knows
 * all of its versions; free() it. NULL: the path is none. 0, or the exit status, when it is
 * said. */
static int read_binary(const char *path, char **text)
{
	const enum import_binary is = import_binary_of(path);

	*text = NULL;
	if (is == IMPORT_NO_BINARY)
		return 0;
	*text = is == IMPORT_TRACE_DAT
			? run_helper((const char *const[]){ "trace-cmd", "report", "-t", "-i", path,
							    NULL })
			: run_helper((const char *const[]){ "perf", "script", "-i", path, NULL });
	if (*text)
		return 0;
	say(is == IMPORT_TRACE_DAT
		    ? "brace: cannot import %s: trace-cmd, which reads a trace.dat, is not there (package trace-cmd) or refuses it\n"
		    : "brace: cannot import %s: perf, which reads its own file, is not there (package linux-perf) or refuses it: perf script -i FILE tells why\n",
	    path);
	return EXIT_BRACE;
}

/* A warning tells the records that were left out, also with -q: the trace has less than its
 * source. */
int cmd_import(struct invocation *inv)
{
	const char *output = inv->output ? inv->output : "imported.brace";
	struct import_result r;
	char calls[32], lost[32];
	struct err err;
	char *text;
	int failed = read_binary(inv->operands[0], &text);

	if (failed)
		return failed;
	failed = import_trace(inv->operands[0], text, output, &r, &err);
	free(text);
	if (failed)
		return say_error(&err);
	if (r.left_out)
		say_warning("%" PRIu64 " records of %s are left out: they are no calls", r.left_out,
			    r.tool);
	if (inv->quiet)
		return 0;
	say("brace: %s calls of %" PRIu64 " thread%s from %s, %s records lost\n",
	    summary_grouped(r.calls, calls), r.threads, r.threads == 1 ? "" : "s", r.tool,
	    r.lost ? summary_grouped(r.lost, lost) : "no");
	say("brace: trace in %s; brace report and brace replay read it\n", output);
	return 0;
}
