/* SPDX-License-Identifier: MIT */
/* Opens a database in memory whose tables are the trace, and runs statements in it. Called by ui
 * and by the library, on their threads. Fails as SQLite does, and as reading the trace does. */
#include "query/query.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "query/extract_arg.h"
#include "query/groups.h"
#include "query/percentiles.h"
#include "query/table.h"

/* Bytes that are shown of a statement at fault: before the place, and in all. */
#define LINE_BEFORE 60u
#define LINE_MOST 140u

/* A database of which a part is missing is closed by query_open(). */
static int create_all(struct query *q)
{
	int r = percentiles_create(q->db);

	if (r == SQLITE_OK)
		r = extract_arg_create(q);
	for (const struct query_table *t = query_tables; t->name && r == SQLITE_OK; t++)
		r = table_create(q, t);
	if (r == SQLITE_OK)
		r = table_create(q, &groups_table);
	return r == SQLITE_OK ? query_make_views(q->db, "main") : r;
}

/* NOMUTEX: one thread uses the database. Nothing of it is ever on a disk. */
int query_open_database(struct query *q)
{
	return sqlite3_open_v2(":memory:", &q->db,
			       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			       NULL);
}

int query_opened(struct query *q, int r, struct query **out, struct err *err)
{
	if (r != SQLITE_OK) {
		err_set(err, ENOMEM, "cannot open SQLite's database: %s", sqlite3_errstr(r));
		query_close(q);
		return -ENOMEM;
	}
	*out = q;
	return 0;
}

int query_open(struct store_reader *reader, struct query **out, struct err *err)
{
	struct query *q = mem_zalloc(sizeof(*q));
	int r = query_open_database(q);

	/* Comes before the first failure: query_close() frees it. */
	load_init(&q->load, reader);
	q->groups.values.fd = -1;
	if (r == SQLITE_OK)
		r = create_all(q);
	return query_opened(q, r, out, err);
}

/* part stays the caller's, and is read when a statement first needs records. */
void query_choose(struct query *q, const struct excerpt_spec *part)
{
	q->load.part = part;
}

void query_close(struct query *q)
{
	if (!q)
		return;
	/* SQLite goes first: its tables read the arrays that are freed behind it. */
	sqlite3_finalize(q->insert);
	sqlite3_close(q->db);
	for (size_t i = 0; i < q->indexes.n; i++)
		index_free(q->indexes.at[i]);
	vec_free(&q->indexes);
	event_values_free(&q->values);
	call_values_free(&q->call_values);
	counters_free(&q->counters);
	groups_free(&q->groups);
	if (q->summed)
		summary_free(&q->summary);
	load_free(&q->load);
	free(q);
}

/* For hosts that must not have other threads: groups.c and the summary compute on the caller's
 * then. */
void query_stay_alone(struct query *q)
{
	q->alone = true;
}

/* For lines that are typed: a statement that lacks its semicolon goes on in the next line. */
bool query_is_complete(const char *sql)
{
	return sqlite3_complete(sql);
}

/* --- running ----------------------------------------------------------------------------- */

/* The line of a text of several that has that place in it, without the blanks that it begins with.
 * A long one is shown from shortly before the place on. */
static int fail_at(const char *sql, size_t place, const char *message, struct err *err)
{
	size_t begin, n;
	char *line;

	place = strnlen(sql, place);
	begin = place;
	while (begin && sql[begin - 1] != '\n')
		begin--;
	while (begin < place && strchr(" \t\r", sql[begin]))
		begin++;
	if (place - begin > LINE_BEFORE)
		begin = place - LINE_BEFORE;
	while (begin < place && ((unsigned char)sql[begin] & 0xc0) == 0x80) /* inside a character */
		begin++;
	n = strcspn(sql + begin, "\r\n");
	line = mem_strndup(sql + begin, n < LINE_MOST ? n : LINE_MOST);
	err_at(err, EINVAL, line, place - begin, "%s", message);
	free(line);
	return -EINVAL;
}

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Where the word stands in the statement as a word; its end, if nowhere. */
static size_t place_of_word(const char *sql, const char *word)
{
	const size_t n = strlen(word);

	for (const char *c = sql; n && (c = strcasestr(c, word)); c += n)
		if ((c == sql || !is_word_byte(c[-1])) && !is_word_byte(c[n]))
			return (size_t)(c - sql);
	return strlen(sql);
}

