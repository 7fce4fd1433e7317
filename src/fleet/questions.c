/* SPDX-License-Identifier: MIT */
/* Questions to a fleet, as statements for its servers and one for their answers.
 * cmd/fleet.c calls it, on the command's thread. A server that does not answer is told to the
 * caller; one that refuses ends the question. */
#include "fleet/questions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/answer.h"

#define CELLS_MAX 12
#define NO_BUCKET "255" /* of a row that has sums; the buckets of minutes.h end before it */

/* Sums of functions, and their buckets. ANY takes one row where several match: a function that two
 * hosts pushed has two rows until ClickHouse merges them. A question asks for both statements with
 * the same columns, so that one table takes both answers: rows of sums have NO_BUCKET and the
 * figures, rows of a bucket have its count and zeros. */
#define FUNCTIONS_OF(keys)                                                                   \
	" FROM %D.minutes ANY LEFT JOIN (SELECT fn, name, module FROM %D.functions) USING fn" \
	" WHERE %W GROUP BY " keys " FORMAT TabSeparated"
#define BUCKETS_OF(keys, of)                                                                 \
	" FROM (SELECT fn, run, minute, b, c FROM %D.minutes ARRAY JOIN bucket AS b, count AS c" \
	" WHERE %W" of ") ANY LEFT JOIN (SELECT fn, name, module FROM %D.functions) USING fn"   \
	" GROUP BY " keys " FORMAT TabSeparated"
#define OF_FUNCTION " AND fn IN (SELECT fn FROM %D.functions WHERE name = %F)"

static const char *const ask_top[] = {
	"SELECT name, module, " NO_BUCKET " AS b, sum(calls), sum(total), sum(self), max(most),"
	" sum(durations), sum(timed)"
	FUNCTIONS_OF("name, module"),
	"SELECT name, module, b, sum(c), 0, 0, 0, 0, 0" BUCKETS_OF("name, module, b", ""),
	NULL,
};
static const char *const ask_sums[] = {
	"SELECT name, module, " NO_BUCKET " AS b, sum(calls), sum(total), sum(self), max(most),"
	" sum(durations), sum(timed), minIf(least, timed > 0)"
	FUNCTIONS_OF("name, module"),
	"SELECT name, module, b, sum(c), 0, 0, 0, 0, 0, 0" BUCKETS_OF("name, module, b", ""),
	NULL,
};
static const char *const ask_history[] = {
	"SELECT toUInt32(minute), " NO_BUCKET " AS b, sum(calls), sum(total), sum(self), max(most),"
	" sum(durations), sum(timed)"
	" FROM %D.minutes WHERE %W" OF_FUNCTION " GROUP BY minute FORMAT TabSeparated",
	"SELECT toUInt32(minute), b, sum(c), 0, 0, 0, 0, 0 FROM (SELECT minute, b, c FROM %D.minutes"
	" ARRAY JOIN bucket AS b, count AS c WHERE %W" OF_FUNCTION ") GROUP BY minute, b"
	" FORMAT TabSeparated",
	NULL,
};
static const char *const ask_outliers[] = {
	"SELECT host, " NO_BUCKET " AS b, sum(calls), sum(total), sum(self), max(most),"
	" sum(durations), sum(timed)"
	" FROM %D.minutes ANY LEFT JOIN (SELECT run, host FROM %D.runs) USING run"
	" WHERE %W" OF_FUNCTION " GROUP BY host FORMAT TabSeparated",
	"SELECT host, b, sum(c), 0, 0, 0, 0, 0 FROM (SELECT run, b, c FROM %D.minutes"
	" ARRAY JOIN bucket AS b, count AS c WHERE %W" OF_FUNCTION ")"
	" ANY LEFT JOIN (SELECT run, host FROM %D.runs) USING run GROUP BY host, b FORMAT TabSeparated",
	NULL,
};
static const char *const ask_runs[] = {
	"SELECT any(host), any(command), any(labels), run, intDiv(any(begin), 1000000000), any(calls),"
	" any(lost), any(call_rows), any(threshold)"
	" FROM %D.runs WHERE %W GROUP BY run FORMAT TabSeparated",
	NULL,
};

