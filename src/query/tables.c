/* SPDX-License-Identifier: MIT */
/* The tables of a trace, with the names that Perfetto's SQL gives to tables and columns where it
 * has them. A row here is a table; what its columns hold is in docs/query.md. query.c and save.c
 * walk the rows; table.c calls their functions, on the thread that has the query. Nothing fails: a
 * column that a row does not have is NULL. */
#include <string.h>

#include "base/path.h"
#include "excerpt/excerpt.h"
#include "query/args.h"
#include "query/table.h"

/* --- results ----------------------------------------------------------------------------- */

/* The text stays as long as the query. */
static void give_text(sqlite3_context *to, const char *s)
{
	sqlite3_result_text(to, s, -1, SQLITE_STATIC);
}

static void give_number(sqlite3_context *to, uint64_t v)
{
	sqlite3_result_int64(to, (sqlite3_int64)v);
}

/* --- keys -------------------------------------------------------------------------------- */

/* True, and the number, if the value equals a whole one that is less than n. */
static bool is_number_below(sqlite3_value *v, size_t n, uint32_t *out)
{
	double value;

	if (sqlite3_value_numeric_type(v) == SQLITE_NULL)
		return false;
	value = sqlite3_value_double(v);
	if (!(value >= 0 && value < (double)n) || value != (double)(uint32_t)value)
		return false;
	*out = (uint32_t)value;
	return true;
}

/* The thread's number is its row: utid needs no column of its own in the arrays. */
static size_t threads_n(const struct query *q)
{
	return q->load.info->threads.n;
}

static bool thread_key(const struct query *q, sqlite3_value *v, uint32_t *key)
{
	return is_number_below(v, threads_n(q), key);
}

/* --- process ----------------------------------------------------------------------------- */

static size_t processes_n(const struct query *q)
{
	return q->load.processes.rows.n;
}

/* Columns are numbered as in query_tables. */
static void process_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const struct trace_process *p = &q->load.processes.rows.at[row];
	const struct trace_info *info = q->load.info;
	const struct trace_image *image =
		p->image < info->images.n ? &info->images.at[p->image] : NULL;

	if (column == 1)
		give_number(to, p->pid);
	/* A trace that was cut may lack the image: then all but the pid is NULL. */
	if (!image)
		return;
	if (column == 2)
		give_text(to, path_file_name(image->exe));
	else if (column == 3)
		give_number(to, trace_clock_ns(&info->clock, trace_process_tsc(p, info)));
	else if (column == 4)
		give_text(to, image->cmdline);
}

/* --- thread ------------------------------------------------------------------------------ */

/* A column that is not named here is NULL, as SQLite makes it if nothing is given. */
static void thread_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const struct trace_thread *t = &q->load.info->threads.at[row];
	/* A name that fills its array has no NUL: it is copied by its length. */
	const char *name = trace_thread_name(t);

	switch (column) {
	case 1:
		give_number(to, t->tid);
		break;
	case 2:
		sqlite3_result_text(to, name, (int)strnlen(name, TRACE_COMM), SQLITE_TRANSIENT);
		break;
	case 3:
		give_number(to, q->load.processes.of_thread.at[row]);
		break;
	case 4:
		give_number(to, t->tid == t->pid);
		break;
	case 5:
		give_number(to, trace_clock_ns(&q->load.info->clock, t->tsc));
		break;
	case 6:
		give_number(to, t->records);
		break;
	case 7:
		give_number(to, t->lost);
		break;
	}
}

/* --- thread_track ------------------------------------------------------------------------ */

int tables_need_records(struct query *q)
{
	return load_records(&q->load, &q->err);
}

static size_t tracks_n(const struct query *q)
{
	return q->load.tracks.n;
}

static void track_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const struct query_track *t = &q->load.tracks.at[row];

	/* Number 0 is the thread's own stack; coroutines' are counted from 1 in their process. */
	if (column == 1)
		give_text(to, t->number ? "coroutine" : "thread");
	else if (column == 2)
		give_number(to, t->thread);
	else if (column == 3)
		give_number(to, t->number);
}

/* --- slice ------------------------------------------------------------------------------- */

/* In the order of the declaration in query_tables, which SQLite numbers the columns by. */
enum slice_column {
	SLICE_ID, SLICE_TS, SLICE_DUR, SLICE_TRACK, SLICE_NAME, SLICE_DEPTH, SLICE_PARENT,
	SLICE_SELF, SLICE_THREAD, SLICE_MODULE, SLICE_NAME_ID, SLICE_RETVAL, SLICE_ENDED,
	SLICE_DOUBTFUL, SLICE_ARGS,
};

