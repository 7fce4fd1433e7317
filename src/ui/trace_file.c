/* SPDX-License-Identifier: MIT */
/* Opens a trace file for a command and says what is wrong with it. Keeps nothing; called by the
 * commands that read a trace, on the only thread. A cut file is read up to its cut. A file that is
 * no trace is -errno and a sentence. */
#include "ui/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/losses.h"
#include "report/openings.h"
#include "ui/meter.h"
#include "ui/say.h"

int trace_file_open(const struct invocation *inv, struct store_reader **out)
{
	return trace_file_open_path(inv, inv->n_operands ? inv->operands[0] : NULL, out);
}

/* -EINVAL or -ENODATA and *err: there is no such side. */
static int choose_side(const struct invocation *inv, struct trace_info *info, struct err *err)
{
	if (inv->kernel_only && inv->user_only)
		return err_set(err, EINVAL,
			       "--kernel-only and --user-only leave nothing: give one of them");
	if ((inv->kernel_only && !trace_info_has_kernel(info)) ||
	    (inv->user_only && trace_info_is_kernel(info)))
		return err_set(err, ENODATA, "the trace has nothing of %s: brace record -k records both",
			       inv->kernel_only ? "the kernel" : "a program");
	/* The readers of the trace heed it: records of the other side are never given. */
	info->sides = inv->kernel_only ? SIDE_KERNEL : inv->user_only ? SIDE_USER : SIDES_BOTH;
	return 0;
}

/* Tells what is left out, and how far that can be from the truth: the bounds are those that
 * docs/performance.md has measured. Programs read JSON's "net". */
static void tell_cost(const struct invocation *inv, const struct trace_info *info)
{
	double all = (double)trace_cost_all_ns(info) / 1e9;

	if (inv->json || inv->quiet)
		return;
	say("brace: --net leaves out %.1f ns a call, as measured before the program began, %.4f s in all; in code that waits for its own results recording took a tenth of that, in code that fills the caches 1.6 times as much: %.4f to %.4f s\n",
	    (double)trace_cost_ps(info, info->cost.total) / 1e3, all, all / 10, all * 1.6);
}

/* -ENODATA and *err: the cost is not known. */
static int leave_cost_out(const struct invocation *inv, struct trace_info *info, struct err *err)
{
	info->net = inv->net;
	if (!inv->net)
		return 0;
	if (info->cost.total) {
		tell_cost(inv, info);
		return 0;
	}
	return err_set(err, ENODATA,
		       "--net: the trace does not tell what recording a call cost: %s",
		       info->tracer && strcmp(info->tracer, "function_graph")
			       ? "that is known of the tracer function_graph alone"
			       : "it is not known with -g, --max-graph-depth and --threshold, nor of imported traces and those of older versions");
}

int trace_file_open_path(const struct invocation *inv, const char *named,
			 struct store_reader **out)
{
	const char *path = named ? named : "trace.brace";
	uint64_t lost;
	struct err err;

	if (store_open(path, out, &err)) {
		/* The user named no file: the sentence must not blame one. */
		if (err.code == ENOENT && !named)
			err_set(&err, ENOENT,
				"there is no trace.brace here: `brace record -- PROGRAM` writes one; or name a file");
		return say_error(&err);
	}
	/* Before anything is read: sums are made by it. */
	store_info(*out)->charge_handlers = inv->charge_handlers;
	if (choose_side(inv, store_info(*out), &err) ||
	    leave_cost_out(inv, store_info(*out), &err)) {
		store_close(*out);
		*out = NULL;
		return say_error(&err);
	}
	/* A warning: what is left is whole, record by record. */
	if (store_was_cut(*out, &lost))
		say_warning("%s ends early; this is what was written before the cut (%" PRIu64
			    " bytes behind it cannot be read)", path, lost);
	return 0;
}

void trace_file_meter(const struct invocation *inv, struct store_reader *r)
{
	meter_begin(r, inv->n_operands ? inv->operands[0] : "trace.brace");
}

void trace_file_close(struct store_reader *r)
{
	meter_end();
	store_close(r);
}

struct source *trace_file_source(const struct invocation *inv, struct store_reader *r,
				 struct err *err)
{
	return excerpt_source_of(&inv->excerpt, r, err);
}

/* *part is inside of the returned source, and closed with it: it is only for asking whether the
 * part was empty. */
struct source *trace_file_openings(const struct invocation *inv, struct store_reader *r,
				   struct source **part, struct err *err)
{
	struct source *source = *part = trace_file_source(inv, r, err);
	struct summary_input in;

	/* Without --threshold every call is in the trace with its beginning, and no opening has to
	 * be found. */
	if (!source || !source->info->thresh_ns)
		return source;
	in = excerpt_of(source) ? summary_from_excerpt(excerpt_of(source), r)
				: summary_from_store(r);
	return openings_add(source, &in, err);
}

void trace_file_leave_kernel_out(struct store_reader *r, const char *what)
{
	if (!trace_info_is_merged(store_info(r)))
		return;
	store_info(r)->sides = SIDE_USER;
	say_warning("%s does not show the kernel's part of a trace yet: this is the program's", what);
}

/* Figures that are too low are told as such. */
void trace_file_warn_of_losses(const struct trace_info *info)
{
	struct losses l = losses_of(info);

	if (l.lost)
		say_warning("%" PRIu64 " of %" PRIu64 " records were lost: figures are too low",
			    l.lost, l.lost + l.records);
}
