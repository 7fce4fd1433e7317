/* SPDX-License-Identifier: MIT */
/* brace push: a trace file's calls into the database of a fleet. main() calls it, on brace's only
 * thread. Fails on a file that cannot be read and on a server that is not there, or refuses; what
 * was sent stays there, and the same command goes on from it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet/push.h"
#include "ui/commands.h"
#include "ui/fleet_option.h"
#include "ui/interrupt.h"
#include "ui/say.h"
#include "ui/trace_file.h"

#define RETRY_NS UINT64_C(30000000000)

/* --- the command line ----------------------------------------------------- */

/* Lines of KEY=VALUE; free() it. */
static char *join_labels(const struct invocation *inv)
{
	char *all = mem_strdup(""), *longer;

	for (size_t i = 0; i < inv->of_push.labels.n; i++) {
		longer = mem_printf("%s%s%s", all, i ? "\n" : "", inv->of_push.labels.at[i]);
		free(all);
		all = longer;
	}
	return all;
}

/* --- the work ----------------------------------------------------- */

struct pushed_file {
	const struct invocation *inv;
	struct store_reader *reader;
	struct source *part;
};

/* What became of a push that did not end well. */
static int say_failure(const struct fleet_push *p, int r, struct err *err)
{
	if (err->code)
		say_error(err);
	if (r == -EINTR)
		say("brace: interrupted\n");
	if (p->sent || p->there)
		say("brace: %zu batch%s of run %016" PRIx64
		    " are there; the same command sends the rest, and nothing twice\n",
		    p->sent + p->there, p->sent + p->there == 1 ? "" : "es", p->run);
	return EXIT_BRACE;
}

static int say_verified(const struct fleet_push *p, const char *url)
{
	say("brace: run %016" PRIx64 ": %zu of %zu batches are at %s\n", p->run, p->there, p->batches,
	    url);
	return p->missing ? 1 : 0;
}

static void say_done(const struct fleet_push *p, const char *url, const char *database)
{
	char rest[64] = "";

	if (p->there)
		snprintf(rest, sizeof(rest), " (%zu of %zu batches were there)", p->there, p->batches);
	say("brace: %" PRIu64 " calls pushed to %s/%s as run %016" PRIx64 ": %" PRIu64
	    " sums, %" PRIu64 " calls%s\n",
	    p->n_calls, url, database, p->run, p->minute_rows, p->call_rows, rest);
}

static int push_reader(struct pushed_file *o, struct fleet_push *p, struct err *err)
{
	int r = store_number(o->reader, &p->file, err);

	if (r)
		return r;
	p->part = o->inv->excerpt.number;
	p->source = trace_file_openings(o->inv, o->reader, &o->part, err);
	if (!p->source)
		return -err->code;
	r = fleet_push(p, err);
	p->source->ops->close(p->source);
	return r;
}

/* p is complete but for what the file decides. Returns the exit status. */
static int push_file(const struct invocation *inv, struct fleet_push *p)
{
	struct pushed_file o = { .inv = inv };
	struct err err = { 0 };
	int r, status = trace_file_open(inv, &o.reader);
	const char *url;

	if (status)
		return status;
	trace_file_leave_kernel_out(o.reader, "brace push");
	r = push_reader(&o, p, &err);
	url = p->servers->at.at[p->server].url;
	if (r)
		status = say_failure(p, r, &err);
	else if (p->verify)
		status = say_verified(p, url);
	else if (!inv->quiet)
		say_done(p, url, p->servers->database);
	if (!r)
		trace_file_warn_of_losses(store_info(o.reader));
	trace_file_close(o.reader);
	return status;
}

static int push_to(const struct invocation *inv, const struct fleet_servers *servers)
{
	char *labels = join_labels(inv);
	struct fleet_push p = {
		.servers = servers, .calls = inv->of_push.calls, .verify = inv->of_push.verify,
		.no_command = inv->of_push.no_command, .labels = labels,
		.stop = servers->at.at[0].stop,
		.retry_ns = inv->of_push.retries ? inv->of_push.retry_ns : RETRY_NS,
	};
	struct err err;
	int status;

	if (inv->of_push.create && fleet_create(servers, &err))
		status = say_error(&err);
	else if (inv->of_push.create && !inv->n_operands)
		status = 0;
	else
		status = push_file(inv, &p);
	free(labels);
	return status;
}

int cmd_push(struct invocation *inv)
{
	struct fleet_servers servers = { 0 };
	const volatile sig_atomic_t *stop = interrupt_catch();
	int status = fleet_option_servers(inv, "push", &servers);

	for (size_t i = 0; i < servers.at.n; i++)
		servers.at.at[i].stop = stop;
	if (!status)
		status = push_to(inv, &servers);
	fleet_servers_free(&servers);
	return status;
}
