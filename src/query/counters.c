/* SPDX-License-Identifier: MIT */
/* Counts the events that `brace record --counters` records, thread by thread: each event is a row
 * with the number of those so far. Called by tables.c, on the query's thread. Fails only where the
 * temporary files find no room. */
#include "query/counters.h"

#include <string.h>

#include "base/number_map.h"
#include "query/table.h"
#include "report/counter_events.h"

struct counter_row { uint64_t ts; uint32_t track, value; };

static const struct counter_row *rows(const struct query *q)
{
	return q->counters.rows.at;
}

static bool is_counted(const struct query *q, size_t event, uint32_t kind)
{
	const struct query_event *e = &load_events(&q->load)[event];
	const struct event_format *f = q->values.formats.at[e->event];
	struct event_value v;

	if (!counter_events[kind].by)
		return true;
	for (size_t i = 0; f && i < f->n; i++)
		if (!strcmp(f->fields[i].name, counter_events[kind].by)) {
			v = event_value_of(&q->load, event, &f->fields[i]);
			return v.kind == EVENT_VALUE_NUMBER &&
			       v.number == q->load.info->threads.at[e->thread].tid;
		}
	return false;
}

/* The rows of tracks by thread and kind, and the threads that have calls by thread_key(). */
struct counter_lookup { struct number_map rows, with_calls; };

/* A thread's number in its process, which has one pid. */
static uint64_t thread_key(const struct load *l, uint32_t thread)
{
	return ((uint64_t)l->processes.of_thread.at[thread] << 32 |
		l->info->threads.at[thread].tid) + 1;
}

/* The first of several threads of one number counts. */
static void find_calls(const struct load *l, struct number_map *with_calls)
{
	for (size_t i = l->tracks.n; i-- > 0;)
		if (!l->tracks.at[i].number)
			number_map_set(with_calls, thread_key(l, l->tracks.at[i].thread),
				       l->tracks.at[i].thread);
}

/* The kernel's notices of a thread have a row of their own in `thread`: a track is led to the row
 * of that number whose calls the trace has. Its own, if there is none. */
static uint32_t thread_with_calls(const struct query *q, const struct counter_lookup *found,
				  uint32_t thread)
{
	const uint64_t row = number_map_get(&found->with_calls, thread_key(&q->load, thread));

	return row == NUMBER_NONE ? thread : (uint32_t)row;
}

/* The row of the thread's track of that kind, made at its first event. */
static uint32_t track_of(struct query *q, struct counter_lookup *found, uint32_t kind,
			 uint32_t thread)
{
	struct counters *c = &q->counters;
	const uint64_t key = ((uint64_t)thread * COUNTER_EVENTS_N + kind) + 1;
	uint64_t row = number_map_get(&found->rows, key);

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	row = c->tracks.n;
	*vec_add(&c->tracks) = (struct counter_track){
		.kind = kind, .thread = thread_with_calls(q, found, thread) };
	number_map_set(&found->rows, key, row);
	return (uint32_t)row;
}

static int count(struct query *q, struct counter_lookup *found)
{
	struct counters *c = &q->counters;
	int r = 0;

	for (size_t i = 0; i < load_events_n(&q->load) && !r; i++) {
		const struct query_event *e = &load_events(&q->load)[i];
		const uint32_t kind = counter_events_kind(&q->load.info->events.at[e->event]);
		struct counter_row row = { .ts = e->ts };

		if (kind == COUNTER_EVENTS_N || !is_counted(q, i, kind))
			continue;
		r = array_file_reserve(&c->rows, sizeof(row), &q->err);
		if (r)
			break;
		row.track = track_of(q, found, kind, e->thread);
		row.value = ++c->tracks.at[row.track].value;
		memcpy(array_file_add(&c->rows, sizeof(row)), &row, sizeof(row));
	}
	return r;
}

int counters_need(struct query *q)
{
	struct counter_lookup found = { 0 };
	int r = tables_need_records(q);

	r = r ? r : event_values_make(&q->values, &q->load, &q->err);
	if (r || q->counters.made)
		return r;
	q->counters.rows.fd = -1;
	q->counters.made = true;
	find_calls(&q->load, &found.with_calls);
	r = count(q, &found);
	number_map_free(&found.rows);
	number_map_free(&found.with_calls);
	if (r)
		counters_free(&q->counters);
	return r;
}

void counters_free(struct counters *c)
{
	if (!c->made)
		return;
	array_file_free(&c->rows);
	vec_free(&c->tracks);
	*c = (struct counters){ 0 };
}

/* --- as tables --------------------------------------------------------------------------- */

size_t counters_n(const struct query *q)
{
	return q->counters.rows.bytes / sizeof(struct counter_row);
}

uint64_t counters_ts(const struct query *q, size_t row)
{
	return rows(q)[row].ts;
}

/* Columns are numbered as in COUNTER_COLUMNS. Perfetto's values of counters are doubles, whatever
 * is counted. */
void counters_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const struct counter_row *r = &rows(q)[row];

	if (column == 1)
		sqlite3_result_int64(to, (sqlite3_int64)r->ts);
	else if (column == 2)
		sqlite3_result_int64(to, r->track);
	else if (column == 3)
		sqlite3_result_double(to, r->value);
}

size_t counters_tracks_n(const struct query *q)
{
	return q->counters.tracks.n;
}

void counters_track_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const struct counter_track *t = &q->counters.tracks.at[row];

	if (column == 1)
		sqlite3_result_text(to, counter_events[t->kind].name, -1, SQLITE_STATIC);
	else if (column == 2)
		sqlite3_result_int64(to, t->thread);
	else if (column == 3)
		sqlite3_result_text(to, "count", -1, SQLITE_STATIC);
}
