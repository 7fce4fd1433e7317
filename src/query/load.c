/* SPDX-License-Identifier: MIT */
/* Reads a trace once, merged by time, and keeps each call and each event as a row. A call's row
 * stands where the call began, and is completed when it ends. Called by the tables, on the query's
 * thread, when a statement first needs records. Fails as the reader does, and where the temporary
 * files find no room. */
#include "query/load.h"

#include <errno.h>
#include <string.h>

#include "excerpt/excerpt.h"
#include "query/call_records.h"
#include "query/order.h"
#include "trace/tracks.h"

#define DEPTH_MAX ((1u << 24) - 1)

const char *const slice_end_words[SLICE_ENDS] = {
	[SLICE_OPEN] = "unfinished", /* on a stack that no thread has kept */
	[SLICE_RETURNED] = "returned",
	[SLICE_UNWOUND] = "unwound",
	[SLICE_UNFINISHED] = "unfinished",
	[SLICE_UNKNOWN] = "unknown",
};

/* r is NULL where a query has no trace, but rows that somebody adds (answer.c). */
void load_init(struct load *l, struct store_reader *r)
{
	*l = (struct load){ .reader = r, .info = r ? store_info(r) : NULL };
	l->slices.fd = l->events.fd = l->payloads.fd = -1;
	l->call_records.fd = l->call_words.fd = -1;
	if (r)
		trace_processes_find(&l->processes, l->info);
}

/* Frees what is needed only while the trace is read. */
static void free_reading(struct load *l)
{
	for (size_t i = 0; i < l->tracks.n; i++)
		vec_free(&l->tracks.at[i].open);
	number_map_free(&l->function_rows);
	number_map_free(&l->track_rows);
	l->function_rows = l->track_rows = (struct number_map){ 0 };
	overloads_free(&l->overloads);
	l->overloads = (struct overloads){ 0 };
	track_ends_free(&l->ends);
}

/* A reading that failed in the middle is freed here, too: the next statement tries it again. */
void load_free(struct load *l)
{
	free_reading(l);
	for (size_t i = 0; i < l->functions.n; i++)
		free(l->functions.at[i].text);
	vec_free(&l->functions);
	vec_free(&l->names);
	vec_free(&l->tracks);
	trace_processes_free(&l->processes);
	array_file_free(&l->slices);
	array_file_free(&l->events);
	array_file_free(&l->payloads);
	array_file_free(&l->call_records);
	array_file_free(&l->call_words);
}

/* --- functions and tracks ---------------------------------------------------------------- */

/* Describes a function when it first occurs: a module has many that a trace never calls. */
static uint32_t function_row(struct load *l, uint32_t thread, uint32_t id)
{
	uint32_t image = l->info->threads.at[thread].image;
	uint64_t key = ((uint64_t)image << 32 | id) + 1,
		 row = number_map_get(&l->function_rows, key);
	const struct trace_module *module = NULL;
	const struct trace_function *function;
	struct query_function *f;

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	row = l->functions.n;
	f = vec_add(&l->functions);
	*f = (struct query_function){ .image = image, .id = id };
	function = trace_info_function(l->info, image, id, &module);
	f->text = overloads_row_text(&l->overloads, module, function, &f->module);
	f->length = (int)strlen(f->text);
	number_map_set(&l->function_rows, key, row);
	return (uint32_t)row;
}

/* Threads' own stacks are found by thread, coroutines by process and number. */
static uint64_t coroutine_key(uint32_t process, uint32_t number)
{
	return (uint64_t)process << 32 | number;
}

/* Rows come in the order in which stacks first have a call. A stack belongs to the thread that is
 * first seen on it. */
static uint32_t track_row(struct load *l, uint32_t thread, uint32_t number)
{
	uint64_t key = number ? coroutine_key(l->processes.of_thread.at[thread], number)
			      : (uint64_t)thread << 32 | UINT32_MAX;
	uint64_t row = number_map_get(&l->track_rows, key);

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	row = l->tracks.n;
	*vec_add(&l->tracks) = (struct query_track){ .thread = thread, .number = number };
	number_map_set(&l->track_rows, key, row);
	return (uint32_t)row;
}

/* --- calls ------------------------------------------------------------------------------- */

/* SQL's whole numbers are signed: a file that lies about its clock must not turn times around. */
static uint64_t sql_ns(uint64_t ns)
{
	return ns < INT64_MAX ? ns : INT64_MAX;
}

/* Nanoseconds on the trace's clock, as `brace replay -o usecs` counts them. */
static uint64_t time_of(const struct load *l, uint64_t tsc)
{
	return sql_ns(trace_clock_ns(&l->info->clock, tsc));
}

/* NULL: l->failed says why. The row may move with the next one that is added. */
static struct slice *add_slice(struct load *l, const struct call_step *s, uint64_t begin)
{
	uint32_t depth = s->depth < DEPTH_MAX ? s->depth : DEPTH_MAX;
	size_t n = load_slices_n(l);
	struct slice *row;