/* Where a statement that ends too early ends: behind its last word. */
static size_t end_of(const char *sql)
{
	size_t n = strlen(sql);

	while (n && strchr(" \t\r\n", sql[n - 1]))
		n--;
	return n;
}

/* Adds what could be meant where SQLite says only what is not: `word` is no table, column or
 * function. `names` selects those there are, and the table of each. The caller frees the
 * sentence. */
static char *with_nearest(struct query *q, const char *message, const char *word,
			  const char *names)
{
	struct nearest near = { word, NULL, 0 };
	char *best = NULL, *sentence;
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(q->db, names, -1, &s, NULL) != SQLITE_OK)
		return mem_strdup(message);
	while (sqlite3_step(s) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);
		const char *before = near.best;

		/* Another table has the very name. */
		if (name && strcasecmp(name, word) == 0) {
			free(best);
			best = NULL;
			sentence = mem_printf("%s (%s has it)", message,
					      (const char *)sqlite3_column_text(s, 1));
			sqlite3_finalize(s);
			return sentence;
		}
		if (name)
			nearest_offer(&near, name);
		if (near.best == before)
			continue;
		free(best);
		near.best = best = mem_strdup(name);
	}
	sqlite3_finalize(s);
	sentence = best ? mem_printf("%s (did you mean %s?)", message, best) : mem_strdup(message);
	free(best);
	return sentence;
}

/* The kinds of names that SQLite misses, and where those stand that there are. Columns are those
 * of brace's own tables. */
static const struct { const char *message, *names, *advice; } missing[] = {
	{ "no such table: ",
	  "SELECT name, name FROM brace_table UNION SELECT name, name FROM sqlite_master",
	  "; SELECT * FROM brace_table names those there are" },
	{ "no such column: ",
	  "SELECT c.name, t.name FROM brace_table t, pragma_table_info(t.name) c", "" },
	{ "no such function: ", "SELECT name, name FROM pragma_function_list", "" },
};

/* The sentence for SQLite's. *word: the name that is missing, within the message; NULL: none is.
 * The caller frees the sentence. */
static char *sentence_for(struct query *q, const char *message, const char **word)
{
	char *sentence, *all;

	*word = NULL;
	for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++) {
		const char *name = message + strlen(missing[i].message), *dot;

		if (strncmp(message, missing[i].message, strlen(missing[i].message)) != 0)
			continue;
		*word = name;
		dot = strrchr(name, '.');
		sentence = with_nearest(q, message, dot ? dot + 1 : name, missing[i].names);
		all = mem_printf("%s%s", sentence, missing[i].advice);
		free(sentence);
		return all;
	}
	return mem_strdup(message);
}

/* Where a table failed, SQLite knows "SQL logic error" only: q->err has the sentence, and is
 * taken by this call. */
int query_fail(struct query *q, const char *sql, const char *at, struct err *err)
{
	int offset = sqlite3_error_offset(q->db), r;
	char *message, *sentence;
	const char *word;
	size_t place;

	if (q->err.code) {
		*err = q->err;
		q->err = (struct err){ 0 };
		return -err->code;
	}
	message = mem_strdup(sqlite3_errmsg(q->db));
	sentence = sentence_for(q, message, &word);
	place = offset >= 0 ? (size_t)(at - sql) + (size_t)offset :
		word ? (size_t)(at - sql) + place_of_word(at, word) : end_of(sql);
	if (offset < 0 && !word && strcmp(message, "incomplete input") != 0)
		r = err_set(err, EINVAL, "%s", sentence);
	else
		r = fail_at(sql, place, sentence, err);
	free(sentence);
	free(message);
	return r;
}

