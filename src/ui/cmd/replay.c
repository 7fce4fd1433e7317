/* SPDX-License-Identifier: MIT */
/* brace replay: the graph of a trace file. */
#include <errno.h>

#include "ui/commands.h"
#include "ui/screen.h"
#include "report/losses.h"
#include "report/openings.h"
#include "report/printer.h"
#include "report/threshold.h"
#include "ui/say.h"
#include "ui/trace_file.h"

static int print_all(struct source *source, uint64_t options, struct screen *o, struct err *err)
{
	struct printer printer;
	struct event e;
	int r = 0;

	if (!printer_is_binary(source->info, options))
		threshold_print(source->info, false, &o->text);
	printer_begin(&printer, source->info, options, &o->text);
	while (!screen_is_done(o) && (r = source->ops->next(source, &e, err)) > 0)
		printer_event(&printer, &e);
	printer_close(&printer);
	if (!screen_is_done(o))
		losses_print(source->info, &o->text);
	return r < 0 ? r : 0;
}

/* With where calls began that are told at their ends. */
static struct source *open_source(struct store_reader *reader, struct err *err)
{
	struct source *source = store_source(reader);
	const struct summary_input in = summary_from_store(reader);

	return source->info->thresh_ns ? openings_add(source, &in, err) : source;
}

int cmd_replay(struct invocation *inv)
{
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
	if (invocation_settings(inv, &err)) {
		store_close(reader);
		return say_error(&err);
	}
	source = open_source(reader, &err);
	if (!source) {
		store_close(reader);
		return say_error(&err);
	}
	if (!option_is_set(inv->settings.options, OPTION_SLEEP_TIME) && !source->info->sleepless) {
		source->ops->close(source);
		store_close(reader);
		err_set(&err, ENODATA, "when the threads slept is not in the file: it has to be recorded with -O nosleep-time");
		return say_error(&err);
	}
	screen_open(&o, inv, SCREEN_PAGED, paint_graph);
	if (printer_is_binary(source->info, inv->settings.options))
		screen_binary(&o);
	e = print_all(source, inv->settings.options, &o, &err);
	source->ops->close(source);
	store_close(reader);
	status = screen_close(&o, 0);
	return e ? say_error(&err) : status;
}
