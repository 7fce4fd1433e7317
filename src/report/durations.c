/* SPDX-License-Identifier: MIT */
/* Durations by function, for `brace hist -d`, `report --histogram` and `html`. One thread feeds and
 * prints. A function of several images (an exec, another program) is one row by its name and file.
 * Nothing fails: an event of a thread or a function that nothing defines is counted as of an
 * unknown function. */
#include "report/durations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/histogram.h"
#include "trace/tracks.h"

#define POWERS 65u          /* 0, and the powers of two that a number of 64 bits lies between */
#define BAR 40u             /* columns of the longest bar */
#define NAME_MOST 1024u

/* A function's durations; times in ticks but in `powers`, which counts nanoseconds. */
struct duration_row {
	char *name;
	const char *file;      /* its module's name, the info's */
	uint64_t calls, total, min, max;
	uint64_t open;         /* calls that have not ended */
	uint64_t endless;      /* calls whose end is not followed */
	uint64_t powers[POWERS];
	struct histogram all;
};

/* Rows by number of the image's functions: 1 + index; 0: none yet. */
struct duration_image { VEC(uint32_t) rows; };

struct durations {
	const struct trace_info *info;
	struct sites sites;
	struct tracks tracks;
	VEC(struct duration_image) images;
	VEC(struct duration_row) rows;
	struct histogram_pool pool;
	struct event last;
	uint64_t lost;
};

/* info outlives the result; texts of files stay its own. */
struct durations *durations_new(const struct trace_info *info)
{
	struct durations *d = mem_zalloc(sizeof(*d));

	d->info = info;
	sites_init(&d->sites, info);
	tracks_init(&d->tracks, info, &d->sites);
	return d;
}

void durations_free(struct durations *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->rows.n; i++) {
		free(d->rows.at[i].name);
		histogram_free(&d->rows.at[i].all);
	}
	for (size_t i = 0; i < d->images.n; i++)
		vec_free(&d->images.at[i].rows);
	vec_free(&d->images);
	vec_free(&d->rows);
	histogram_pool_free(&d->pool);
	tracks_free(&d->tracks);
	sites_free(&d->sites);
	free(d);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Finds the row of this name and file, or makes it. A linear search does: row_of() asks once for
 * each function of each image. file is kept as an address: it is the info's, which outlives the
 * rows. */
static uint32_t row_named(struct durations *d, const char *name, const char *file)
{
	for (size_t i = 0; i < d->rows.n; i++)
		if (!strcmp(d->rows.at[i].name, name) && !strcmp(d->rows.at[i].file, file))
			return (uint32_t)i;
	*vec_add(&d->rows) = (struct duration_row){ .name = mem_strdup(name), .file = file,
						    .min = UINT64_MAX };
	return (uint32_t)d->rows.n - 1;
}

/* The slow path of row_of(): a function's first call. */
static uint32_t name_row(struct durations *d, uint32_t image, uint32_t fn)
{
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(d->info, image, fn, &m);
	char name[NAME_MOST];

	if (!f)
		return row_named(d, "[unknown]", "");
	trace_function_name(m, f, name, sizeof(name));
	return row_named(d, name, m->name);
}

/* The result may move when the next row is made. A new function's id has been found in the info, so
 * that the table is never larger than the image's ids. */
static struct duration_row *row_of(struct durations *d, uint32_t thread, uint32_t fn)
{
	uint32_t image = thread < d->info->threads.n ? d->info->threads.at[thread].image : 0;
	struct duration_image *i;

