/* SPDX-License-Identifier: MIT */
/* A row for each call in Parquet files, by host and day: for DuckDB, Spark, ClickHouse and their
 * kin, and for many runs beside each other. `brace export` calls this, on brace's only thread.
 *
 * A file is of the day, of UTC, that its calls began in. Calls end out of order around midnight, so
 * the files of a few days are open at once. A file that cannot be made or written ends the export
 * with its name. */
#include "export/files.h"
#include "export/formats.h"
#include "export/parquet_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define DAY_NS UINT64_C(86400000000000)
#define OPEN_MOST 4        /* files at once: each has a group of rows in memory */

enum column {
	TIME, BEGIN, DURATION, SELF, PID, TID, COROUTINE, DEPTH, THREAD, FUNCTION, FILE_NAME, ENDED,
	ARGUMENTS, RETURNED, COLUMNS
};

static const struct parquet_column columns[COLUMNS] = {
	[TIME] = { "time", PARQUET_TIME, false },
	[BEGIN] = { "begin_ns", PARQUET_NUMBER, false },
	[DURATION] = { "duration_ns", PARQUET_NUMBER, true },
	[SELF] = { "self_ns", PARQUET_NUMBER, true },
	[PID] = { "pid", PARQUET_NUMBER, false },
	[TID] = { "tid", PARQUET_NUMBER, false },
	[COROUTINE] = { "coroutine", PARQUET_NUMBER, false },
	[DEPTH] = { "depth", PARQUET_NUMBER, false },
	[THREAD] = { "thread", PARQUET_TEXT, false },
	[FUNCTION] = { "function", PARQUET_TEXT, false },
	[FILE_NAME] = { "file", PARQUET_TEXT, false },
	[ENDED] = { "ended", PARQUET_TEXT, false },
	[ARGUMENTS] = { "arguments", PARQUET_TEXT, true },
	[RETURNED] = { "returned", PARQUET_TEXT, true },
};

/* The file of a day that is open. */
struct day {
	struct export_file file;
	struct parquet *rows;  /* NULL: this place is free */
	uint64_t day;          /* since the epoch */
	uint64_t used;         /* when, by number of rows */
};

struct by_day {
	struct walk walk;
	struct export_job *job;
	struct day open[OPEN_MOST];
	uint64_t rows, files;
	char *host;            /* "host=NAME" */
	struct err *err;
};

/* --- files -------------------------------------------------------------------------------- */

/* "host=NAME", which is one component of a path whatever the name is: Hive's way of writing it,
 * that readers take back. The name is the recording host's, from a file that anybody may have
 * written: a slash in it would lead out of the directory. free() it. */