/* Groups by their keys: sums, of rows without a bucket, and p, the bucket in which the 99th
 * percentile is. NULL stands where there is no duration: p has no row of that key then. */
#define GROUPS(keys, bucket)                                                                 \
	"WITH sums AS (SELECT " keys ", sum(n) AS calls, sum(v0) AS total, sum(v1) AS self,"   \
	" max(v2) AS most, sum(v3) AS durations, sum(v4) AS timed FROM answer"                 \
	" WHERE " bucket " = " NO_BUCKET " GROUP BY " keys "), "                               \
	"steps AS (SELECT " keys ", " bucket " AS b, sum(n) AS c FROM answer"                  \
	" WHERE " bucket " < " NO_BUCKET " GROUP BY " keys ", " bucket "), "                   \
	"added AS (SELECT " keys ", b, sum(c) OVER (PARTITION BY " keys " ORDER BY b) AS upto," \
	" sum(c) OVER (PARTITION BY " keys ") AS whole FROM steps), "                          \
	"p AS (SELECT " keys ", min(b) AS b FROM added WHERE upto * 100 >= whole * 99"         \
	" GROUP BY " keys ")"
/* The middle of the bucket of minutes.h, in ns. Bucket b >= 4 begins at (4 + b % 4) << (b / 4 - 1)
 * and ends before (5 + b % 4) << (b / 4 - 1) (fleet_bucket()): the middle is half of their sum. */
#define MIDDLE(b)                                                                            \
	"(CASE WHEN " b " < 4 THEN " b " ELSE ((9 + 2 * (" b " % 4)) << (" b " / 4 - 1)) / 2 END)"
#define P99_NS MIDDLE("p.b") " AS p99_ns"

/* The numbers of a row: texts, keys and values, as struct fleet_question has them; the servers'
 * columns are the keys, then the count n, then the values v0, v1 and so on (query/answer.h). */
const struct fleet_question fleet_questions[] = {
	{ "top", "functions by the time in themselves", false, 2, 3, 5, ask_top,
	  GROUPS("k0, k1", "k2") " "
	  "SELECT sums.k0 AS name, sums.k1 AS module, calls, total AS total_ns, self AS self_ns, "
	  "durations / nullif(timed, 0) AS mean_ns, " P99_NS ", most AS max_ns "
	  "FROM sums LEFT JOIN p USING (k0, k1) ORDER BY self DESC, name" },
	{ "history", "a function's calls minute by minute", true, 0, 2, 5, ask_history,
	  GROUPS("k0", "k1") " "
	  "SELECT strftime('%Y-%m-%d %H:%M', sums.k0, 'unixepoch') AS minute, calls, "
	  "total AS total_ns, self AS self_ns, durations / nullif(timed, 0) AS mean_ns, "
	  P99_NS ", "
	  "most AS max_ns FROM sums LEFT JOIN p USING (k0) ORDER BY sums.k0" },
	{ "outliers", "a function's times by host, beside all others'", true, 1, 2, 5, ask_outliers,
	  GROUPS("k0", "k1") ", "
	  "every AS (SELECT sum(timed) AS timed, sum(durations) AS durations FROM sums) "
	  "SELECT sums.k0 AS host, sums.calls AS calls, "
	  "sums.durations / nullif(sums.timed, 0) AS mean_ns, "
	  "(every.durations - sums.durations) / nullif(every.timed - sums.timed, 0) AS others_ns, "
	  "round(1.0 * sums.durations * (every.timed - sums.timed)"
	  " / nullif(1.0 * sums.timed * (every.durations - sums.durations), 0), 2) AS ratio, "
	  P99_NS ", most AS max_ns "
	  "FROM sums CROSS JOIN every LEFT JOIN p USING (k0) ORDER BY ratio DESC, mean_ns DESC" },
	{ "runs", "what was pushed", false, 3, 5, 3, ask_runs,
	  "SELECT printf('%016llx', k3) AS run, k0 AS host, "
	  "strftime('%Y-%m-%d %H:%M:%S', k4, 'unixepoch') AS begin, n AS calls, v0 AS lost, "
	  "v1 AS call_rows, v2 AS threshold_ns, replace(k2, char(10), ' ') AS labels, k1 AS command "
	  "FROM answer ORDER BY k4, k3" },
	{ NULL, NULL, false, 0, 0, 0, NULL, NULL },
};

