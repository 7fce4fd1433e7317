/* brace record: run a program, write its trace to a file. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "live/live.h"
#include "ui/background.h"
#include "ui/commands.h"
#include "ui/event_writes.h"
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

/* --- with triggers ------------------------------------------------------------------ */

/* Each CPU's share of what is kept until the end, if -b does not say. */
#define KEPT_KB "1048576"

static int refuse_snapshots(const struct invocation *inv, struct err *err)
{
	for (size_t i = 0; i < inv->writes.n; i++)
		if (!inv->writes.at[i].file && !strncmp(inv->writes.at[i].text, "snapshot", 8))
			return err_at(err, EINVAL, inv->writes.at[i].text, 0,
				      "a trace file has no snapshot; brace start has one, for brace show snapshot");
	return 0;
}

static int set_up(const struct invocation *inv, struct tree *tree, struct err *err)
{
	int e = refuse_snapshots(inv, err);

	if (!e)
		e = tree_echo(tree, "current_tracer", settings_tracer(&inv->settings), false, err);
	if (!e)
		e = tree_echo(tree, "buffer_size_kb", KEPT_KB, false, err);
	if (!e)
		e = background_settings(inv, tree, err);
	if (!e && !inv->pids.n)
		e = background_know_program(inv, tree, err);
	return e || inv->pids.n ? e : background_events(inv, tree, err);
}

static int keep(const struct invocation *inv, struct live *live, const char *file, int *wait_status, struct err *err)
{
	struct session_result result;
	struct attendant attendant;
	int e;

	attendant_begin(&attendant, inv, live_session(live), NULL, NULL);
	live_wait(live);
	attendant_end(&attendant);
	e = live_extract(live, file, err);
	session_result(live_session(live), &result);
	*wait_status = result.wait_status;
	return e;
}

/* What triggers do is known only of what is looked at in order: a session behind a tree of its own does that, and what it has
 * kept at the end is the file. */
static int record_triggered(struct invocation *inv, const char *file)
{
	const struct live_request req = { .argv = inv->pids.n ? NULL : inv->operands, .pids = inv->pids.at,
					  .n_pids = inv->pids.n };
	struct tree *tree;
	struct live *live = NULL;
	struct err err;
	int wait_status = 0, status = traced_check(inv), e;

	if (status)
		return status;
	tree = instance_tree_new();
	e = set_up(inv, tree, &err);
	if (!e)
		e = live_start(&req, tree, &live, &err);
	if (!e && inv->pids.n)
		e = background_events(inv, tree, &err);
	if (!e)
		e = keep(inv, live, file, &wait_status, &err);
	live_stop(live);
	instance_tree_free(tree);
	if (e)
		return say_error(&err);
	if (!inv->quiet)
		say("brace: %s written: brace report and brace replay read it\n", file);
	return traced_exit(wait_status);
}

int cmd_record(struct invocation *inv)
{
	const char *file = inv->output ? inv->output : "trace.brace";
	struct session_result result = { 0 };
	struct attendant attendant;
	struct session *session;
	struct err err;
	int status, e;

	if (event_writes_trigger(inv))
		return record_triggered(inv, file);
	status = traced_start(inv, file, &session);
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
