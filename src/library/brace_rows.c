/* SPDX-License-Identifier: MIT */
/* Tables for programs: what `brace report` shows, and the answers of `brace query`. Programs call
 * it, one thread at a time for a query and its rows. Fails as the two commands do. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "library/library.h"
#include "query/query.h"

struct brace_query {
	unsigned refs;
	struct brace_trace *t;
	struct query *q;
	bool broken; /* out of memory within it, or within its rows */
};

struct brace_rows {
	struct brace_trace *t;
	struct brace_query *of;  /* NULL: a report */
	struct query_rows *rows;
	struct summary summary;
	struct excerpt_spec spec;
	struct excerpt *excerpt; /* NULL: of the whole trace */
	size_t row;              /* of summary: one more than the one it stands on */
	bool on_row;
	char text[32];           /* a number */
};

/* --- reports --------------------------------------------------------------------------------- */

/* The columns of a report's rows, in the order that include/brace.h tells. */
static const enum summary_column report_columns[] = {
	SUMMARY_NAME, SUMMARY_MODULE, SUMMARY_CALLS, SUMMARY_TOTAL, SUMMARY_SELF, SUMMARY_MIN,
	SUMMARY_MEAN, SUMMARY_P50, SUMMARY_P99, SUMMARY_MAX,
};
#define REPORT_COLUMNS (sizeof(report_columns) / sizeof(*report_columns))

/* A report's; the trace is closed by the caller. */
static void free_rows(struct brace_rows *r)
{
	summary_free(&r->summary);
	excerpt_close(r->excerpt);
	excerpt_spec_free(&r->spec);
	free(r);
}

/* One worker: the library starts no thread. */
static int summarize_part(struct brace_rows *r, const struct brace_part *part)
{
	struct summary_input in = summary_from_store(r->t->reader);
	int failed = library_spec(part, &r->spec);

	if (!failed && !excerpt_spec_is_all(&r->spec)) {
		failed = excerpt_open(&r->spec, r->t->reader, &r->excerpt, library_error());
		if (!failed) {
			excerpt_clip(r->excerpt);
			in = summary_from_excerpt(r->excerpt, r->t->reader);
		}
	}
	return failed ? failed : summary_make(&in, 1, &r->summary, library_error());
}

/* The question to brace_report_open(), and what open_report() makes of it. */
struct report_opening {
	struct brace_trace *t;
	const struct brace_part *part;
	const char *sort;
	struct brace_rows *made;
};

/* Within library_try(): nothing is kept if it fails. */
static int open_report(void *arg)
{
	struct report_opening *o = arg;
	enum summary_column by = o->sort ? summary_column_find(o->sort) : SUMMARY_NAME;
	struct brace_rows *r;
	int failed;

	if (by == SUMMARY_COLUMNS_N)
		return err_at(library_error(), EINVAL, o->sort, 0, "no column %s to sort by",
			      o->sort);
	r = mem_zalloc(sizeof(*r));
	r->t = o->t;
	failed = summarize_part(r, o->part);
	if (failed) {
		free_rows(r);
		return failed;
	}
	summary_sort(&r->summary, o->sort ? by : summary_default_column(&r->summary), false);
	library_trace_keep(r->t);
	o->made = r;
	return 0;
}

/* sort is the word of a column as --sort has it; NULL: the column that `brace report` sorts by. */
int brace_report_open(struct brace_trace *t, const struct brace_part *part, const char *sort,
		      struct brace_rows **out)
{
	struct brace_part known;
	struct report_opening o = { .t = t, .part = &known, .sort = sort };
	int r = library_options(&known, sizeof(known), part);

	if (!r)
		r = library_try(open_report, &o, NULL);
	*out = r ? NULL : o.made;
	return r;
}

/* The column of the summary; SUMMARY_COLUMNS_N: none, or not known in this row. */
static enum summary_column report_column(const struct brace_rows *r, unsigned column)
{
	const struct summary_row *row = &r->summary.rows.at[r->row - 1];
	enum summary_column c = column < REPORT_COLUMNS ? report_columns[column]
							: SUMMARY_COLUMNS_N;

	if (c >= SUMMARY_NUMBERS || c == SUMMARY_CALLS)
		return c;
	return row->timed && !(c == SUMMARY_SELF && r->summary.cut) ? c : SUMMARY_COLUMNS_N;
}

/* Texts are the columns that are no numbers. */
static enum brace_type report_type(const struct brace_rows *r, unsigned column)
{
	enum summary_column c = report_column(r, column);

	return c == SUMMARY_COLUMNS_N ? BRACE_TYPE_NULL
	     : c < SUMMARY_NUMBERS    ? BRACE_TYPE_INT
				      : BRACE_TYPE_TEXT;
}

/* 0 where the row has no number: report_type() tells the two apart. */
static int64_t report_int(const struct brace_rows *r, unsigned column)
{
	enum summary_column c = report_column(r, column);

	return c < SUMMARY_NUMBERS ? (int64_t)r->summary.rows.at[r->row - 1].value[c] : 0;
}

/* A number as text stays valid until the next question of these rows. */
static const char *report_text(struct brace_rows *r, unsigned column)
{
	const struct summary_row *row = &r->summary.rows.at[r->row - 1];

	switch (report_column(r, column)) {
	case SUMMARY_NAME:
		return row->name;
	case SUMMARY_MODULE:
		return row->module;
	case SUMMARY_COLUMNS_N:
		return NULL;
	default:
		snprintf(r->text, sizeof(r->text), "%lld", (long long)report_int(r, column));
		return r->text;
	}
}