static size_t slices_n(const struct query *q)
{
	return load_slices_n(&q->load);
}

/* Valid until the next load_records(), which no statement does while it reads rows. */
static const struct slice *slice_at(const struct query *q, size_t row)
{
	return &load_slices(&q->load)[row];
}

/* query_table.ahead: a row may lie on two lines of the cache. */
static void slice_ahead(const struct query *q, size_t row)
{
	const struct slice *s = slice_at(q, row);

	__builtin_prefetch(s);
	__builtin_prefetch((const char *)(s + 1) - 1);
}

/* query_table.rest */
static void slice_rest(const struct query *q)
{
	array_file_rest(&q->load.slices, 0, q->load.slices.bytes);
}

static uint64_t slice_ts(const struct query *q, size_t row)
{
	return slice_at(q, row)->ts;
}

/* Calls of one function share its texts: a call's row has only the function's number. */
static const struct query_function *slice_function(const struct query *q, size_t row)
{
	return &q->load.functions.at[slice_at(q, row)->function];
}

static uint32_t slice_name(const struct query *q, size_t row)
{
	return slice_function(q, row)->name;
}

static uint32_t slice_track(const struct query *q, size_t row)
{
	return slice_at(q, row)->track;
}

/* A coroutine's calls count for the thread that was first seen on its stack. */
static uint32_t slice_thread(const struct query *q, size_t row)
{
	return q->load.tracks.at[slice_at(q, row)->track].thread;
}

/* Calls without a parent have the number before all others, and no value leads there. */
static uint32_t slice_parent(const struct query *q, size_t row)
{
	uint32_t parent = slice_at(q, row)->parent;

	return parent == ROW_NONE ? 0 : parent + 1;
}

static size_t parents_n(const struct query *q)
{
	return slices_n(q) + 1;
}

static size_t names_n(const struct query *q)
{
	return q->load.names.n;
}

/* One more than the row's number, as in slice_parent(). */
static bool parent_key(const struct query *q, sqlite3_value *v, uint32_t *key)
{
	if (!is_number_below(v, slices_n(q), key))
		return false;
	++*key;
	return true;
}

static bool track_key(const struct query *q, sqlite3_value *v, uint32_t *key)
{
	return is_number_below(v, tracks_n(q), key);
}

static bool name_id_key(const struct query *q, sqlite3_value *v, uint32_t *key)
{
	return is_number_below(v, names_n(q), key);
}

/* Names are sorted: the number of a text is its place among them. */
static bool name_key(const struct query *q, sqlite3_value *v, uint32_t *key)
{
	const char *text = (const char *)sqlite3_value_text(v);
	size_t at = text ? vec_bisect(&q->load.names, item, strcmp(*item, text) < 0) : names_n(q);

	*key = (uint32_t)at;
	return at < names_n(q) && strcmp(q->load.names.at[at], text) == 0;
}

/* Columns that people group by and join on, those with the fewest rows of a value first. An index
 * costs 4 bytes a row, and only when a statement asks for it. */
static const struct query_key slice_keys[] = {
	{ SLICE_PARENT, slice_parent, parents_n, parent_key },
	{ SLICE_NAME, slice_name, names_n, name_key },
	{ SLICE_NAME_ID, slice_name, names_n, name_id_key },
	{ SLICE_TRACK, slice_track, tracks_n, track_key },
	{ SLICE_THREAD, slice_thread, threads_n, thread_key },
	{ 0 }
};

/* Columns that only a call with a followed return has. */
static void ended_column(const struct slice *s, int column, sqlite3_context *to)
{
	if (s->ended == SLICE_UNKNOWN || s->ended == SLICE_OPEN)
		return;
	if (column == SLICE_DUR)
		give_number(to, s->dur);
	else if (column == SLICE_SELF)
		give_number(to, s->self);
	else if (s->valued)
		give_number(to, s->value);
}

