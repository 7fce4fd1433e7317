/* SPDX-License-Identifier: MIT */
/* cmd/fleet.c calls it, on brace's only thread. Fails on a statement that servers do not
 * understand, or that would change something, and on servers that are not there. */
#include "ui/fleet_query.h"

#include "fleet/statement.h"
#include "ui/fleet_option.h"
#include "ui/fleet_output.h"
#include "ui/say.h"

/* 0, or EXIT_BRACE (said). */
static int check_options(const struct invocation *inv)
{
	const struct push_options *o = &inv->of_push;

	if (inv->n_operands != 2)
		say("brace: fleet query wants one statement: brace fleet query 'SELECT name, calls FROM named_minutes'\n");
	else if (o->labels.n || o->host || o->since_ns)
		say("brace: fleet query takes no --since, --host and --label: a statement chooses by WHERE (columns minute, host, labels)\n");
	else if (o->then && inv->limit)
		say("brace: with --then a statement says how many rows there are (LIMIT): leave --limit out\n");
	else
		return 0;
	return EXIT_BRACE;
}

/* Sums by server look like sums of all. */
static void say_by_server(const struct fleet_statement *t, const struct fleet_answer *a)
{
	if (!t->then && a->answered > 1 && a->rows)
		say("brace: each of %zu servers answered of its own runs; --then 'SELECT ... FROM answer' adds up what they answer\n",
		    a->answered);
}

static int ask(const struct invocation *inv, const struct fleet_servers *servers)
{
	const struct fleet_statement t = { inv->operands[1], inv->of_push.then, inv->limit };
	struct fleet_answer a = { 0 };
	struct fleet_output o;
	struct err err;
	int r, status = fleet_output_begin(&o, inv);

	if (status)
		return status;
	r = fleet_statement_ask(&t, servers, &rows_sink, &o.rows, &a, &err);
	status = fleet_output_end(&o, r, &a, &err);
	if (status != EXIT_BRACE)
		say_by_server(&t, &a);
	return status;
}

int fleet_query(const struct invocation *inv)
{
	struct fleet_servers servers = { 0 };
	int status = check_options(inv);

	if (!status)
		status = fleet_option_servers(inv, "fleet", &servers);
	if (!status)
		status = ask(inv, &servers);
	fleet_servers_free(&servers);
	return status;
}
