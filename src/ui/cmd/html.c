/* SPDX-License-Identifier: MIT */
/* brace html: a trace file as one page for a browser. main() calls it, on brace's only thread.
 * The page is whole or not there, like the outputs of brace export. Fails on a file that cannot
 * be read, and on an output that cannot be written. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export/html.h"
#include "base/child.h"
#include "base/path.h"
#include "report/durations.h"
#include "ui/commands.h"
#include "ui/interrupt.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/trace_file.h"

/* Browsers take pages of about this many calls; beyond it they may run out of memory. A page that
 * brace cuts by itself has at most CALLS_KEPT. */
#define CALLS_MANY UINT64_C(20000000)
#define CALLS_KEPT UINT64_C(10000000)

/* The trace's name in this directory, as .html; free() it. */
static char *default_output(const char *trace)
{
	const char *name = path_file_name(trace), *end = strrchr(name, '.');
	int n = (int)(end && end != name ? (size_t)(end - name) : strlen(name));

	return mem_printf("%.*s.html", n, name);
}

/* Waits for the program that opens the page, which ends when it has told the desktop. */
static int open_page(const char *path)
{
	char *file = *path == '/' ? mem_strdup(path) : mem_printf("./%s", path);
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		execlp("xdg-open", "xdg-open", file, NULL);
		_exit(EXIT_NOT_FOUND);
	}
	if (pid > 0)
		status = child_wait(pid);
	free(file);
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	say("brace: cannot open %s: xdg-open (package xdg-utils) %s; open the file in a browser\n", path,
	    pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_FOUND ? "is not there"
										   : "failed");
	return EXIT_BRACE;
}

/* Reads the durations of all calls that are asked for. *limit: what the shortest one that a page
 * can have lasts, in ns; 0: it can have all, or they have no durations. 0, or -errno and *err. */
static int find_limit(const struct invocation *inv, struct store_reader *reader,
		      const struct stop *stop, uint64_t *limit, struct err *err)
{
	struct source *source = trace_file_source(inv, reader, err);
	struct durations *d;
	struct event e;
	uint64_t calls;
	int got;

	if (!source)
		return -err->code;
	d = durations_new(source->info);
	while ((got = source->ops->next(source, &e, err)) > 0 && !stop_asked(stop))
		if (trace_info_shows(source->info, e.thread))
			durations_event(d, &e);
	durations_end(d);
	*limit = durations_limit(d, CALLS_MANY, &calls);
	if (*limit)
		*limit = durations_limit(d, CALLS_KEPT, &calls);
	durations_free(d);
	source->ops->close(source);
	if (stop_asked(stop)) /* html_write() tells of it */
		*limit = 0;
	return got < 0 ? got : 0;
}

/* A page of more calls than a browser takes has the longer ones, unless the user says how long they
 * are to be. */
static int cut_page(struct invocation *inv, struct store_reader *reader,
		    const struct stop *stop, struct err *err)
{
	uint64_t limit = 0;
	int r = 0;

	if (store_info(reader)->total.calls > CALLS_MANY && !inv->excerpt.min_ns)
		r = find_limit(inv, reader, stop, &limit, err);
	if (r || !limit)
		return r;
	inv->excerpt.min_ns = limit;
	say_warning("a browser takes some %" PRIu64 " million calls: the page has those of %" PRIu64
		    " ns and more; choose others by --from, --to, --min-duration",
		    CALLS_MANY / 1000000, limit);
	return 0;
}

/* Losses are told as by all that make figures of a trace. */
static void warn_of_gaps(const struct html_job *job)
{
	if (job->counts.calls > CALLS_MANY)
		say_warning("%" PRIu64
			    " calls are many for a browser: choose a part (--from, --to, --min-duration)",
			    job->counts.calls);
	trace_file_warn_of_losses(job->source->info);
}

/* Writes the page, and says what failed, but for writes to the page: screen_close() tells those. */
static int run_job(struct html_job *job)
{
	struct err err = { 0 };
	int r = html_write(job, &err);

	/* A part that has nothing is an error, which says why. */
	if (!r)
		r = excerpt_source_is_empty(job->part, &err);
	if (!r)
		warn_of_gaps(job);
	if (r && err.code)
		return say_error(&err);
	return r && r != -EPIPE ? EXIT_BRACE : 0;
}

/* The page is whole or not there: a browser would show half of one without a word. */
static int write_page(const struct invocation *inv, struct html_job *job)
{
	struct screen o;
	int status = screen_open_whole(&o, inv);

	if (status)
		return status;
	screen_binary(&o);
	job->out = &o.text;
	return screen_close(&o, run_job(job));
}

static void say_done(const struct invocation *inv, const struct html_job *job)
{
	struct stat st;

	if (!inv->quiet && !stat(inv->output, &st))
		say("brace: %s has %" PRIu64 " calls of %zu thread%s (%.1f MB): open it in a browser\n",
		    inv->output, job->counts.calls, job->lanes, job->lanes == 1 ? "" : "s",
		    (double)st.st_size / 1e6);
}

/* With --open the browser is the answer, and nothing is said. */
static int make_page(struct invocation *inv, const char *trace, struct store_reader *reader)
{
	struct html_job job = { .title = path_file_name(trace) };
	char *output = inv->output ? NULL : default_output(trace);
	struct err err;
	int status;

	if (output)
		inv->output = output;
	job.stop = interrupt_catch();
	trace_file_meter(inv, reader);
	if (!cut_page(inv, reader, job.stop, &err))
		job.source = trace_file_openings(inv, reader, &job.part, &err);
	job.min_ns = inv->excerpt.min_ns;
	if (!job.source) {
		status = say_error(&err);
	} else {
		job.is_part = excerpt_of(job.part);
		status = write_page(inv, &job);
		job.source->ops->close(job.source);
	}
	if (!status && inv->open)
		status = open_page(inv->output);
	else if (!status)
		say_done(inv, &job);
	free(output);
	return status;
}

int cmd_html(struct invocation *inv)
{
	const char *trace = inv->n_operands ? inv->operands[0] : "trace.brace";
	struct store_reader *reader;
	int status = trace_file_open(inv, &reader);

	if (status)
		return status;
	/* The page's sums are those of a report. */
	inv->excerpt.clips = true;
	status = make_page(inv, trace, reader);
	trace_file_close(reader);
	return status;
}