	if (n >= ROW_NONE)
		/* Row numbers have 32 bits, and ROW_NONE is none: it keeps a slice small. */
		l->failed = err_set(l->err, EFBIG,
				    "the trace has more than %u calls; brace report reads it all",
				    ROW_NONE);
	else
		l->failed = array_file_reserve(&l->slices, sizeof(*row), l->err);
	if (l->failed)
		return NULL;
	row = array_file_add(&l->slices, sizeof(*row));
	*row = (struct slice){ .ts = time_of(l, begin),
			       .function = function_row(l, s->thread, s->fn),
			       .track = track_row(l, s->thread, s->track),
			       .parent = ROW_NONE, .depth = depth };
	l->unordered |= n && row->ts < row[-1].ts;
	return row;
}

/* The row is complete but for what the call's end tells: leave_slice() finds it by t->open. */
static void enter_slice(struct load *l, const struct call_step *s)
{
	uint32_t n = (uint32_t)load_slices_n(l);
	struct slice *row = add_slice(l, s, s->tsc);
	struct query_track *t;

	if (!row)
		return;
	t = &l->tracks.at[row->track];
	/* Calls that are missing below leave no hole: the parent is what is known to be open. */
	if (t->open.n > s->depth)
		t->open.n = s->depth;
	if (t->open.n)
		row->parent = t->open.at[t->open.n - 1];
	/* Levels whose calls are not known have no row. */
	while (t->open.n < s->depth)
		*vec_add(&t->open) = ROW_NONE;
	*vec_add(&t->open) = n;
	call_records_take(l, s, n);
}

/* The bits of a floating-point number, and a part of a structure, are none that SQL could use. */
static bool is_number(const struct call_step *s)
{
	return s->flags & CALL_VALUE && !(s->flags & (CALL_FLOAT | CALL_BLOCK));
}

/* Self time is never below 0: of stamps of two CPUs the inner calls may seem to last longer. */
static void set_duration(struct load *l, struct slice *row, uint64_t begin, uint64_t ticks,
			 uint64_t inside)
{
	const struct trace_clock *c = &l->info->clock;

	if (inside > ticks)
		inside = ticks;
	row->dur = sql_ns(trace_clock_span_ns(c, begin, ticks));
	row->self = inside ? sql_ns(trace_clock_span_ns(c, begin + inside, ticks - inside))
			   : row->dur;
}

/* The row is found by its track and depth. Calls that are open deeper down were left without a
 * record of it: they keep SLICE_OPEN, and no duration. */
static void leave_slice(struct load *l, const struct call_step *s)
{
	const uint32_t track = track_row(l, s->thread, s->track);
	struct query_track *t = &l->tracks.at[track];
	struct slice *row;

	/* The beginning of the call is not in the trace. */
	if (t->open.n <= s->depth)
		return;
	t->open.n = s->depth;
	if (t->open.at[s->depth] == ROW_NONE)
		return;
	row = &load_slices(l)[t->open.at[s->depth]];
	row->doubtful = !!(s->flags & CALL_DOUBTFUL);
	row->valued = is_number(s);
	row->value = s->value;
	set_duration(l, row, s->begin, s->tsc - s->begin, s->inside);
	row->ended = s->flags & CALL_UNFINISHED ? SLICE_UNFINISHED
		   : s->flags & CALL_UNWOUND	? SLICE_UNWOUND
						: SLICE_RETURNED;
	call_records_return(l, s, t->open.at[s->depth]);
}

/* A call that was recorded at its end: what it called is not known, if that was short. */
static void add_span(struct load *l, const struct call_step *s)
{
	struct slice *row = add_slice(l, s, call_step_begin(s));

	if (!row)
		return;
	l->spans = true;
	set_duration(l, row, call_step_begin(s), s->tsc - call_step_begin(s), 0);
	row->ended = SLICE_RETURNED;
	row->valued = is_number(s);
	row->value = s->value;
	call_records_return(l, s, (uint32_t)(row - load_slices(l)));
}

/* A call whose return is not followed stands below the open ones, and nothing stands below it. */
static void add_only(struct load *l, const struct call_step *s)
{
	struct slice *row = add_slice(l, s, s->tsc);
	struct query_track *t;

	if (!row)
		return;
	t = &l->tracks.at[row->track];
	row->ended = SLICE_UNKNOWN;
	if (t->open.n && t->open.n <= s->depth)
		row->parent = t->open.at[t->open.n - 1];
	call_records_take(l, s, (uint32_t)(row - load_slices(l)));
}

/* --- events ------------------------------------------------------------------------------ */

/* Row of the event's description; SIZE_MAX: the trace has none. */
static size_t event_row(const struct load *l, uint32_t index)
{
	const struct trace_event *e = trace_info_event(l->info, index);

	return e ? (size_t)(e - l->info->events.at) : SIZE_MAX;
}

