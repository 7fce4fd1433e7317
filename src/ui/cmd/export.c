/* SPDX-License-Identifier: MIT */
/* brace export: a trace file in another tool's format. main() calls it, on brace's only thread. The
 * result is whole or not there: a failure, an interrupt and a full disk leave nothing behind. Fails
 * on an unknown format, a file that cannot be read, and an output that cannot be written. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "export/exporter.h"
#include "query/query.h"
#include "ui/commands.h"
#include "ui/interrupt.h"
#include "ui/screen.h"
#include "ui/say.h"
#include "ui/trace_file.h"
#include "ui/word_list.h"

/* --- the command line -------------------------------------------------------------------- */

/* --list. */
static int list_formats(const struct invocation *inv)
{
	struct screen o;

	screen_open(&o, inv, SCREEN_PLAIN, NULL);
	for (size_t i = 0; exporters[i]; i++)
		out_printf(&o.text, "%-12s %s\n", exporters[i]->name, exporters[i]->summary);
	return screen_close(&o, 0);
}

/* The rest of a line: all names. */
static void say_formats(void)
{
	for (size_t i = 0; exporters[i]; i++)
		say("%s %s", i ? "," : "", exporters[i]->name);
	say("\n");
}

/* NULL: said. */
static const struct exporter *find_format(const struct invocation *inv)
{
	const struct exporter *e =
		inv->of_export.format ? exporter_find(inv->of_export.format) : NULL;
	struct nearest near = { inv->of_export.format, NULL, 0 };
	char cut[SAY_WORD];

	if (e)
		return e;
	if (!inv->of_export.format) {
		say("brace: export needs a format (--to FORMAT):");
		say_formats();
		return NULL;
	}
	for (size_t i = 0; exporters[i]; i++)
		nearest_offer(&near, exporters[i]->name);
	if (near.best) {
		say("brace: no format %s; did you mean %s?\n",
		    say_word(inv->of_export.format, cut), near.best);
	} else {
		say("brace: no format %s; there are", say_word(inv->of_export.format, cut));
		say_formats();
	}
	return NULL;
}

/* EXPORT_WEIGHTS: said. */
static enum export_weight find_weight(const struct invocation *inv, const struct exporter *e)
{
	static const struct word_list list = { "weight", "", export_weight_words, EXPORT_WEIGHTS };

	/* Self time, as a flame graph's width: each frame then contains those above it. */
	if (!inv->of_export.weight)
		return WEIGHT_SELF;
	if (!e->weighs) {
		say("brace: --weight is of folded and flamegraph; %s has all times and counts\n",
		    e->name);
		return EXPORT_WEIGHTS;
	}
	return word_list_find(&list, inv->of_export.weight);
}

/* Bytes on a terminal help nobody, and a directory cannot be standard output. */
static int check_output(const struct invocation *inv, const struct exporter *e)
{
	if (inv->output)
		return 0;
	if (e->directory) {
		say("brace: %s is a directory of files: name it with -o\n", e->name);
		return EXIT_BRACE;
	}
	if (e->database) {
		say("brace: %s is a database: name its file with -o\n", e->name);
		return EXIT_BRACE;
	}
	if (e->binary && isatty(STDOUT_FILENO)) {
		say("brace: %s is not text: name a file with -o, or send it into a pipe\n", e->name);
		return EXIT_BRACE;
	}
	return 0;
}

/* --- what is left out --------------------------------------------------------------------- */

/* Appends "N WORDS" to a list. Takes *list, which is for free(), and puts the longer one in its
 * place; 0 of a kind is not told. */
static void add_to(char **list, uint64_t n, const char *one, const char *more)
{
	char *longer;

	if (!n)
		return;
	longer = mem_printf("%s%s%" PRIu64 " %s", *list, **list ? ", " : "", n,
			    n == 1 ? one : more);
	free(*list);
	*list = longer;
}

/* Says once what the trace has and the format has no place for. job->counts has what the walk met
 * in this trace: a format that has no place for events says nothing where there were none. */
static void tell_left_out(const struct exporter *e, const struct walk_counts *c)
{
	char *list = mem_strdup("");

	if (!(e->holds & HOLDS_EVENTS))
		add_to(&list, c->events, "event", "events");
	if (!(e->holds & HOLDS_LOSSES))
		add_to(&list, c->losses, "mark of lost records", "marks of lost records");
	if (!(e->holds & HOLDS_ARGUMENTS))
		add_to(&list, c->arguments, "call's arguments", "calls' arguments");
	/* The counts of texts and long values are those that the format's own writer could not
	 * place: no flag of `holds` tells of them. */
	add_to(&list, c->texts, "argument that is a text", "arguments that are texts");
	if (!(e->holds & HOLDS_VALUES))
		add_to(&list, c->values, "returned value", "returned values");
	add_to(&list, c->long_values, "returned value that is a text or a structure",
	       "returned values that are texts or structures");
	if (!(e->holds & HOLDS_ENDS))
		add_to(&list, c->unfinished + c->cut + c->unwound, "mark of a call that did not return",
		       "marks of calls that did not return");
	if (*list)
		say("brace: %s has no place for some of the trace, which is left out: %s\n", e->name,
		    list);
	free(list);
}

