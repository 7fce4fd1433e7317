/* SPDX-License-Identifier: MIT */
/* cmd/push.c and record_push.c call it, on brace's only thread, or when a recording's other
 * threads have ended. Fails on a trace that cannot be read, and on servers that are away, or
 * refuse; a trace in a spool stays there then. */
#include "ui/pushing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/say.h"
#include "ui/trace_file.h"

/* A label a line: the form in which a spool's note and the database keep them. */
char *pushing_labels(const struct invocation *inv)
{
	char *all = mem_strdup(""), *longer;

	for (size_t i = 0; i < inv->of_push.labels.n; i++) {
		longer = mem_printf("%s%s%s", all, i ? "\n" : "", inv->of_push.labels.at[i]);
		free(all);
		all = longer;
	}
	return all;
}

/* The file's own number makes the run's: a trace that is pushed a second time is the same run, and
 * its batches are found to be there. */
int pushing_reader(const struct invocation *inv, struct store_reader *reader, struct fleet_push *p,
		   struct err *err)
{
	struct source *part;
	int r = store_number(reader, &p->file, err);

	if (r)
		return r;
	trace_file_leave_kernel_out(reader, "brace push");
	p->part = inv->excerpt.number;
	p->whole = inv->of_push.trace ? reader : NULL;
	p->source = trace_file_openings(inv, reader, &part, err);
	if (!p->source)
		return -err->code;
	r = fleet_push(p, err);
	p->source->ops->close(p->source);
	return r;
}

void pushing_say_done(const struct fleet_push *p)
{
	char rest[64] = "";

	if (p->there)
		snprintf(rest, sizeof(rest), " (%zu of %zu batches were there)", p->there, p->batches);
	say("brace: %" PRIu64 " calls pushed to %s/%s as run %016" PRIx64 ": %" PRIu64
	    " sums, %" PRIu64 " calls%s%s\n",
	    p->n_calls, p->servers->at.at[p->server].url, p->servers->database, p->run,
	    p->minute_rows, p->call_rows, p->whole ? ", and the file" : "", rest);
}

/* --- a spool ----------------------------------------------------- */

char *pushing_spool_path(const struct invocation *inv)
{
	char *path = inv->of_push.spool ? mem_strdup(inv->of_push.spool) : spool_usual();

	if (!path)
		say("brace: there is no place for a spool, since HOME is not set: --spool DIR names one\n");
	return path;
}

/* A push of the entry, as its note says. The reader of one entry is closed before the next one is
 * opened, however many wait; counts of the one before are set back, since *p serves all. */
static int push_entry(const struct invocation *inv, const struct spool_entry *e,
		      struct fleet_push *p, struct err *err)
{
	struct store_reader *reader;
	int r = store_open(e->path, &reader, err);

	if (r)
		return r;
	p->labels = e->note.labels;
	p->calls = e->note.calls;
	p->no_command = e->note.no_command;
	p->n_calls = p->lost = p->minute_rows = p->call_rows = 0;
	r = pushing_reader(inv, reader, p, err);
	store_close(reader);
	return r;
}

static void count_pushed(struct pushing_spool *s, const struct fleet_push *p)
{
	s->pushed++;
	s->calls += p->n_calls;
	if (!s->quiet)
		pushing_say_done(p);
}

/* The rest of the spool is pushed all the same: one damaged trace does not hold up the others. */
static void say_left(const struct pushing_spool *s, const char *name, struct err *err)
{
	err_prefix(err, "%s/%s.brace is not pushed", s->path, name);
	say_error(err);
}

/* 0, or -EINTR. A server that is away is told of once, not for each entry. */
static int empty_entry(const struct invocation *inv, struct pushing_spool *s, const char *name,
		       struct fleet_push *p)
{
	const uint64_t away = p->away;
	struct err err = { 0 };
	struct spool_entry e;
	uint64_t bytes;
	bool is_ours;
	int r = spool_take(s->fd, s->path, name, &e, p->stop, &err);

	if (!r)
		return 0;
	is_ours = r < 0 || !strcmp(e.note.to, s->to);
	s->foreign += !is_ours;
	if (r == 1 && is_ours)
		r = push_entry(inv, &e, p, &err);
	if (is_ours && !r)
		count_pushed(s, p);
	else if (is_ours && r != -EINTR && (r != -ETIMEDOUT || p->away != away))
		say_left(s, name, &err);
	spool_leave(s->fd, &e, is_ours && !r);
	if (is_ours && r && spool_has(s->fd, name, &bytes)) {
		s->left++;
		s->bytes_left += bytes;
	}
	return r == -EINTR ? r : 0;
}

/* The list is made first: entries that come meanwhile are the next push's. */
int pushing_spool(const struct invocation *inv, struct pushing_spool *s, struct fleet_push *p,
		  struct err *err)
{
	spool_names names = { 0 };
	int r = spool_list(s->fd, &names, err);

	for (size_t i = 0; !r && i < names.n; i++)
		r = empty_entry(inv, s, names.at[i], p);
	spool_names_free(&names);
	return r;
}