static char *host_folder(const char *host)
{
	static const char plain[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-.";
	char *text;
	size_t n;
	FILE *f = mem_stream(&text, &n);

	fputs("host=", f);
	if (!host || !*host)
		fputs("__HIVE_DEFAULT_PARTITION__", f);
	/* A file system has 255 bytes for it, and a host's name 64. */
	for (size_t i = 0; host && host[i] && i < 64; i++)
		fprintf(f, strchr(plain, host[i]) ? "%c" : "%%%02X", (unsigned char)host[i]);
	mem_stream_close(f, &text);
	return text;
}

/* A folder that is there already is one of this export's. */
static int make_folder(struct by_day *b, const char *name)
{
	char *path = mem_printf("%s/%s", b->job->directory, name);
	int r = mkdir(path, 0700) && errno != EEXIST ? -errno : 0;

	if (r)
		err_set(b->err, -r, "cannot make the directory %s: %s", path, strerror(-r));
	free(path);
	return r;
}

/* The names of two traces' files differ, so that they can be moved into one tree. The time of the
 * recording's begin tells traces apart, the number the files of one trace, of which a day may have
 * several: a file that find_day() ended is not opened again. 0, or -errno and b->err: a place that
 * has rows by then is end_day()'s to free. */
static int begin_day(struct by_day *b, struct day *d, uint64_t day)
{
	const time_t seconds = (time_t)(day * (DAY_NS / 1000000000));
	char date[32], *folder, *name;
	struct tm tm;
	int r;

	strftime(date, sizeof(date), "day=%Y-%m-%d", gmtime_r(&seconds, &tm));
	folder = mem_printf("%s/%s", b->host, date);
	name = mem_printf("%s/calls-%" PRIu64 "-%" PRIu64 ".parquet", folder,
			  b->walk.info->clock.real_ns, b->files);
	r = make_folder(b, b->host);
	if (!r)
		r = make_folder(b, folder);
	if (!r) {
		r = files_begin(&d->file, b->job, name, b->err);
		b->files++;
		d->rows = parquet_begin(&d->file.out, columns, COLUMNS);
		d->day = day;
	}
	free(folder);
	free(name);
	return r;
}

/* A place without a file is ended already. 0, or -errno and b->err. */
static int end_day(struct by_day *b, struct day *d)
{
	if (!d->rows)
		return 0;
	parquet_end(d->rows, "brace");
	d->rows = NULL;
	return files_end(&d->file, b->err);
}

/* The day's file is open then: where too many are, the one that had no row for longest ends.
 * OPEN_MOST bounds the memory, whatever times a damaged file has. */
static int find_day(struct by_day *b, uint64_t day, struct day **found)
{
	struct day *oldest = &b->open[0];
	int r;

	for (size_t i = 0; i < OPEN_MOST; i++) {
		struct day *d = *found = &b->open[i];

		if (d->rows && d->day == day)
			return 0;
		if (!d->rows || (oldest->rows && d->used < oldest->used))
			oldest = d;
	}
	*found = oldest;
	r = end_day(b, oldest);
	return r ? r : begin_day(b, oldest, day);
}

/* --- rows --------------------------------------------------------------------------------- */

/* A call whose return is not followed has no duration. The own time is taken at the call's end:
 * ticks become ns by the clock's rate there. */
static void put_durations(struct by_day *b, struct parquet *p, const struct walk_step *s)
{
	const struct trace_clock *clock = &b->walk.info->clock;
	const uint64_t begin = s->frame->begin;

	if (s->flags & WALK_UNFOLLOWED) {
		parquet_null(p, DURATION);
		parquet_null(p, SELF);
		return;
	}
	parquet_number(p, DURATION, trace_clock_span_ns(clock, begin, s->ticks));
	parquet_number(p, SELF, trace_clock_span_ns(clock, begin + s->ticks - s->self, s->self));
}

/* Only columns that are optional (columns[]) may have no text. */
static void put_text(struct parquet *p, enum column column, const char *text)
{
	if (text)
		parquet_text(p, column, text);
	else
		parquet_null(p, column);
}

/* Each column gets exactly one value or null, in any order: parquet_row() then ends the row. */
static void put_row(struct by_day *b, struct parquet *p, const struct walk_step *s, uint64_t real)
{
	const struct walk_lane *l = &b->walk.lanes.at[s->lane];
	const struct trace_thread *t = &b->walk.info->threads.at[l->thread];
	const struct walk_function *f = &b->walk.functions.at[s->function];
	char *thread = walk_lane_name(&b->walk, s->lane), *returned = walk_returned(&b->walk, s);
	const char *end = export_end_word(s->flags);

	parquet_number(p, TIME, real);
	parquet_number(p, BEGIN, s->begin_ns);
	put_durations(b, p, s);
	parquet_number(p, PID, walk_process(&b->walk, s->lane));
	parquet_number(p, TID, t->tid);
	parquet_number(p, COROUTINE, l->coroutine);
	parquet_number(p, DEPTH, s->depth);
	parquet_text(p, THREAD, thread);
	parquet_text(p, FUNCTION, f->text);
	parquet_text(p, FILE_NAME, f->file);
	parquet_text(p, ENDED, end ? end : "returned");
	put_text(p, ARGUMENTS, s->frame->arguments);
	put_text(p, RETURNED, returned);
	parquet_row(p);
	free(thread);
	free(returned);
}

/* A row stands for a whole call, so only its end makes one; events and losses have no columns. */
static int take_step(void *arg, const struct walk_step *s)
{
	struct by_day *b = arg;
	const struct trace_clock *clock = &b->walk.info->clock;
	const uint64_t real = clock->real_ns + (s->begin_ns - clock->mono_ns);
	struct day *d;
	int r;

	if (s->kind != WALK_END)
		return 0;
	r = find_day(b, real / DAY_NS, &d);
	if (r)
		return r;
	d->used = ++b->rows;
	put_row(b, d->rows, s, real);
	return d->file.out.error;
}

/* The exporter's `write`. Calls are not cut at a loss: a row needs no balance. */
static int write_parquet(struct export_job *job, struct err *err)
{
	struct by_day b = { .job = job, .err = err };
	int r;

	walk_init(&b.walk, job->source);
	b.walk.wants_arguments = true;
	b.host = host_folder(job->source->info->host);
	r = export_walk(job, &b.walk, take_step, &b, err);
	for (size_t i = 0; i < OPEN_MOST; i++) {
		int end = end_day(&b, &b.open[i]);

		r = end ? end : r;
	}
	walk_free(&b.walk);
	free(b.host);
	return r;
}

const struct exporter export_parquet = {
	.name = "parquet",
	.summary = "a row for each call in Parquet files by host and day, for DuckDB and Spark",
	.binary = true, .directory = true,
	.holds = HOLDS_ARGUMENTS | HOLDS_VALUES | HOLDS_ENDS | HOLDS_KERNEL, .write = write_parquet,
};