	/* An index out of range comes from damaged records: such functions share a row. */
	if (image >= d->info->images.n || !trace_info_function(d->info, image, fn, NULL)) {
		const uint32_t unknown = row_named(d, "[unknown]", ""); /* it may move the rows */

		return &d->rows.at[unknown];
	}
	while (d->images.n <= image)
		*vec_add(&d->images) = (struct duration_image){ 0 };
	i = &d->images.at[image];
	while (i->rows.n <= fn)
		*vec_add(&i->rows) = 0;
	if (!i->rows.at[fn])
		i->rows.at[fn] = 1 + name_row(d, image, fn);
	return &d->rows.at[i->rows.at[fn] - 1];
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Number of the power of two: 0 of 0 and 1, else that of which the value is at least the 2^n. */
static unsigned power_of(uint64_t ns)
{
	return ns < 2 ? 0 : 63 - (unsigned)__builtin_clzll(ns);
}

static void add_duration(struct durations *d, struct duration_row *r, uint64_t ticks)
{
	r->calls++;
	r->total += ticks;
	r->min = ticks < r->min ? ticks : r->min;
	r->max = ticks > r->max ? ticks : r->max;
	/* Powers are of nanoseconds, as people read them; all else is converted at the end. */
	r->powers[power_of(trace_clock_delta_ns(&d->info->clock, ticks))]++;
	histogram_add(&r->all, &d->pool, ticks);
}

/* calls_emit. A call that was left by an unwinder counts: its time is known. The time is without
 * what the thread slept, as in all reports (call_step_begin()). */
static void take_step(void *arg, const struct call_step *s)
{
	struct durations *d = arg;
	uint64_t begin = call_step_begin(s);

	if (s->kind == CALL_LOST)
		d->lost += s->count;
	else if (s->kind == CALL_LEAVE && s->flags & CALL_UNFINISHED)
		row_of(d, s->thread, s->fn)->open++;
	else if (s->kind == CALL_LEAVE || s->kind == CALL_SPAN)
		add_duration(d, row_of(d, s->thread, s->fn), s->tsc > begin ? s->tsc - begin : 0);
	else if (s->kind == CALL_ONLY)
		row_of(d, s->thread, s->fn)->endless++;
}

void durations_event(struct durations *d, const struct event *e)
{
	/* Only damaged records name a thread that is not there. */
	if (e->thread >= d->info->threads.n)
		return;
	d->last = *e;
	tracks_feed(&d->tracks, tracks_lane(&d->tracks, e->thread), e, take_step, d);
}

/* Calls that are open now are counted as not returned: the last event's time is not their end. */
void durations_end(struct durations *d)
{
	tracks_end(&d->tracks, &d->last, take_step, d);
}

/* Powers are counted from the longest calls on until there would be more than `most`: the end of
 * the first power that is too much is the limit, and all calls above it are kept. No second reading
 * is needed for that. */
uint64_t durations_limit(const struct durations *d, uint64_t most, uint64_t *calls)
{
	unsigned power = POWERS;

	*calls = 0;
	while (power) {
		uint64_t n = 0;

		for (size_t i = 0; i < d->rows.n; i++)
			n += d->rows.at[i].powers[power - 1];
		if (n > most - *calls)
			return UINT64_C(1) << (power < POWERS ? power : POWERS - 2);
		*calls += n;
		power--;
	}
	return 0;
}

/* --- printing --------------------------------------------------------------------------------- */

/* Equal counts by name, so that the order does not depend on that of the records. */
static int more_calls_first(const void *a, const void *b)
{
	const struct duration_row *x = *(const struct duration_row *const *)a,
				  *y = *(const struct duration_row *const *)b;

	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The caller frees the array. */
static const struct duration_row **sorted_rows(const struct durations *d)
{
	const struct duration_row **sorted = mem_realloc(NULL, d->rows.n + 1, sizeof(*sorted));

	for (size_t i = 0; i < d->rows.n; i++)
		sorted[i] = &d->rows.at[i];
	qsort(sorted, d->rows.n, sizeof(*sorted), more_calls_first);
	return sorted;
}

/* Nanoseconds. A percentile is the middle of a bucket: it must not leave the range of real
 * durations. */
static uint64_t percentile_of(const struct durations *d, const struct duration_row *r,
			      unsigned percent)
{
	uint64_t v = histogram_percentile(&r->all, r->calls, percent);

	v = v < r->min ? r->min : v > r->max ? r->max : v;
	return trace_clock_delta_ns(&d->info->clock, r->calls ? v : 0);
}

/* Ticks are converted once for each number that is printed, not for each call. */
static uint64_t ns_of(const struct durations *d, uint64_t ticks)
{
	return trace_clock_delta_ns(&d->info->clock, ticks);
}

/* The powers from the first to the last that has a call; *to is behind the last. A row without
 * calls has from and to both behind the end: nothing is printed then. */
static void range_of(const struct duration_row *r, unsigned *from, unsigned *to)
{
	*from = 0;
	*to = POWERS;
	while (*from < POWERS && !r->powers[*from])
		++*from;
	while (*to > *from && !r->powers[*to - 1])
		--*to;
}

/* The columns are those of bpf's funclatency. 128 bits keep the product of a count and BAR. The bar
 * is cut out of one string of BAR stars, and spaces fill it. */
static void print_powers(const struct duration_row *r, struct out *out)
{
	uint64_t most = 1;
	unsigned from, to;

	range_of(r, &from, &to);
	for (unsigned i = from; i < to; i++)
		most = r->powers[i] > most ? r->powers[i] : most;
	out_printf(out, "%18s              : %-10s %s\n", "nsecs", "count", "distribution");
	for (unsigned i = from; i < to; i++) {
		uint64_t low = i ? UINT64_C(1) << i : 0,
			 n = (uint64_t)((unsigned __int128)r->powers[i] * BAR / most);

		out_printf(out, "%14" PRIu64 " -> %-14" PRIu64 ": %-10" PRIu64 "|%.*s%*s|\n", low,
			   (UINT64_C(1) << i) * 2 - 1, r->powers[i], (int)n,
			   "****************************************", (int)(BAR - n), "");
	}
}

/* Names are the programs' to choose: they are escaped. */
static void print_row(const struct durations *d, const struct duration_row *r, struct out *out)
{
	out_foreign(out, r->name, SIZE_MAX);
	if (*r->file) {
		out_str(out, " [");
		out_foreign(out, r->file, SIZE_MAX);
		out_char(out, ']');
	}
	out_printf(out, ": %" PRIu64 " calls", r->calls);
	if (r->calls)
		out_printf(out,
			   ", total %" PRIu64 " ns, mean %" PRIu64 ", min %" PRIu64 ", p50 %" PRIu64
			   ", p90 %" PRIu64 ", p99 %" PRIu64 ", max %" PRIu64,
			   ns_of(d, r->total), ns_of(d, r->total / r->calls), ns_of(d, r->min),
			   percentile_of(d, r, 50), percentile_of(d, r, 90),
			   percentile_of(d, r, 99), ns_of(d, r->max));
	if (r->open)
		out_printf(out, "; %" PRIu64 " have not returned", r->open);
	if (r->endless)
		out_printf(out, "; of %" PRIu64 " the return is not followed", r->endless);
	out_char(out, '\n');
	if (r->calls)
		print_powers(r, out);
}

/* n: rows at most, 0: all. */
void durations_print(const struct durations *d, size_t n, struct out *out)
{
	const struct duration_row **sorted = sorted_rows(d);

	if (!d->rows.n)
		out_str(out, "no calls\n");
	for (size_t i = 0; i < d->rows.n && (!n || i < n); i++) {
		if (i)
			out_char(out, '\n');
		print_row(d, sorted[i], out);
	}
	/* Last, where the reader is: the rows may fill more than a screen. */
	if (d->lost)
		out_printf(out, "\n%" PRIu64 " records were lost: calls are missing\n", d->lost);
	free(sorted);
}

/* Has the figures of print_row(); those of a function without a finished call are 0. */
static void print_row_json(const struct durations *d, const struct duration_row *r, struct out *out)
{
	unsigned from, to;

	out_str(out, "{\"function\":");
	json_string(out, r->name);
	out_str(out, ",\"module\":");
	json_string(out, r->file);
	out_printf(out,
		   ",\"calls\":%" PRIu64 ",\"open\":%" PRIu64 ",\"not_followed\":%" PRIu64
		   ",\"total_ns\":%" PRIu64 ",\"min_ns\":%" PRIu64 ",\"p50_ns\":%" PRIu64
		   ",\"p90_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64
		   ",\"powers\":[",
		   r->calls, r->open, r->endless, ns_of(d, r->total),
		   r->calls ? ns_of(d, r->min) : 0, percentile_of(d, r, 50),
		   percentile_of(d, r, 90), percentile_of(d, r, 99), ns_of(d, r->max));
	range_of(r, &from, &to);
	for (unsigned i = from; i < to; i++)
		out_printf(out,
			   "%s{\"from_ns\":%" PRIu64 ",\"to_ns\":%" PRIu64 ",\"calls\":%" PRIu64 "}",
			   i > from ? "," : "", i ? UINT64_C(1) << i : 0,
			   (UINT64_C(1) << i) * 2 - 1, r->powers[i]);
	out_str(out, "]}\n");
}

void durations_print_json(const struct durations *d, size_t n, struct out *out)
{
	const struct duration_row **sorted = sorted_rows(d);

	/* A line says what follows, and the last one whether that is all. */
	out_str(out, "{\"schema\":\"brace-durations\",\"version\":1}\n");
	for (size_t i = 0; i < d->rows.n && (!n || i < n); i++)
		print_row_json(d, sorted[i], out);
	out_printf(out, "{\"functions\":%zu,\"lost\":%" PRIu64 "}\n", d->rows.n, d->lost);
	free(sorted);
}