/* A middle may lie outside of the durations that there were. */
const struct fleet_question fleet_sums = {
	"sums", "functions as a comparison wants them", false, 2, 3, 6, ask_sums,
	GROUPS("k0, k1", "k2") ", "
	"half AS (SELECT k0, k1, min(b) AS b FROM added WHERE upto * 2 >= whole GROUP BY k0, k1), "
	"shortest AS (SELECT k0, k1, min(v5) AS least FROM answer WHERE k2 = " NO_BUCKET
	" AND v4 > 0 GROUP BY k0, k1) "
	"SELECT sums.k0, sums.k1, calls, total, self, least, durations / nullif(timed, 0), "
	"min(max(" MIDDLE("half.b") ", least), most), min(max(" MIDDLE("p.b") ", least), most), most "
	"FROM sums LEFT JOIN p USING (k0, k1) LEFT JOIN half USING (k0, k1) "
	"LEFT JOIN shortest USING (k0, k1)",
};

const struct fleet_question *fleet_question_find(const char *name)
{
	for (const struct fleet_question *q = fleet_questions; q->name; q++)
		if (!strcmp(q->name, name))
			return q;
	return NULL;
}

/* --- statements for servers ----------------------------------------------------- */

/* A text in ClickHouse's quotes. Backslashes begin escapes there, so that they are doubled, too:
 * without it a name could end the text. */
static void put_quoted(struct out *o, const char *text)
{
	out_char(o, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			out_char(o, '\\');
		out_char(o, *text);
	}
	out_char(o, '\'');
}

/* has_minutes: the rows have a column `minute`; those of runs have `begin`. A run without its row
 * in `runs` was not pushed whole, and does not count: hence the inner statement even where nothing
 * is chosen. The minute in which `since` lies counts as a whole, since its calls are not told
 * apart. toUInt32 makes seconds since 1970 of a DateTime, so that no time zone of the server's
 * matters. */
static void put_choice(struct out *o, const struct fleet_servers *s, const struct fleet_spec *w,
		       bool has_minutes)
{
	out_printf(o, "run IN (SELECT run FROM %s.runs WHERE 1", s->database);
	if (w->host) {
		out_str(o, " AND host = ");
		put_quoted(o, w->host);
	}
	if (w->of_run)
		out_printf(o, " AND run = %" PRIu64, w->run);
	if (w->before)
		out_printf(o, " AND begin < %" PRIu64, w->before * 1000000000);
	if (w->label) {
		out_str(o, " AND has(splitByChar('\\n', labels), ");
		put_quoted(o, w->label);
		out_char(o, ')');
	}
	out_char(o, ')');
	if (w->since && has_minutes)
		out_printf(o, " AND toUInt32(minute) + 60 > %" PRIu64, w->since);
	else if (w->since)
		out_printf(o, " AND begin >= %" PRIu64, w->since * 1000000000);
}

char *fleet_question_statement(const char *ask, const struct fleet_servers *s,
			       const struct fleet_spec *w)
{
	/* By the name of the table, minutes, that it reads. */
	const bool has_minutes = strstr(ask, "minutes") != NULL;
	struct out_text text = { 0 };
	struct out o;

	out_init_raw(&o, out_keep_text, &text);
	for (; *ask; ask++) {
		if (*ask != '%' || !strchr("DFW", ask[1])) {
			out_char(&o, *ask);
			continue;
		}
		switch (*++ask) {
		case 'D': out_str(&o, s->database); break;
		case 'F': put_quoted(&o, w->function); break;
		default: put_choice(&o, s, w, has_minutes);
		}
	}
	return out_text_end(&o);
}

/* --- their answers ----------------------------------------------------- */

/* Sums of numbers up to here, of as many servers as there may be, are numbers of SQLite's. False:
 * it is more. Keys are not added up. A server that is not to be trusted could otherwise make sum()
 * of SQLite fail with an overflow. */