/* Once for each statement, also if it then has no row: a table without rows has a head, too. */
static int give_columns(sqlite3_stmt *s, const struct query_sink *sink, void *arg)
{
	unsigned n = (unsigned)sqlite3_column_count(s);
	const char **names = mem_zalloc((n + 1) * sizeof(*names));
	int r;

	for (unsigned i = 0; i < n; i++)
		names[i] = sqlite3_column_name(s, (int)i);
	r = sink->columns(arg, names, n);
	free(names);
	return r;
}

/* Asks for the type first, because sqlite3_column_text() may convert the value and its type with
 * it. */
static void read_value(sqlite3_stmt *s, int i, struct query_value *v)
{
	int type = sqlite3_column_type(s, i);

	v->type = type == SQLITE_NULL                              ? QUERY_NULL
		: type == SQLITE_INTEGER || type == SQLITE_FLOAT ? QUERY_NUMBER
								     : QUERY_TEXT;
	v->text = (const char *)sqlite3_column_text(s, i);
}

/* Steps through the rows. SQLITE_DONE, or what SQLite failed with. */
static int give_rows(sqlite3_stmt *s, const struct query_sink *sink, void *arg)
{
	unsigned n = (unsigned)sqlite3_column_count(s);
	struct query_value *values = mem_zalloc((n + 1) * sizeof(*values));
	int r;

	while ((r = sqlite3_step(s)) == SQLITE_ROW) {
		for (unsigned i = 0; i < n; i++)
			read_value(s, (int)i, &values[i]);
		/* The sink wants no more (its reader has gone away): no failure of the query. */
		if (sink->row(arg, values, n)) {
			r = SQLITE_DONE;
			break;
		}
	}
	free(values);
	return r;
}

/* Statements without columns (CREATE VIEW, ...) give the sink nothing. */
static int run_statement(sqlite3_stmt *s, const struct query_sink *sink, void *arg)
{
	if (sqlite3_column_count(s) && give_columns(s, sink, arg))
		return SQLITE_DONE;
	return give_rows(s, sink, arg);
}

/* Puts another statement in the place of one that groups.h can answer. SQLite has parsed it. 0, or
 * -errno and q->err. */
static int choose_way(struct query *q, const char *sql, const char *end, sqlite3_stmt **s)
{
	struct groups_spec spec;
	sqlite3_stmt *other;
	char *select;
	int r;

	if (q->changed || !q->load.reader || !groups_read(sql, (size_t)(end - sql), &spec, &select))
		return 0;
	r = groups_make(q, &spec);
	if (r > 0 && sqlite3_prepare_v2(q->db, select, -1, &other, NULL) == SQLITE_OK) {
		sqlite3_finalize(*s);
		*s = other;
	}
	free(select);
	return r < 0 ? r : 0;
}

/* A statement is prepared when those before it have run: it may name a view that they make. */
int query_run(struct query *q, const char *sql, const struct query_sink *sink, void *arg,
	      struct err *err)
{
	const char *at = sql, *next;
	sqlite3_stmt *s;
	int r = SQLITE_OK;

	if (q->insert && q->err.code)
		return query_fail(q, sql, at, err);
	/* The first statement that fails ends a text of several; earlier ones have given rows. */
	for (; *at && (r == SQLITE_OK || r == SQLITE_DONE); at = next) {
		if (sqlite3_prepare_v2(q->db, at, -1, &s, &next) != SQLITE_OK)
			return query_fail(q, sql, at, err);
		if (!s) /* a comment, or blanks */
			continue;
		q->changed |= !sqlite3_column_count(s);
		r = choose_way(q, at, next, &s) ? SQLITE_ERROR : run_statement(s, sink, arg);
		if (r != SQLITE_DONE)
			query_fail(q, sql, at, err);
		sqlite3_finalize(s);
	}
	return r == SQLITE_OK || r == SQLITE_DONE ? 0 : -err->code;
}
