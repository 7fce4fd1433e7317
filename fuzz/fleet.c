/* SPDX-License-Identifier: MIT */
/* Any text as an address of servers: it is refused with its column, or each server has a name of
 * which no character means anything to curl. Any bytes as a server's answer to each
 * question, to a user's own statement and to one for a part of a trace's file; and as the note of a
 * trace in a spool: what is read of it is written and read again as it was. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fleet/questions.h"
#include "fleet/spool.h"
#include "fleet/statement.h"
#include "fleet/trace_file.h"
#include "query/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_addresses(const char *text)
{
	struct fleet_servers s = { 0 };
	struct err err = { 0 };

	if (fleet_servers_read(&s, text, &err)) {
		if (err.code <= 0 || err.column > strlen(err.input))
			abort();
	} else {
		for (size_t i = 0; i < s.at.n; i++)
			if (strpbrk(s.at.at[i].url, "\"\\\n\r @?#{}"))
				abort();
	}
	fleet_servers_free(&s);
}

static int no_columns(void *arg, const char *const *names, unsigned n)
{
	return 0;
}

static int no_row(void *arg, const struct query_value *values, unsigned n)
{
	return 0;
}

static void read_answer(const struct fleet_question *q, char *text)
{
	static const struct query_sink sink = { no_columns, no_row };
	struct fleet_answer a = { 0 };
	struct query *query;
	struct err err = { 0 };

	if (query_answer_open(q->keys, q->values, &query, &err))
		abort();
	if (fleet_question_take(q, text, query, &a, &err) && !*err.text)
		abort();
	/* Any numbers have an answer, or an error of SQLite's. */
	query_run(query, q->select, &sink, NULL, &err);
	query_close(query);
}

/* Rows of two servers, whose answers are the same, are twice those of one. */
static void read_rows(char *text)
{
	static const struct query_sink sink = { no_columns, no_row };
	struct fleet_rows rows = { 0 };
	struct err err = { 0 };
	char *again = mem_strdup(text);
	uint64_t n;

	if (fleet_rows_take(&rows, text, &err)) {
		if (!*err.text)
			abort();
	} else {
		n = rows.n;
		if (fleet_rows_take(&rows, again, &err) || rows.n != 2 * n ||
		    query_run(rows.query, "SELECT * FROM answer", &sink, NULL, &err))
			abort();
	}
	free(again);
	fleet_rows_free(&rows);
}

/* A part lies within its answer. */
static void read_part(const char *answer, size_t n)
{
	size_t size;
	const char *part = fleet_trace_part(answer, n, &size);

	if (part && (part < answer || part + size != answer + n))
		abort();
}

static void read_note(const char *text)
{
	struct spool_note n, again;
	struct err err = { 0 };
	char *written;

	if (spool_note_read(&n, text, &err)) {
		if (!*err.text)
			abort();
	} else {
		written = spool_note_write(&n);
		if (spool_note_read(&again, written, &err) || strcmp(n.to, again.to) ||
		    strcmp(n.labels, again.labels) || n.calls != again.calls ||
		    n.no_command != again.no_command)
			abort();
		free(written);
		spool_note_free(&again);
	}
	spool_note_free(&n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text;

	if (!n)
		return 0;
	read_part((const char *)data + 1, n - 1);
	text = mem_strndup((const char *)data + 1, n - 1);
	if (*data % 8 == 7)
		read_rows(text);
	else if (*data % 8 == 6)
		read_answer(&fleet_sums, text);
	else if (*data % 8 == 5)
		read_note(text);
	else if (*data % 8 == 4)
		read_addresses(text);
	else
		read_answer(&fleet_questions[*data % 8], text);
	free(text);
	return 0;
}