/* The payload is copied, because the reader's buffer holds it until the next event only. */
static void add_event(struct load *l, const struct event *e)
{
	size_t bytes = e->count, words = (bytes + 7) / 8, event = event_row(l, e->fn);
	size_t n = load_events_n(l);
	struct query_event *row;

	/* A record of an event that the trace does not describe has neither a name nor fields. */
	if (event == SIZE_MAX)
		return;
	l->failed = array_file_reserve(&l->events, sizeof(*row), l->err);
	/* Room for both comes first: a failure leaves no event without its payload. */
	if (!l->failed)
		l->failed = array_file_reserve(&l->payloads, words * 8, l->err);
	if (l->failed)
		return;
	row = array_file_add(&l->events, sizeof(*row));
	*row = (struct query_event){ .ts = time_of(l, e->tsc),
				     .payload = l->payloads.bytes / 8, .bytes = bytes,
				     .event = (uint32_t)event, .thread = e->thread, .cpu = e->cpu };
	memcpy(array_file_add(&l->payloads, words * 8), e->payload, bytes);
	l->unordered |= n && row->ts < row[-1].ts;
}

/* --- all of it --------------------------------------------------------------------------- */

/* A step cannot stop the reading: those that come with a failed one are passed over. */
static void take_step(void *arg, const struct call_step *s)
{
	struct load *l = arg;

	if (l->failed)
		return;
	switch (s->kind) {
	case CALL_ENTER:
		enter_slice(l, s);
		break;
	case CALL_LEAVE:
		leave_slice(l, s);
		break;
	case CALL_SPAN:
		add_span(l, s);
		break;
	case CALL_ONLY:
		add_only(l, s);
		break;
	case CALL_EVENT:
		add_event(l, s->event);
		break;
	default: /* what was lost is in thread.lost */
		break;
	}
}

/* The order in which events are fed is that of time, over all threads; a call's row comes in the
 * order of beginnings, therefore. */
static int read_source(struct load *l, struct source *from, struct tracks *t, struct err *err)
{
	struct event e = { 0 };
	int r;

	while ((r = from->ops->next(from, &e, err)) > 0) {
		/* Only a broken file has records of a thread that its table lacks. */
		if (e.thread >= l->info->threads.n)
			continue;
		track_ends_event(&l->ends, &e);
		tracks_feed(t, tracks_lane(t, e.thread), &e, take_step, l);
		if (l->failed)
			return l->failed;
	}
	if (r < 0)
		return r;
	/* Calls that are open at the end lasted until their thread's last record. */
	track_ends_all(&l->ends, t, take_step, l);
	return l->failed;
}

/* Functions of several files may have one name, and get one number. */
static int by_text(const void *a, const void *b)
{
	const struct query_function *const *x = a, *const *y = b;

	return strcmp((*x)->text, (*y)->text);
}

/* Gives equal texts one number, in the order of the alphabet. So a GROUP BY of names compares
 * numbers and not texts, and an ORDER BY of them needs no sort. */
static void number_names(struct load *l)
{
	struct query_function **order = mem_realloc(NULL, l->functions.n + 1, sizeof(*order));

	for (size_t i = 0; i < l->functions.n; i++)
		order[i] = &l->functions.at[i];
	qsort(order, l->functions.n, sizeof(*order), by_text);
	for (size_t i = 0; i < l->functions.n; i++) {
		if (!i || strcmp(order[i - 1]->text, order[i]->text))
			*vec_add(&l->names) = order[i]->text;
		order[i]->name = (uint32_t)l->names.n - 1;
	}
	free(order);
}

/* Goes back to the state after load_init(), so that the next statement tries again. */
static void empty_load(struct load *l)
{
	struct store_reader *r = l->reader;
	const struct excerpt_spec *part = l->part;

	load_free(l);
	load_init(l, r);
	l->part = part;
}

/* NULL and *err: the part is one that the trace cannot have. */
static struct source *open_source(struct load *l, struct err *err)
{
	return l->part ? excerpt_source_of(l->part, l->reader, err) : store_source(l->reader);
}

/* Reads at the first call only. What it makes stays until load_free(); rows never move after it. */
int load_records(struct load *l, struct err *err)
{
	struct source *from;
	struct sites sites;
	struct tracks tracks;
	int r;

	if (l->done)
		return 0;
	l->err = err;
	from = open_source(l, err);
	if (!from)
		return -err->code;
	sites_init(&sites, l->info);
	tracks_init(&tracks, l->info, &sites);
	r = read_source(l, from, &tracks, err);
	r = r ? r : excerpt_source_is_empty(from, err);
	tracks_free(&tracks);
	sites_free(&sites);
	from->ops->close(from);
	/* Most traces come in order: sorting copies all rows, so that it is left out then. */
	if (!r && (l->unordered || l->spans))
		r = order_rows(l, err);
	if (r) {
		empty_load(l);
		return r;
	}
	number_names(l);
	free_reading(l);
	l->done = true;
	return 0;
}
