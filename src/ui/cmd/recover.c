/* SPDX-License-Identifier: MIT */
/* brace recover: makes a whole trace file of what a dead tracer left: a file that was cut, or the
 * memory of a process that goes on. main() calls it, on brace's only thread. Fails if neither can
 * be read, or the new file cannot be written. */
#include <inttypes.h>

#include "session/recover.h"
#include "ui/commands.h"
#include "ui/say.h"
#include "ui/summary.h"

/* "brace: N records from FILE, M records from the memory of process PID; ...": each part only if it
 * was asked for. */
static void print_result(const struct recover_request *req, const struct recover_result *r)
{
	char n[32], lost[32], bytes[32];

	if (req->file)
		say("brace: %s records from %s", summary_grouped(r->from_file, n), req->file);
	if (req->file && r->cut_bytes)
		say(" (%s bytes at its end cannot be read)", summary_grouped(r->cut_bytes, n));
	if (req->pid)
		say("%s%s records from the memory of process %d", req->file ? ", " : "brace: ",
		    summary_grouped(r->from_memory, n), (int)req->pid);
	if (req->ring)
		say(", %s from %s%s", summary_grouped(r->from_memory, n), req->ring,
		    r->other_boot ? ", of before the machine was started anew (what the kernel had not yet written is missing, and not all of it is counted)"
				  : "");
	say("; %s lost", r->lost ? summary_grouped(r->lost, lost) : "none known to be");
	if (r->unwritten)
		say(", of them %s that the tracer had not written yet",
		    summary_grouped(r->unwritten, n));
	if (r->holes)
		say("\nbrace: somebody took %s bytes out of %s: what had been there is lost, and not all of it is counted",
		    summary_grouped(r->holes, n), req->ring);
	if (r->ring[0])
		say("\nbrace: the trace had a ring: if %s is there still, --ring has the records that were not written",
		    r->ring);
	say("\nbrace: %s calls, %s bytes; trace in %s\n", summary_grouped(r->calls, n),
	    summary_grouped(r->bytes, bytes), req->output);
}

/* The traced process may be gone, or still run behind a brace that was killed: its buffers are
 * read from the file or from its memory. */
int cmd_recover(struct invocation *inv)
{
	const struct recover_request req = {
		.file = inv->n_operands ? inv->operands[0] : NULL,
		.pid = (pid_t)inv->pid,
		.ring = inv->ring,
		.output = inv->output ? inv->output : "recovered.brace",
	};
	struct recover_result result;
	struct err err;

	/* Either is enough. */
	if (!req.file && !req.pid && !req.ring) {
		say("brace: recover needs a FILE, or a process with -p; `brace recover --help` says more\n");
		return EXIT_BRACE;
	}
	if (req.pid && req.ring) {
		say("brace: -p and --ring are the same records: give one of them\n");
		return EXIT_BRACE;
	}
	if (session_recover(&req, &result, &err))
		return say_error(&err);
	print_result(&req, &result);
	return 0;
}
