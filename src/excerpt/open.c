/* SPDX-License-Identifier: MIT */
/* Makes a spec out for one trace. Called before anything is read: by excerpt/source.c and
 * ui/part_summary.c for commands, by query/tables.c, and by the library on its caller's thread. One
 * thread. A spec that the trace cannot grant, or that chooses nothing, is -errno and a sentence. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "event/cpu_list.h"
#include "excerpt/internal.h"
#include "model/tracer.h"

struct shown_when excerpt_shown_time(const struct trace_info *info, uint64_t tsc)
{
	uint64_t us = trace_clock_ns(&info->clock, tsc) / 1000;
	struct shown_when s;

	snprintf(s.text, sizeof(s.text), "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
	return s;
}

/* A range that misses the trace would give an empty report; the sentence says which times there
 * are. */
static int refuse_range(const struct excerpt *x, const struct excerpt_range *range,
			const char *text, struct err *err)
{
	return err_at(err, ERANGE, text, 0, "the trace has nothing there: it lasts from %s to %s",
		      excerpt_shown_time(x->info, range->first).text,
		      excerpt_shown_time(x->info, range->last).text);
}

/* Offsets and percentages are of the trace's own range: both ends are made out before they are
 * compared. */
static int find_times(struct excerpt *x, struct err *err)
{
	const struct excerpt_spec *w = x->spec;
	struct excerpt_range range;

	x->to = UINT64_MAX;
	if (!w->from && !w->to)
		return 0;
	if (!store_range(x->reader, &range.first, &range.last))
		return err_set(err, ENODATA, "the trace has no records to choose from");
	if (w->from && excerpt_when(w->from, &x->info->clock, &range, false, &x->from, err))
		return -err->code;
	if (w->to && excerpt_when(w->to, &x->info->clock, &range, true, &x->to, err))
		return -err->code;
	if (x->from > range.last)
		return refuse_range(x, &range, w->from, err);
	if (x->to < range.first)
		return refuse_range(x, &range, w->to, err);
	if (x->from > x->to)
		return err_at(err, EINVAL, w->to, 0, "--to is before --from, which is %s",
			      excerpt_shown_time(x->info, x->from).text);
	return 0;
}

/* A record has 16 bits for its CPU: a head that claims more CPUs gets no larger mask. */
static int find_cpus(struct excerpt *x, struct err *err)
{
	const uint32_t n = x->info->cpus < 65536 ? x->info->cpus : 65536;

	if (!x->spec->cpus)
		return 0;
	x->cpus = mem_zalloc((n + 7) / 8 + 1);
	x->n_cpus = n;
	if (!n || !cpu_list_parse(x->spec->cpus, strlen(x->spec->cpus), n, x->cpus))
		return err_at(err, EINVAL, x->spec->cpus, 0,
			      "CPUs are numbers and ranges (0-3,8); the traced machine had %" PRIu32,
			      x->info->cpus);
	return 0;
}

/* Options about calls in calls need a trace that has the graph. */
static int check_nesting(const struct excerpt *x, struct err *err)
{
	const struct excerpt_spec *w = x->spec;
	const char *option = x->graph                   ? "-g"
			     : w->callers_of.patterns.n ? "--callers-of"
			     : w->depth                 ? "--max-graph-depth"
							: NULL;

	if (!x->nests && (option || w->min_ns))
		return err_set(err, ENODATA,
			       "%s needs the ends of calls, and the trace has only their beginnings (-t %s)",
			       option ? option : "--min-duration", x->info->tracer);
	if (option && x->info->thresh_ns)
		return err_set(err, ENODATA,
			       "%s needs all calls, and this trace has the long ones only (--threshold)",
			       option);
	return 0;
}

/* Files of the first versions do not name their tracer: there was one. */
static bool has_ends(const struct trace_info *info)
{
	const struct tracer *t = info->tracer ? tracer_find(info->tracer) : &tracer_function_graph;

	return t && (t->exits || !t->functions);
}

/* Functions come last, since their locations may have debug information read: a spec that cannot be
 * is refused before. */
int excerpt_open(const struct excerpt_spec *w, struct store_reader *r, struct excerpt **out,
		 struct err *err)
{
	struct excerpt *x = mem_zalloc(sizeof(*x));
	int e;

	x->spec = w;
	x->reader = r;
	x->info = store_info(r);
	x->clip = w->clips;
	x->graph = w->graph.patterns.n || w->locations[EXCERPT_GRAPH].n;
	x->nests = has_ends(x->info);
	x->depth = w->depth && w->depth < UINT32_MAX ? (uint32_t)w->depth : UINT32_MAX;
	x->later = (w->min_ns || w->callers_of.patterns.n) && !x->info->thresh_ns;
	e = check_nesting(x, err);
	e = e ? e : find_times(x, err);
	e = e ? e : find_cpus(x, err);
	e = e ? e : excerpt_find_threads(x, err);
	e = e ? e : excerpt_find_functions(x, err);
	if (!e) {
		/* Where records stand alone, nothing is open. What recording cost before a start is
		 * not known. */
		x->start = x->nests && !x->info->net ? store_start_at(r, x->from) : NULL;
		*out = x;
		return 0;
	}
	excerpt_close(x);
	return e;
}

void excerpt_clip(struct excerpt *x)
{
	x->clip = true;
}

void excerpt_range(const struct excerpt *x, uint64_t *from, uint64_t *to)
{
	*from = x->from;
	*to = x->to;
}

/* Its sources and cursors are closed already: they point into it. */
void excerpt_close(struct excerpt *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->images.n; i++)
		free(x->images.at[i].flags);
	vec_free(&x->images);
	vec_free(&x->threads);
	vec_free(&x->readers);
	free(x->cpus);
	store_start_free(x->start);
	free(x);
}
