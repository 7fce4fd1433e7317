/* SPDX-License-Identifier: MIT */
/* The main thread reads the stream, the monitor's thread looks (run.h). A session that cannot be
 * started is said, and the command has nothing to print. */
#include "ui/stream_run.h"

#include "ui/say.h"
#include "ui/screen.h"
#include "ui/summary.h"

/* The status, when the session is over. */
static int tell_end(struct session *session, int status)
{
	struct session_result result = { 0 };

	session_result(session, &result);
	session_free(session);
	summary_messages(&result);
	/* The answer is right, but a process could not be left as it was before. */
	if (summary_stuck(&result) && !status)
		status = EXIT_BRACE;
	return status ? status : run_exit(result.wait_status);
}

int stream_run(struct invocation *inv, const struct stream_use *use, void *arg)
{
	struct run_monitor monitor;
	struct session *session;
	struct source *source;
	struct err err;
	int status = run_start(inv, NULL, use->beside, &session), r;

	if (status)
		return status;
	source = session_source(session);
	if (use->begin)
		use->begin(arg, source, &monitor);
	run_monitor_begin(&monitor, inv, session, use->look, arg);
	r = use->take(arg, source, &err);
	run_monitor_end(&monitor);
	status = use->end(arg, r < 0 ? &err : NULL);
	screen_file_drop(inv); /* of an error before there was anything to print */
	source->ops->close(source);
	return tell_end(session, status);
}
