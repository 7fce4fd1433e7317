/* brace record: run a program, write its trace to a file. */
#include <sys/wait.h>

#include "ui/commands.h"
#include "ui/say.h"
#include "ui/summary.h"
#include "ui/traced.h"

#define LAST_CALLS 10

static unsigned last_calls(const struct invocation *inv)
{
	if (inv->last)
		return (unsigned)inv->last - 1;
	return inv->settings.mode == BUFFER_OVERWRITE ? LAST_CALLS : 0;
}

int cmd_record(struct invocation *inv)
{
	const char *file = inv->output ? inv->output : "trace.brace";
	struct session_result result = { 0 };
	struct attendant attendant;
	struct session *session;
	struct err err;
	int status = traced_start(inv, file, &session), e;

	if (status)
		return status;
	attendant_begin(&attendant, inv, session, NULL, NULL);
	e = session_record(session, &result, &err);
	attendant_end(&attendant);
	session_free(session);
	if (e)
		return say_error(&err);
	if (!inv->quiet) {
		summary_last(file, result.wait_status, last_calls(inv));
		summary_print(&result, file);
	}
	return traced_exit(result.wait_status);
}
