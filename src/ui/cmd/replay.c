/* SPDX-License-Identifier: MIT */
/* brace replay: prints the graph of a trace file. main() calls it, on brace's only thread. Fails on
 * a file that cannot be read, and before the first line on options that the file lacks the records
 * for. */
#include <errno.h>

#include "ui/commands.h"
#include "ui/screen.h"
#include "report/callers.h"
#include "report/losses.h"
#include "report/openings.h"
#include "report/printer.h"
#include "report/threshold.h"
#include "ui/say.h"
#include "ui/trace_file.h"

/* Ends early, without an error, when the reader has left the pager. */
static int print_all(struct source *source, const struct callers *callers, uint64_t options,
		     struct screen *o, struct err *err)
{
	struct printer printer;
	struct event e;
	int r = 0;

	/* Binary output must have nothing but records. */
	if (!printer_is_binary(source->info, options))
		threshold_print(source->info, false, &o->text);
	printer_begin(&printer, source->info, options, &o->text);
	printer_set_callers(&printer, callers);
	while (!screen_is_done(o) && (r = source->ops->next(source, &e, err)) > 0)
		printer_event(&printer, &e);
	printer_close(&printer);
	if (!screen_is_done(o))
		losses_print(source->info, &o->text);
	return r < 0 ? r : 0;
}

/* The source, with the beginnings of calls that are recorded only at their ends. */
static struct source *open_source(struct store_reader *reader, struct err *err)
{
	struct source *source = store_source(reader);
	const struct summary_input in = summary_from_store(reader);

	return source->info->thresh_ns ? openings_add(source, &in, err) : source;
}

/* funcgraph-retaddr needs a first pass over the file. */
static int find_callers(struct store_reader *reader, uint64_t options, struct callers **out,
			struct err *err)
{
	bool wanted = printer_wants_callers(store_info(reader), options);

	*out = wanted ? callers_find(store_source(reader), err) : NULL;
	return wanted && !*out ? -err->code : 0;
}

/* A failure closes what was opened before it, and nothing is printed by then. */
int cmd_replay(struct invocation *inv)
{
	struct callers *callers;
	struct store_reader *reader;
	struct source *source;
	struct screen o;
	struct err err;
	int status, e;

	status = trace_file_open(inv, &reader);
	if (status)
		return status;
	if (store_info(reader)->values) /* -O may still leave them out */
		inv->settings.options |= OPTION_BIT(OPTION_GRAPH_RETVAL);
	inv->settings.options |= OPTION_BIT(OPTION_GRAPH_ARGS) | OPTION_BIT(OPTION_FUNC_ARGS);
	if (invocation_settings(inv, &err)) {
		store_close(reader);
		return say_error(&err);
	}
	/* After the settings, so that a wrong -O is told before the file is read through. */
	source = open_source(reader, &err);
	if (!source) {
		store_close(reader);
		return say_error(&err);
	}
	/* Sleeps can be taken off only if the file has them. */
	if (settings_exclude_sleep(&inv->settings) &&
	    !source->info->exclude_sleep) {
		source->ops->close(source);
		store_close(reader);
		err_set(&err, ENODATA,
			"when the threads slept is not in the file: it has to be recorded with -O nosleep-time");
		return say_error(&err);
	}
	e = find_callers(reader, inv->settings.options, &callers, &err);
	if (e) {
		source->ops->close(source);
		store_close(reader);
		return say_error(&err);
	}
	screen_open(&o, inv, SCREEN_PAGED, paint_graph);
	if (printer_is_binary(source->info, inv->settings.options))
		screen_binary(&o);
	e = print_all(source, callers, inv->settings.options, &o, &err);
	callers_free(callers);
	source->ops->close(source);
	store_close(reader);
	status = screen_close(&o, 0);
	return e ? say_error(&err) : status;
}
