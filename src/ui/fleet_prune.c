/* SPDX-License-Identifier: MIT */
/* cmd/fleet.c calls it, on brace's only thread. Fails without a limit, and on servers that are not
 * there, or whose user may not delete. */
#include "ui/fleet_prune.h"

#include <inttypes.h>
#include <time.h>

#include "fleet/prune.h"
#include "ui/fleet_option.h"
#include "ui/fleet_output.h"
#include "ui/interrupt.h"
#include "ui/say.h"

#define NS UINT64_C(1000000000)

/* 0, or EXIT_BRACE (said). */
static int read_spec(const struct invocation *inv, struct fleet_spec *w)
{
	const struct push_options *o = &inv->of_push;
	const uint64_t now = (uint64_t)time(NULL), older = o->older_ns / NS;

	*w = (struct fleet_spec){ .host = o->host, .label = o->labels.n ? o->labels.at[0] : NULL,
				  /* 1, not 0, which would mean all runs: a limit that lies before
				   * 1970 finds none. */
				  .before = older < now ? now - older : 1 };
	if (!o->older_ns)
		say("brace: fleet prune deletes runs, and wants a limit: --older 30d; -n tells which would go\n");
	else if (older == 0)
		say("brace: --older is at least a second\n");
	else if (o->since_ns)
		say("brace: fleet prune takes --older TIME, not --since\n");
	else if (o->labels.n > 1)
		say("brace: fleet prune takes one --label: the runs that have it go\n");
	else
		return 0;
	return EXIT_BRACE;
}

/* -n: the runs that would go. The very choice of runs that would be deleted, asked as the question
 * `runs`. */
static int show(const struct invocation *inv, const struct fleet_servers *servers,
		const struct fleet_spec *w)
{
	struct fleet_answer a = { 0 };
	struct fleet_output o;
	struct err err;
	int r, status = fleet_output_begin(&o, inv);

	if (status)
		return status;
	r = fleet_question_ask(fleet_question_find("runs"), servers, w, inv->limit, &rows_sink,
			       &o.rows, &a, &err);
	status = fleet_output_end(&o, r, &a, &err);
	if (status != EXIT_BRACE)
		say("brace: %" PRIu64 " run%s would go\n", a.rows, a.rows == 1 ? "" : "s");
	return status;
}

static int prune(const struct fleet_servers *servers, const struct fleet_spec *w)
{
	struct fleet_prune p = { .servers = servers, .runs = w, .stop = interrupt_catch() };
	struct fleet_answer a;
	struct err err;
	const int r = fleet_prune(&p, &a, &err);

	/* Runs that are gone are told of after a failure, too: they do not come back. */
	if (!r || p.gone)
		say("brace: %" PRIu64 " run%s gone\n", p.gone, p.gone == 1 ? " is" : "s are");
	return r ? say_error(&err) : fleet_option_missing(&a);
}

int fleet_prune_runs(const struct invocation *inv)
{
	struct fleet_servers servers = { 0 };
	struct fleet_spec spec;
	int status = read_spec(inv, &spec);

	if (!status)
		status = fleet_option_servers(inv, "fleet", &servers);
	if (!status && inv->of_push.dry_run)
		status = show(inv, &servers, &spec);
	else if (!status)
		status = prune(&servers, &spec);
	fleet_servers_free(&servers);
	return status;
}
