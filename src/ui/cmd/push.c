/* SPDX-License-Identifier: MIT */
/* brace push: a trace file's calls, or those of a spool's files, into the database of a fleet.
 * main() calls it, on brace's only thread. Fails on a file that cannot be read and on a server that
 * is not there, or refuses; what was sent stays there, and the same command goes on from it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ui/commands.h"
#include "ui/fleet_option.h"
#include "ui/interrupt.h"
#include "ui/pushing.h"
#include "ui/say.h"
#include "ui/trace_file.h"

/* How long a server that is away is tried again, if --retry does not say. */
#define RETRY_NS UINT64_C(30000000000)

/* Tells how far a push came that did not end well. err->code is 0 after an interrupt, which is no
 * fault. A batch that is there is not sent again: the same command may simply be repeated. */
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

/* 1 if a batch is missing, so that a script can push again. */
static int say_verified(const struct fleet_push *p, const char *url)
{
	say("brace: run %016" PRIx64 ": %zu of %zu batches are at %s\n", p->run, p->there, p->batches,
	    url);
	return p->missing ? 1 : 0;
}

/* p is complete but for what the file decides. Returns the exit status. */
static int push_file(const struct invocation *inv, struct fleet_push *p)
{
	struct store_reader *reader;
	struct err err = { 0 };
	int r, status = trace_file_open(inv, &reader);

	if (status)
		return status;
	r = pushing_reader(inv, reader, p, &err);
	if (r)
		status = say_failure(p, r, &err);
	else if (p->verify)
		status = say_verified(p, p->servers->at.at[p->server].url);
	else if (!inv->quiet)
		pushing_say_done(p);
	/* Behind the result: a warning before it would be taken for the push's own failure. */
	if (!r)
		trace_file_warn_of_losses(store_info(reader));
	trace_file_close(reader);
	return status;
}

/* Refuses options whose values the notes in the spool have. 0, or EXIT_BRACE (said). */
static int check_spooled(const struct invocation *inv)
{
	const struct push_options *o = &inv->of_push;
	const bool other = inv->n_operands || o->calls || o->verify || o->no_command || o->trace ||
			   o->labels.n;

	if (!other && excerpt_spec_is_all(&inv->excerpt))
		return 0;
	say("brace: --spooled sends what record --push left, as it was to be pushed then: no FILE, part, label, --calls, --trace, --verify, --no-command\n");
	return EXIT_BRACE;
}

/* The file has all that the trace has. 0, or EXIT_BRACE (said). */
static int check_trace(const struct invocation *inv)
{
	if (!inv->of_push.trace)
		return 0;
	if (!excerpt_spec_is_all(&inv->excerpt))
		say("brace: --trace sends the whole file: leave the options of a part out\n");
	else if (inv->of_push.no_command)
		say("brace: --trace sends the file, which has the program's command line: leave --no-command out\n");
	else
		return 0;
	return EXIT_BRACE;
}

/* Entries for other servers are no failure: another --to sends them. */
static int say_spool(const struct invocation *inv, const struct pushing_spool *s, int r)
{
	if (r == -EINTR)
		say("brace: interrupted; the same command sends the rest, and nothing twice\n");
	if (!inv->quiet)
		say("brace: %zu trace file%s of %s pushed, %zu left (%" PRIu64 " bytes), %zu for other servers\n",
		    s->pushed, s->pushed == 1 ? "" : "s", s->path, s->left, s->bytes_left, s->foreign);
	return r || s->left ? EXIT_BRACE : 0;
}

/* Returns the exit status. */
static int push_spooled(const struct invocation *inv, struct fleet_push *p)
{
	/* Only a filter here: an entry whose note names other servers stays. fleet_option_servers()
	 * has read the same text. */
	const char *to = inv->of_push.to ? inv->of_push.to : getenv("BRACE_FLEET");
	char *path = check_spooled(inv) ? NULL : pushing_spool_path(inv);
	struct pushing_spool s = { .path = path, .to = to, .quiet = inv->quiet };
	struct err err;
	int status = EXIT_BRACE, r;

	if (!path)
		return status;
	s.fd = spool_open(path, &err);
	r = s.fd < 0 ? s.fd : pushing_spool(inv, &s, p, &err);
	if (r && r != -EINTR)
		say_error(&err);
	else
		status = say_spool(inv, &s, r);
	if (s.fd >= 0)
		close(s.fd);
	free(path);
	return status;
}

static int push_to(const struct invocation *inv, const struct fleet_servers *servers)
{
	char *labels = pushing_labels(inv);
	struct fleet_push p = {
		.servers = servers, .calls = inv->of_push.calls, .verify = inv->of_push.verify,
		.no_command = inv->of_push.no_command, .labels = labels,
		/* All servers have this one; cmd_push() has set it. */
		.stop = servers->at.at[0].stop,
		.retry_ns = inv->of_push.retries ? inv->of_push.retry_ns : RETRY_NS,
	};
	struct err err;
	int status;

	if (inv->of_push.create && fleet_create(servers, &err))
		status = say_error(&err);
	/* --create alone makes the tables, and pushes nothing. */
	else if (inv->of_push.create && !inv->n_operands && !inv->of_push.spooled)
		status = 0;
	else if (inv->of_push.spooled)
		status = push_spooled(inv, &p);
	else
		status = push_file(inv, &p);
	free(labels);
	return status;
}

int cmd_push(struct invocation *inv)
{
	struct fleet_servers servers = { 0 };
	/* Caught before a server is asked: from here on an interrupt ends the command between two
	 * batches, with a sentence of how far it came. */
	const struct stop *stop = interrupt_catch();
	int status = check_trace(inv);

	if (!status)
		status = fleet_option_servers(inv, "push", &servers);
	for (size_t i = 0; i < servers.at.n; i++)
		servers.at.at[i].stop = stop;
	if (!status)
		status = push_to(inv, &servers);
	fleet_servers_free(&servers);
	return status;
}