static bool read_number(const char *field, bool is_key, uint64_t *number)
{
	*number = strtoull(field, NULL, 10);
	return is_key || *number <= INT64_MAX / FLEET_SERVERS_MAX;
}

/* A line of the answer, which ends with a NUL. False: it has another number of fields, or a number
 * that is too large. */
static bool take_row(const struct fleet_question *q, char *line, struct query *to)
{
	const unsigned n = q->keys + 1 + q->values;
	struct query_cell cells[CELLS_MAX] = { { 0 } };
	char *at = line, *field;

	for (unsigned i = 0; i < n; i++) {
		field = at ? fleet_answer_field(&at) : NULL;
		if (!field || (at == NULL) != (i + 1 == n))
			return false;
		if (i < q->texts)
			fleet_answer_unescape(field);
		if (i < q->texts)
			cells[i].text = field;
		else if (!read_number(field, i < q->keys, &cells[i].number))
			return false;
	}
	query_answer_add(to, cells, n);
	return true;
}

int fleet_question_take(const struct fleet_question *q, char *text, struct query *to,
			struct fleet_answer *a, struct err *err)
{
	char *line;
	int r;

	while ((r = fleet_answer_line(&text, &line, err)) > 0) {
		if (!take_row(q, line, to))
			return err_set(err, EPROTO, "its answer has other columns than it was asked for, or a number that no sum of calls can have");
		a->rows++;
	}
	return r;
}

/* Sets *lost to the records that were lost in these runs. */
static int ask_lost(const struct fleet_servers *s, size_t server, const struct fleet_spec *w,
		    uint64_t *lost, struct err *err)
{
	static const char statement[] = "SELECT sum(lost) FROM (SELECT run, any(lost) AS lost"
					" FROM %D.runs WHERE %W GROUP BY run) FORMAT TabSeparated";
	char *sql = fleet_question_statement(statement, s, w), *text;
	int r = fleet_ask(s, server, sql, &text, err);

	free(sql);
	if (r)
		return r;
	*lost = strtoull(text, NULL, 10);
	free(text);
	return 0;
}

struct asking {
	const struct fleet_question *question;
	const struct fleet_servers *servers;
	const struct fleet_spec *spec;
	struct query *to;
	struct fleet_answer *answer;
};

/* All of a question's statements at one server: its rows and losses count only if all are answered.
 * So half of a server's answer is in no figure. The texts are kept until the last has come: 64 MB
 * each at most. */
static int ask_server(void *arg, size_t server, struct err *err)
{
	const struct asking *k = arg;
	const struct fleet_question *q = k->question;
	const struct fleet_servers *s = k->servers;
	VEC(char *) texts = { 0 };
	uint64_t lost = 0;
	int r = ask_lost(s, server, k->spec, &lost, err);

	for (size_t i = 0; !r && q->asks[i]; i++) {
		char *sql = fleet_question_statement(q->asks[i], s, k->spec), *text;

		r = fleet_ask(s, server, sql, &text, err);
		if (!r)
			*vec_add(&texts) = text;
		free(sql);
	}
	for (size_t i = 0; i < texts.n; i++) {
		if (!r && fleet_question_take(q, texts.at[i], k->to, k->answer, err))
			r = err_prefix(err, "%s is not to be trusted", s->at.at[server].url);
		free(texts.at[i]);
	}
	vec_free(&texts);
	k->answer->lost += r ? 0 : lost;
	return r;
}

int fleet_question_ask(const struct fleet_question *q, const struct fleet_servers *s,
		       const struct fleet_spec *w, uint64_t limit, const struct query_sink *sink,
		       void *arg, struct fleet_answer *a, struct err *err)
{
	struct asking asking = { .question = q, .servers = s, .spec = w, .answer = a };
	struct query *query;
	char *select;
	int r = query_answer_open(q->keys, q->values, &query, err);

	if (r)
		return r;
	asking.to = query;
	r = fleet_answer_all(s, ask_server, &asking, a, err);
	if (!r && a->rows) {
		/* A limit of -1 is none, in SQLite. */
		select = mem_printf("%s LIMIT %" PRId64, q->select, limit ? (int64_t)limit : -1);
		r = query_run(query, select, sink, arg, err);
		free(select);
	}
	query_close(query);
	return r;
}