/* Column SLICE_ID is the row's number, which table.c gives without asking. */
static void slice_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const struct slice *s = slice_at(q, row);

	switch (column) {
	case SLICE_TS:
		give_number(to, s->ts);
		break;
	case SLICE_TRACK:
		give_number(to, s->track);
		break;
	case SLICE_NAME:
		sqlite3_result_text(to, slice_function(q, row)->text,
				    slice_function(q, row)->length, SQLITE_STATIC);
		break;
	case SLICE_DEPTH:
		give_number(to, s->depth);
		break;
	case SLICE_PARENT:
		if (s->parent != ROW_NONE)
			give_number(to, s->parent);
		break;
	case SLICE_THREAD:
		give_number(to, slice_thread(q, row));
		break;
	case SLICE_MODULE:
		give_text(to, slice_function(q, row)->module);
		break;
	case SLICE_NAME_ID:
		give_number(to, slice_name(q, row));
		break;
	case SLICE_ENDED:
		give_text(to, slice_end_words[s->ended]);
		break;
	case SLICE_DOUBTFUL:
		give_number(to, s->doubtful);
		break;
	case SLICE_ARGS:
		if (s->has_args || s->valued)
			give_number(to, args_set_of_call(q, row));
		break;
	case SLICE_SELF: /* of a trace without the short calls nobody knows it */
		if (q->load.spans)
			break;
		/* fall through */
	default:
		ended_column(s, column, to);
		break;
	}
}

/* --- function ---------------------------------------------------------------------------- */

/* query_table.load of `function`, which counts as `brace report` does. The rows are sorted by name,
 * so that ids are the same each time. */
static int sum_up(struct query *q)
{
	const struct excerpt_spec *part = q->load.part;
	struct summary_input in = summary_from_store(q->load.reader);
	struct excerpt *x = NULL;
	int r = 0;

	if (part && !excerpt_spec_is_all(part)) {
		r = excerpt_open(part, q->load.reader, &x, &q->err);
		if (!r)
			in = summary_from_excerpt(x, q->load.reader);
	}
	r = r ? r : summary_make(&in, q->alone, &q->summary, &q->err);
	excerpt_close(x);
	return r;
}

/* Once a query; a failure is tried again by the next statement. */
static int need_summary(struct query *q)
{
	int r = q->summed ? 0 : sum_up(q);

	if (!q->summed && !r)
		summary_sort(&q->summary, SUMMARY_NAME, false);
	q->summed |= !r;
	return r;
}

/* Rows of `brace report`, not load.functions: equal names of several processes are one row. */
static size_t functions_n(const struct query *q)
{
	return q->summary.rows.n;
}

/* Functions of whose calls no end is known have no times, and a trace without its short calls has
 * no self times. */
static bool has_number(const struct summary *s, const struct summary_row *r, enum summary_column c)
{
	return c == SUMMARY_CALLS || (r->timed && (c != SUMMARY_SELF || !s->cut));
}

/* After id, name and module the numbers come in the order of enum summary_column. */
static void function_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const struct summary_row *r = &q->summary.rows.at[row];
	enum summary_column number = (enum summary_column)(column - 3);

	if (column == 1)
		give_text(to, r->name);
	else if (column == 2)
		give_text(to, r->module);
	else if (has_number(&q->summary, r, number))
		give_number(to, r->value[number]);
}

/* --- ftrace_event ------------------------------------------------------------------------ */

enum event_column { EVENT_ID, EVENT_TS, EVENT_NAME, EVENT_SYSTEM, EVENT_ON_CPU, EVENT_THREAD,
		    EVENT_ARGS };

static size_t events_n(const struct query *q)
{
	return load_events_n(&q->load);
}

/* Valid until the next load_records(), as slice_at(). */
static const struct query_event *event_at(const struct query *q, size_t row)
{
	return &load_events(&q->load)[row];
}

static uint64_t event_ts(const struct query *q, size_t row)
{
	return event_at(q, row)->ts;
}

static uint32_t event_thread(const struct query *q, size_t row)
{
	return event_at(q, row)->thread;
}

static const struct query_key event_keys[] = {
	{ EVENT_THREAD, event_thread, threads_n, thread_key },
	{ 0 }
};

static void event_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const struct query_event *e = event_at(q, row);
	const struct trace_event *about = &q->load.info->events.at[e->event];

	if (column == EVENT_TS)
		give_number(to, e->ts);
	else if (column == EVENT_NAME)
		give_text(to, about->name);
	else if (column == EVENT_SYSTEM)
		give_text(to, about->system);
	else if (column == EVENT_ON_CPU)
		give_number(to, e->cpu);
	else if (column == EVENT_THREAD)
		give_number(to, e->thread);
	else if (column == EVENT_ARGS)
		give_number(to, row); /* as args.h numbers sets */
}

/* --- metadata ---------------------------------------------------------------------------- */