/* --- queries --------------------------------------------------------------------------------- */

/* A question to a query: to be opened (t), or to run (sql). */
struct query_question {
	struct brace_trace *t;
	struct brace_query *q;
	const char *sql;
	struct brace_rows *made;
};

/* query_stay_alone(): the library starts no thread. */
static int open_query(void *arg)
{
	struct query_question *o = arg;
	struct brace_query *q = mem_zalloc(sizeof(*q));
	int r = query_open(o->t->reader, &q->q, library_error());

	if (r) {
		free(q);
		return r;
	}
	query_stay_alone(q->q);
	q->t = library_trace_keep(o->t);
	q->refs = 1;
	o->q = q;
	return 0;
}

/* The trace is kept until the query and all of its rows are closed, in whatever order the program
 * closes them. */
int brace_query_open(struct brace_trace *t, struct brace_query **out)
{
	struct query_question o = { .t = t };
	int r = library_try(open_query, &o, NULL);

	*out = r ? NULL : o.q;
	return r;
}

/* Rows keep their query open: it is closed with the last of them. */
static int run_query(void *arg)
{
	struct query_question *o = arg;
	struct brace_rows *r = mem_zalloc(sizeof(*r));
	int failed = query_rows_open(o->q->q, o->sql, &r->rows, library_error());

	if (failed) {
		free(r);
		return failed;
	}
	r->of = o->q;
	r->of->refs++;
	o->made = r;
	return 0;
}

/* Rows are computed as they are asked for: an error of a late row comes from brace_rows_next(). */
int brace_query_run(struct brace_query *q, const char *sql, struct brace_rows **out)
{
	struct query_question o = { .q = q, .sql = sql };
	int r = q->broken ? library_broken() : library_try(run_query, &o, &q->broken);

	*out = r ? NULL : o.made;
	return r;
}

/* A broken query stays in memory, with its trace. */
void brace_query_close(struct brace_query *q)
{
	if (!q || --q->refs || q->broken)
		return;
	query_close(q->q);
	brace_trace_close(q->t);
	free(q);
}

/* --- rows ------------------------------------------------------------------------------------ */

/* 1: a row; 0: the end; -errno. */
static int step_rows(void *arg)
{
	struct brace_rows *r = arg;

	return query_rows_next(r->rows, library_error());
}

/* A report's rows are all made already. */
int brace_rows_next(struct brace_rows *r)
{
	int got;

	if (!r->of)
		got = r->row < r->summary.rows.n ? (r->row++, 1) : 0;
	else
		got = r->of->broken ? library_broken()
				    : library_try(step_rows, r, &r->of->broken);
	r->on_row = got > 0;
	return got;
}

/* Columns, not rows: how many rows a statement has is not known before its end. */
unsigned brace_rows_count(const struct brace_rows *r)
{
	return r->of ? query_rows_columns(r->rows) : (unsigned)REPORT_COLUMNS;
}

/* The name lives as long as the rows. */
const char *brace_rows_name(const struct brace_rows *r, unsigned column)
{
	if (column >= brace_rows_count(r))
		return NULL;
	return r->of ? query_rows_name(r->rows, column)
		     : summary_column_words[report_columns[column]];
}

/* A question beside a row, or of a broken query, has no value. */
static bool has_value(const struct brace_rows *r, unsigned column)
{
	return r->on_row && column < brace_rows_count(r) && !(r->of && r->of->broken);
}

enum brace_type brace_rows_type(const struct brace_rows *r, unsigned column)
{
	static const enum brace_type types[QUERY_TEXT + 1] = {
		[QUERY_NULL] = BRACE_TYPE_NULL, [QUERY_NUMBER] = BRACE_TYPE_INT,
		[QUERY_REAL] = BRACE_TYPE_REAL, [QUERY_TEXT] = BRACE_TYPE_TEXT,
	};

	if (!has_value(r, column))
		return BRACE_TYPE_NULL;
	return r->of ? types[query_rows_type(r->rows, column)] : report_type(r, column);
}

/* SQLite converts a text or a real number; a report's text is 0. */
int64_t brace_rows_int(const struct brace_rows *r, unsigned column)
{
	if (!has_value(r, column))
		return 0;
	return r->of ? query_rows_int(r->rows, column) : report_int(r, column);
}

double brace_rows_real(const struct brace_rows *r, unsigned column)
{
	if (!has_value(r, column))
		return 0;
	return r->of ? query_rows_real(r->rows, column) : (double)report_int(r, column);
}

const char *brace_rows_text(const struct brace_rows *r, unsigned column)
{
	if (!has_value(r, column))
		return NULL;
	/* The text of a report's number is kept in the rows, which the caller does not see. */
	return r->of ? query_rows_text(r->rows, column)
		     : report_text((struct brace_rows *)r, column);
}

/* A broken query's rows stay in memory, as the query does. */
void brace_rows_close(struct brace_rows *r)
{
	if (!r)
		return;
	if (r->of) {
		if (!r->of->broken)
			query_rows_close(r->rows);
		brace_query_close(r->of);
		free(r);
	} else {
		struct brace_trace *t = r->t;

		free_rows(r);
		brace_trace_close(t);
	}
}