/* Warns of limits of the result, none of which is a failure. On standard error, and only after all
 * was written: the output may be a pipe. */
static void tell_result(const struct exporter *e, const struct export_job *job)
{
	const struct trace_info *info = job->source->info;

	tell_left_out(e, &job->counts);
	if (job->folded)
		say_warning("%" PRIu64
			    " calls were added to their callers, or left out: their stacks are too deep, or there are too many",
			    job->folded);
	if (info->thresh_ns)
		say_warning("calls shorter than %" PRIu64
			    " ns were not recorded: their time counts as their callers'",
			    info->thresh_ns);
	trace_file_warn_of_losses(info);
}

/* --- the work ------------------------------------------------------------------------------ */

/* Says what failed, but for the writes of the output, which screen_close() tells. */
static int run_job(const struct exporter *e, struct export_job *job)
{
	struct err err = { 0 };
	int r = e->write(job, &err);

	/* A part that has nothing is an error, which says why. Only the whole walk tells that. */
	if (!r)
		r = excerpt_source_is_empty(job->part, &err);
	if (!r)
		tell_result(e, job);
	if (r && err.code)
		return say_error(&err);
	/* A reader that went away has seen enough. */
	return r && r != -EPIPE ? EXIT_BRACE : 0;
}

/* The format's bytes go to -o, or to standard output. screen_close() gets the status, by which the
 * file gets its name or goes. */
static int write_file(const struct invocation *inv, const struct exporter *e,
		      struct export_job *job)
{
	struct screen o;
	int status = screen_open_whole(&o, inv);

	if (status)
		return status;
	if (e->binary)
		screen_binary(&o);
	job->out = &o.text;
	return screen_close(&o, run_job(e, job));
}

/* The directory has a temporary name until all files are whole. */
static int write_directory(const struct invocation *inv, const struct exporter *e,
			   struct export_job *job)
{
	struct whole_file d;
	struct err err;
	int status;

	if (new_directory_begin(&d, inv->output, "directory", &err))
		return say_error(&err);
	job->directory = d.temporary;
	status = run_job(e, job);
	if (new_directory_end(&d, !status, &err))
		return say_error(&err);
	return status;
}

/* Reads the trace, or its part, once, and writes. An interrupt ends it between two events. */
static int export_file(const struct invocation *inv, const struct exporter *e,
		       enum export_weight weight, struct store_reader *reader)
{
	struct export_job job = { .weight = weight };
	struct source *part;
	struct err err;
	int status;

	/* Before the meter, which would set handlers of its own for signals that nobody has
	 * taken. */
	job.stop = interrupt_catch();
	trace_file_meter(inv, reader);
	job.source = trace_file_openings(inv, reader, &part, &err);
	if (!job.source)
		return say_error(&err);
	job.part = part;
	status = (e->directory ? write_directory : write_file)(inv, e, &job);
	/* The part is inside of the source, and closed with it. */
	job.source->ops->close(job.source);
	return status;
}

/* 0, or -errno and *err. An interrupt leaves no file. */
static int save_tables(const struct invocation *inv, struct store_reader *reader,
		       const char *path, struct err *err)
{
	const struct stop *stop;
	struct query *q;
	int r = query_open(reader, &q, err);

	if (r)
		return r;
	query_choose(q, &inv->excerpt);
	/* The meter wants it to be called before, as in export_file(). */
	stop = interrupt_catch();
	trace_file_meter(inv, reader);
	r = query_save(q, path, stop, err);
	query_close(q);
	return r;
}

/* SQLite wants a file's name, so a database cannot go to standard output. */
static int write_database(const struct invocation *inv, struct store_reader *reader)
{
	struct whole_file f;
	struct err err, end;
	int r;

	if (new_file_begin(&f, inv->output, "database", &err) < 0)
		return say_error(&err);
	/* SQLite opens its file by name, and makes a journal beside it: /dev/stdout or a pipe,
	 * which new_file_begin() writes to directly, has no such name. */
	if (f.temporary)
		r = save_tables(inv, reader, f.temporary, &err);
	else
		r = err_set(&err, EINVAL, "a database is a file: %s is none", inv->output);
	if (new_file_end(&f, !r, &end) && !r)
		return say_error(&end);
	if (!r)
		trace_file_warn_of_losses(store_info(reader));
	return r ? say_error(&err) : 0;
}

/* All of the line is checked before the file is read. */
int cmd_export(struct invocation *inv)
{
	const struct exporter *e;
	enum export_weight weight;
	struct store_reader *reader;
	int status;

	if (inv->of_export.formats)
		return list_formats(inv);
	e = find_format(inv);
	if (!e)
		return EXIT_BRACE;
	weight = find_weight(inv, e);
	if (weight == EXPORT_WEIGHTS)
		return EXIT_BRACE;
	/* Formats of sums count the part of a call that lies within --from and --to; formats of
	 * events show calls that begin there, whole. */
	inv->excerpt.clips = e->sums;
	status = check_output(inv, e);
	if (!status)
		status = trace_file_open(inv, &reader);
	if (status)
		return status;
	if (!(e->holds & HOLDS_KERNEL))
		trace_file_leave_kernel_out(reader, e->name);
	status = e->database ? write_database(inv, reader)
			     : export_file(inv, e, weight, reader);
	trace_file_close(reader);
	return status;
}
