/* SPDX-License-Identifier: MIT */
/* brace record: run a program, write its trace to a file. */
#include <sys/wait.h>

#include "ui/commands.h"
#include "ui/say.h"
#include "ui/summary.h"
#include "ui/traced.h"
#include "ui/triggered.h"

#define LAST_CALLS 10

static unsigned last_calls(const struct invocation *inv)
{
	if (inv->last)
		return (unsigned)inv->last - 1;
	return inv->settings.mode == BUFFER_OVERWRITE ? LAST_CALLS : 0;
}

/* What is left of the records when all triggers have been run is the file. */
static int keep(struct triggered *t, void *arg, struct err *err)
{
	const struct invocation *inv = arg;
	const char *file = inv->output ? inv->output : "trace.brace";
	int e;

	live_wait(t->live);
	e = live_extract(t->live, file, err);
	if (!e && !inv->quiet)
		say("brace: %s written: brace report and brace replay read it\n", file);
	return e;
}

static int record_triggered(struct invocation *inv)
{
	int wait_status, status = triggered_run(inv, keep, inv, &wait_status);

	return status ? status : traced_exit(wait_status);
}

int cmd_record(struct invocation *inv)
{
	const char *file = inv->output ? inv->output : "trace.brace";
	struct session_result result = { 0 };
	struct attendant attendant;
	struct session *session;
	struct err err;
	int status, e;

	if (triggered_needed(inv))
		return record_triggered(inv);
	status = traced_start(inv, file, &session);
	if (status)
		return status;
	attendant_begin(&attendant, inv, session, NULL, NULL);
	e = session_record(session, &result, &err);
	attendant_end(&attendant);
	session_free(session);
	if (e)
		return say_error(&err);
	summary_full(&result);
	if (!inv->quiet) {
		summary_last(file, result.wait_status, last_calls(inv));
		summary_print(&result, file);
	}
	return traced_exit(result.wait_status);
}
