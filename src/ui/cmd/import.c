/* SPDX-License-Identifier: MIT */
/* brace import: another tool's trace as a trace file. main() calls it, on brace's only thread.
 * Fails on what is none, and on an output that cannot be written. */
#include <inttypes.h>

#include "import/import.h"
#include "ui/commands.h"
#include "ui/say.h"
#include "ui/summary.h"

int cmd_import(struct invocation *inv)
{
	const char *output = inv->output ? inv->output : "imported.brace";
	struct import_result r;
	char calls[32], lost[32];
	struct err err;

	if (import_trace(inv->operands[0], output, &r, &err))
		return say_error(&err);
	if (r.left_out)
		say_warning("%" PRIu64 " records of %s are left out: they are no calls", r.left_out,
			    r.tool);
	if (inv->quiet)
		return 0;
	say("brace: %s calls of %" PRIu64 " threads from %s, %s records lost\n",
	    summary_grouped(r.calls, calls), r.threads, r.tool,
	    r.lost ? summary_grouped(r.lost, lost) : "no");
	say("brace: trace in %s; brace report and brace replay read it\n", output);
	return 0;
}
