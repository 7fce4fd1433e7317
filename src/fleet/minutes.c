/* SPDX-License-Identifier: MIT */
/* Sums of calls by function and minute, in memory. push.c calls it, on the command's thread;
 * nothing fails. A call belongs to the minute in which it ended. */
#include "fleet/minutes.h"

#include <string.h>

#define SECONDS_A_MINUTE 60
#define LATEST_FUNCTIONS 65536 /* of which the latest minute has an array */

/* The place of the row, which is made if it is not there. A key of 0 is not kept by the map, hence
 * + 1. */
static size_t find_row(struct fleet_minutes *m, uint32_t minute, uint32_t function)
{
	const uint64_t key = ((uint64_t)minute << 32 | function) + 1;
	uint64_t at = number_map_get(&m->index, key);

	if (at == NUMBER_NONE) {
		at = m->rows.n;
		*vec_add(&m->rows) = (struct fleet_minute){ .minute = minute, .function = function,
							    .least = UINT64_MAX };
		number_map_set(&m->index, key, at);
	}
	return at;
}

/* Begins the array of a minute that is later than all before. */
static void begin_latest(struct fleet_minutes *m, uint32_t minute)
{
	m->latest = minute;
	m->latest_rows.n = 0;
}

/* A trace tells of its calls nearly by the time at which they end: most belong to the latest
 * minute. Its rows are found by an array over the functions, in place of a hash for each call. The
 * pointer holds until a row is added. A call of an earlier minute, told late by another thread,
 * takes the map. */
static struct fleet_minute *row_of(struct fleet_minutes *m, uint64_t second, uint32_t function)
{
	const uint32_t minute = (uint32_t)(second - second % SECONDS_A_MINUTE);
	uint32_t *row;

	if (minute > m->latest)
		begin_latest(m, minute);
	if (minute != m->latest || function >= LATEST_FUNCTIONS)
		return &m->rows.at[find_row(m, minute, function)];
	while (m->latest_rows.n <= function)
		*vec_add(&m->latest_rows) = 0;
	row = &m->latest_rows.at[function];
	if (!*row)
		*row = (uint32_t)find_row(m, minute, function) + 1;
	return &m->rows.at[*row - 1];
}

/* A row's calls have few different buckets: a search of at most 252 bytes takes less memory than an
 * array of 252 counts in each row. */
static void count_duration(struct fleet_minute *r, uint64_t ns)
{
	const uint8_t bucket = fleet_bucket(ns);
	const uint8_t *at = r->buckets.n ? memchr(r->buckets.at, bucket, r->buckets.n) : NULL;

	if (at) {
		r->counts.at[at - r->buckets.at]++;
		return;
	}
	*vec_add(&r->buckets) = bucket;
	*vec_add(&r->counts) = 1;
}

void fleet_minutes_add(struct fleet_minutes *m, uint64_t second, uint32_t function,
		       const struct fleet_times *t)
{
	struct fleet_minute *r = row_of(m, second, function);

	r->calls++;
	r->timed++;
	r->durations += t->duration;
	r->total += t->total;
	r->self += t->self;
	r->least = t->duration < r->least ? t->duration : r->least;
	r->most = t->duration > r->most ? t->duration : r->most;
	count_duration(r, t->duration);
}

void fleet_minutes_count(struct fleet_minutes *m, uint64_t second, uint32_t function)
{
	row_of(m, second, function)->calls++;
}

static int by_minute(const void *a, const void *b)
{
	const struct fleet_minute *x = a, *y = b;

	if (x->minute != y->minute)
		return x->minute < y->minute ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

void fleet_minutes_sort(struct fleet_minutes *m)
{
	if (m->rows.n)
		qsort(m->rows.at, m->rows.n, sizeof(*m->rows.at), by_minute);
}

void fleet_minutes_clear(struct fleet_minutes *m)
{
	for (size_t i = 0; i < m->rows.n; i++) {
		vec_free(&m->rows.at[i].buckets);
		vec_free(&m->rows.at[i].counts);
	}
	vec_free(&m->rows);
	vec_free(&m->latest_rows);
	m->latest = 0;
	number_map_free(&m->index);
}
