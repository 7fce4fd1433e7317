/* SPDX-License-Identifier: MIT */
/* brace replay: prints the graph of a trace file. main() calls it, on brace's only thread. Fails on
 * a file that cannot be read, and before the first line on options that the file lacks the records
 * for. */
#include <errno.h>
#include <inttypes.h>

#include "ui/commands.h"
#include "ui/screen.h"
#include "report/callers.h"
#include "report/losses.h"
#include "report/printer.h"
#include "report/source_text.h"
#include "report/threshold.h"
#include "ui/say.h"
#include "ui/trace_file.h"

/* The chain of sources that a replay prints, and the screen it prints to. */
struct replay {
	const struct invocation *inv;
	struct store_reader *reader;
	struct source *source;      /* what is printed: `part`, or it with openings */
	struct source *part;        /* what the options choose */
	struct callers *callers;    /* or NULL */
	struct source_text *sources; /* --source; or NULL */
	struct screen screen;
};

/* Ends the list of calls that were open where the part begins. */
static void end_earlier(struct replay *r, struct printer *printer, uint64_t n)
{
	printer_flush(printer);
	out_printf(&r->screen.text, "# %" PRIu64 " %s open at --from\n", n,
		   n == 1 ? "call was" : "calls were");
}

/* Ends early, without an error, when the reader has left the pager. */
static int print_events(struct replay *r, struct printer *printer, struct err *err)
{
	struct event e;
	uint64_t earlier = 0;
	int got = 0;

	while (!screen_is_done(&r->screen) &&
	       (got = r->source->ops->next(r->source, &e, err)) > 0) {
		bool is_earlier = e.kind == EVENT_STEP && e.flags & EVENT_STEP_EARLIER;

		if (earlier && !is_earlier) {
			end_earlier(r, printer, earlier);
			earlier = 0;
		}
		earlier += is_earlier;
		printer_event(printer, &e);
	}
	if (earlier)
		end_earlier(r, printer, earlier);
	return got;
}

/* Losses are told behind the text, where the reader is by then. */
static int print_all(struct replay *r, struct err *err)
{
	const struct trace_info *info = r->source->info;
	const uint64_t options = r->inv->settings.options;
	struct out *text = &r->screen.text;
	struct printer printer;
	int e;

	/* Binary output must have nothing but records. */
	if (!printer_is_binary(info, options))
		threshold_print(info, false, text);
	printer_begin(&printer, info, options, text);
	printer_set_callers(&printer, r->callers);
	printer_set_sources(&printer, r->sources);
	e = print_events(r, &printer, err);
	printer_close(&printer);
	if (screen_is_done(&r->screen))
		return 0;
	losses_print(info, text);
	return e < 0 ? e : excerpt_source_is_empty(r->part, err);
}

/* --source shows the places of calls, as funcgraph-retaddr does, by other words. */
static int find_sources(struct replay *r, struct invocation *inv, struct err *err)
{
	const struct trace_info *info = store_info(r->reader);
	const uint64_t with = OPTION_BIT(OPTION_GRAPH_RETADDR);

	if (!inv->source_lines)
		return 0;
	if (!printer_wants_callers(info, with))
		return err_set(err, ENODATA,
			       "--source is for the function graph of programs, which this trace does not have");
	inv->settings.options |= with;
	r->sources = source_text_new(info);
	return 0;
}

/* funcgraph-retaddr needs a first pass over the file. */
static int find_callers(struct replay *r, struct err *err)
{
	struct source *source;

	if (!printer_wants_callers(store_info(r->reader), r->inv->settings.options))
		return 0;
	source = trace_file_source(r->inv, r->reader, err);
	r->callers = source ? callers_find(source, err) : NULL;
	return r->callers ? 0 : -err->code;
}

/* Everything that can fail before the first line. After the settings, so that a wrong -O is told
 * before the file is read through. */
static int prepare(struct replay *r, struct invocation *inv, struct err *err)
{
	int e = invocation_settings(inv, err);

	if (e)
		return e;
	r->source = trace_file_openings(r->inv, r->reader, &r->part, err);
	if (!r->source)
		return -err->code;
	/* Sleeps can be taken off only if the file has them. */
	if (settings_exclude_sleep(&inv->settings) && !r->source->info->exclude_sleep)
		return err_set(err, ENODATA,
			       "when the threads slept is not in the file: it has to be recorded with -O nosleep-time");
	e = find_sources(r, inv, err);
	return e ? e : find_callers(r, err);
}

/* Some lines are missing because of this computer, not of the trace. */
static void warn_of_sources(const struct replay *r)
{
	struct err err;

	if (source_text_failure(r->sources, &err))
		say_warning("some lines are missing: %s", err.text);
}

/* Arguments and values that were recorded are shown without an option; one leaves them out. */
int cmd_replay(struct invocation *inv)
{
	struct replay r = { .inv = inv };
	struct err err = { 0 };
	int status, e;

	status = trace_file_open(inv, &r.reader);
	if (status)
		return status;
	if (store_info(r.reader)->values) /* -O may still leave them out */
		inv->settings.options |= OPTION_BIT(OPTION_GRAPH_RETVAL);
	inv->settings.options |= OPTION_BIT(OPTION_GRAPH_ARGS) | OPTION_BIT(OPTION_FUNC_ARGS);
	trace_file_meter(inv, r.reader);
	e = prepare(&r, inv, &err);
	if (!e) {
		screen_open(&r.screen, inv, SCREEN_PAGED, paint_graph);
		if (printer_is_binary(r.source->info, inv->settings.options))
			screen_binary(&r.screen);
		e = print_all(&r, &err);
		status = screen_close(&r.screen, 0);
	}
	if (r.sources && !e)
		warn_of_sources(&r);
	callers_free(r.callers);
	source_text_free(r.sources);
	if (r.source)
		r.source->ops->close(r.source);
	trace_file_close(r.reader);
	return e ? say_error(&err) : status;
}