/* Each entry has a name, and one of the two: a text of info's or a number of it. */
static const struct { const char *name; size_t text, number; } metadata[] = {
#define TEXT(field) offsetof(struct trace_info, field), SIZE_MAX
#define NUMBER(field) SIZE_MAX, offsetof(struct trace_info, field)
	{ "host", TEXT(host) },
	{ "kernel", TEXT(kernel) },
	{ "cpu", TEXT(cpu) },
	{ "command", TEXT(cmdline) },
	{ "invocation", TEXT(run.invocation) },
	{ "tracer", TEXT(tracer) },
	{ "brace_version", TEXT(version) },
	{ "tsc_hz", NUMBER(clock.hz) },
	{ "elapsed_ns", NUMBER(run.elapsed_ns) },
	{ "user_ns", NUMBER(run.user_ns) },
	{ "system_ns", NUMBER(run.system_ns) },
	{ "threshold_ns", NUMBER(thresh_ns) },
	{ "calls", NUMBER(total.calls) },
	{ "records", NUMBER(total.records) },
	{ "lost", NUMBER(total.lost) },
#undef TEXT
#undef NUMBER
};

static size_t metadata_n(const struct query *q)
{
	return sizeof(metadata) / sizeof(*metadata);
}

static void metadata_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const char *info = (const char *)q->load.info;

	if (column == 1)
		give_text(to, metadata[row].name);
	else if (column == 2 && metadata[row].text != SIZE_MAX)
		/* A text that the trace does not have is NULL here and in SQL. */
		give_text(to, *(char *const *)(info + metadata[row].text));
	else if (column == 3 && metadata[row].number != SIZE_MAX)
		give_number(to, *(const uint64_t *)(info + metadata[row].number));
}

/* --- brace_table -------------------------------------------------------------------------- */

/* The table of the tables, itself included: what a user who knows no name can ask for. */
static size_t tables_n(const struct query *q)
{
	size_t n = 0;

	while (query_tables[n].name)
		n++;
	return n;
}

/* The views come behind the tables. */
static size_t tables_and_views_n(const struct query *q)
{
	size_t n = tables_n(q);

	for (const struct query_view *v = query_views; v->name; v++)
		n++;
	return n;
}

static void table_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const size_t n = tables_n(q);

	if (row < n)
		give_text(to, column == 1 ? query_tables[row].name : query_tables[row].columns);
	else
		give_text(to, column == 1 ? query_views[row - n].name
					  : query_views[row - n].columns);
}

/* --- all of them ------------------------------------------------------------------------- */

const struct query_table query_tables[] = {
	{ "process", "upid INTEGER, pid INTEGER, name TEXT, start_ts INTEGER, cmdline TEXT",
	  NULL, processes_n, process_column },
	{ "thread",
	  "utid INTEGER, tid INTEGER, name TEXT, upid INTEGER, is_main_thread INTEGER, "
	  "start_ts INTEGER, records INTEGER, lost INTEGER",
	  NULL, threads_n, thread_column },
	{ "thread_track", "id INTEGER, name TEXT, utid INTEGER, number INTEGER", tables_need_records,
	  tracks_n, track_column },
	{ "slice",
	  "id INTEGER, ts INTEGER, dur INTEGER, track_id INTEGER, name TEXT, depth INTEGER, "
	  "parent_id INTEGER, self INTEGER, utid INTEGER, module TEXT, name_id INTEGER, "
	  "retval INTEGER, ended TEXT, doubtful INTEGER, arg_set_id INTEGER",
	  tables_need_records, slices_n, slice_column, SLICE_TS, slice_ts, slice_keys, slice_ahead,
	  slice_rest },
	{ "function",
	  "id INTEGER, name TEXT, module TEXT, calls INTEGER, total INTEGER, self INTEGER, "
	  "min INTEGER, mean INTEGER, p50 INTEGER, p99 INTEGER, max INTEGER",
	  need_summary, functions_n, function_column },
	{ "ftrace_event",
	  "id INTEGER, ts INTEGER, name TEXT, system TEXT, cpu INTEGER, utid INTEGER, "
	  "arg_set_id INTEGER",
	  tables_need_records, events_n, event_column, EVENT_TS, event_ts, event_keys },
	{ "args", ARGS_COLUMNS, args_need, args_n, args_column, ARGS_SET, args_set },
	{ "counter", COUNTER_COLUMNS, counters_need, counters_n, counters_column, 1, counters_ts },
	{ "thread_counter_track", COUNTER_TRACK_COLUMNS, counters_need, counters_tracks_n,
	  counters_track_column },
	{ "metadata", "id INTEGER, name TEXT, str_value TEXT, int_value INTEGER", NULL, metadata_n,
	  metadata_column },
	{ "brace_table", "id INTEGER, name TEXT, columns TEXT", NULL, tables_and_views_n,
	  table_column },
	{ 0 }
};
