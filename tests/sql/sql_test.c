/* Statements, without programs: which are wide and what they become, which have a fault and where.
 * sqlhist's own are held against libtracefs's by tests/run/sql.sh; the answers of wide ones against
 * sqlite3 by tests/run/sql-wide.sh. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/mem.h"
#include "sql/sql.h"

static const struct event_field fields[] = {
	{ "int", "a", 8, 4, true },	    { "char[8]", "s", 12, 8, false },
	{ "u64", "__frame", 24, 8, false }, { "u64", "size", 32, 8, false },
	{ "s64", "retval", 40, 8, true },
};
static const struct event_format events[] = {
	{ "test", "one", 1, fields, 5, "" },	 { "test", "two", 2, fields, 5, "" },
	{ "test", "three", 3, fields, 5, "" },	 { "uprobes", "f", 4, fields, 5, "" },
	{ "uprobes", "f_end", 5, fields, 5, "" },
};

/* sql_options.find */
static const struct event_format *find(void *arg, const char *name, size_t n, const char *uses, struct err *err)
{
	static const struct { const char *name; size_t event; } known[] = {
		{ "one", 0 }, { "test.one", 0 }, { "two", 1 }, { "three", 2 }, { "calls.f", 3 },
		{ "calls.f%return", 4 }, { "calls.g", 3 }, { "calls.g%return", 4 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == n && !strncmp(known[i].name, name, n))
			return &events[known[i].event];
	return NULL;
}

static int translate(const char *text, struct sql_writes *w, struct err *err)
{
	const struct sql_options o = { .name = "made", .find = find };
	struct sql_statement s;
	int e = sql_parse(text, &s, err);

	if (e)
		return e;
	e = sql_translate(&s, &o, w, err);
	sql_free(&s);
	return e;
}

/* Lines without the numbers that variables have, parted by |. */
static char *lines_of(const struct sql_writes *w)
{
	char *text;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	for (size_t i = 0; i < w->at.n; i++) {
		fputs(i ? "|" : "", to);
		for (const char *c = w->at.at[i].text; *c; c++) {
			char *end;

			fputc(*c, to);
			if (*c != '_' || c[1] < '0' || c[1] > '9')
				continue;
			strtoul(c + 1, &end, 10);
			if (*end == '_')
				c = end - 1;
		}
	}
	fclose(to);
	return text;
}

/* SQLite takes it over the columns that are promised. */
static void must_be_sql(const struct sql_writes *w)
{
	char *table;
	size_t n;
	FILE *to = mem_stream(&table, &n);
	sqlite3_stmt *s;
	sqlite3 *db;

	fputs("CREATE TABLE answer (n", to);
	for (unsigned i = 0; i < w->n_keys; i++)
		fprintf(to, ", k%u", i);
	for (unsigned i = 0; i < w->n_values; i++)
		fprintf(to, ", v%u", i);
	fputs(")", to);
	fclose(to);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, table, NULL, NULL, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, w->select, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s", w->select, sqlite3_errmsg(db));
	sqlite3_finalize(s);
	sqlite3_close(db);
	free(table);
}

static void becomes(void **state)
{
	static const struct { const char *text, *lines, *select; } cases[] = {
		{ "SELECT a FROM one", "hist:keys=a", NULL },
		{ "select x.a, (y.size - x.size) as d from one x join two y on x.a = y.a",
		  "s:made s32 a; u64 d;|hist:keys=a:__arg__2=a,__arg__3=size|"
		  "hist:keys=a:__a__1=$__arg__2,__d__4=size-$__arg__3:onmatch(test.one).trace(made,$__a__1,$__d__4)", NULL },
		{ "SELECT a, count(*) FROM one GROUP BY a", "hist:keys=a:size=131072",
		  "SELECT k0 AS \"a\", n AS \"count(*)\" FROM answer" },
		{ "SELECT s, avg(size) AS mean, p99(size), min(size * 2) FROM one WHERE a > 3 GROUP BY s HAVING mean > 5 AND "
		  "NOT s = 'it''s' ORDER BY 2 DESC, s LIMIT 3",
		  NULL, NULL },
		{ "SELECT s, avg(size) AS mean, p99(size), min(size * 2) FROM one WHERE a > 3 GROUP BY s HAVING mean > 5 ORDER BY 2 DESC",
		  "hist:keys=s:vals=size,size.p99,(size*2).min:size=131072 if a > 3",
		  "SELECT k0 AS \"s\", (v0 * 1.0 / n) AS \"mean\", v1 AS \"p99(size)\", v2 AS \"min(size * 2)\" FROM answer "
		  "WHERE ((v0 * 1.0 / n) > 5) ORDER BY 2 DESC" },
		{ "SELECT (size - a) / 8 AS part FROM one", "hist:keys=(size-a)/8:size=131072",
		  "SELECT k0 AS \"part\", n AS \"hitcount\" FROM answer" },
		{ "SELECT sum(size) / count(*) FROM one", "hist:keys=0:vals=size:size=131072",
		  "SELECT (v0 / n) AS \"sum(size) / count(*)\" FROM answer" },
		{ "SELECT CAST(size AS LOG2) AS p, COUNT(*) FROM one GROUP BY p ORDER BY p", "hist:keys=size.log2:size=131072",
		  "SELECT k0 AS \"p\", n AS \"COUNT(*)\" FROM answer ORDER BY k0" },
		{ "SELECT size * 2 AS size, max(a) FROM one GROUP BY s, size HAVING size > 4", "hist:keys=s,size*2:vals=a.max:size=131072",
		  "SELECT k1 AS \"size\", v0 AS \"max(a)\" FROM answer WHERE (k1 > 4)" },
		{ "SELECT c.size, c.duration FROM calls.f AS c WHERE c.duration > 5",
		  "s:made u64 size; u64 duration;|hist:keys=common_pid,__frame:__arg__1=common_timestamp,__arg__3=size,__arg__5=common_timestamp:"
		  "size=131072|hist:keys=common_pid,__frame:__age__2=common_timestamp-$__arg__1,__size__4=$__arg__3,"
		  "__duration__6=(common_timestamp-$__arg__5):size=131072:onmatch(uprobes.f).trace(made,$__size__4,$__duration__6)|"
		  "duration > 5", NULL },
		{ "SELECT count(*) FROM one ~~ two AS x EXPIRE 1ms",
		  "s:made u64 age;|hist:keys=common_pid:__arg__1=common_timestamp:nested:size=131072|"
		  "hist:keys=common_pid:__age__2=common_timestamp-$__arg__1:size=131072:onmatch(test.one).trace(made,$__age__2)|"
		  "hist:keys=0:size=131072 if age <= 1000000", "SELECT n AS \"count(*)\" FROM answer" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sql_writes w;
		struct err err;
		char *lines;

		if (translate(cases[i].text, &w, &err)) {
			/* The only one that has to be refused: a quote ends its string. */
			assert_null(cases[i].lines);
			continue;
		}
		lines = lines_of(&w);
		assert_non_null(cases[i].lines);
		assert_string_equal(lines, cases[i].lines);
		free(lines);
		assert_int_equal(!cases[i].select, !w.select);
		if (w.select) {
			assert_string_equal(w.select, cases[i].select);
			must_be_sql(&w);
		}
		sql_writes_free(&w);
	}
}

/* Each stage's event is the next one's; what is needed later comes along. */
static void stages(void **state)
{
	struct sql_writes w;
	struct err err;
	char *lines;

	assert_int_equal(translate("SELECT x.s, max(z.TIMESTAMP - x.TIMESTAMP) FROM one x JOIN two y ON x.a = y.a JOIN three z ON y.size = z.size "
				   "AND x.a = z.a WHERE x.size > 1 AND (z.size < 9 OR x.size = 7) GROUP BY x.s", &w, &err), 0);
	lines = lines_of(&w);
	assert_int_equal(w.at.n, 7);
	assert_non_null(strstr(lines, "s:made_1 "));
	assert_non_null(strstr(lines, ":onmatch(test.one).trace(made_1,"));
	assert_non_null(strstr(lines, ":onmatch(synthetic.made_1).trace(made,"));
	assert_non_null(strstr(lines, " if size > 1|"));
	assert_string_equal(w.at.at[6].file, "events/synthetic/made/trigger");
	assert_string_equal(w.result, "synthetic:made");
	free(lines);
	sql_writes_free(&w);
}

static void refused(void **state)
{
	static const struct { const char *text, *sentence; size_t column; } cases[] = {
		{ "SELECT FROM one", "a field is expected", 7 },
		{ "SELECT median(a) FROM one", "there is no function median", 7 },
		{ "SELECT a, count(*) FROM one GROUP BY s", "neither in GROUP BY", 7 },
		{ "SELECT sum(s) FROM one", "has no sum", 11 },
		{ "SELECT s * 2 FROM one", "is a text", 7 },
		{ "SELECT sum(max(a)) FROM one", "a function of a function", 11 },
		{ "SELECT a FROM one LIMIT x", "the number of rows", 24 },
		{ "SELECT a FROM one LIMIT -1", "the number of rows", 24 },
		{ "SELECT a FROM one GROUP BY a EVERY 0s", "a time", 35 },
		{ "SELECT a FROM one GROUP BY a HAVING", "the statement ends", 35 },
		{ "SELECT x.a FROM one x JOIN two y ON x.a = y.a JOIN three z ON x.a = y.a", "is matched with one of the tables before", 68 },
		{ "SELECT x.a FROM one x JOIN two y ON x.a = y.s JOIN three z ON x.a = z.a", "never match", 42 },
		{ "SELECT count(*) FROM one x JOIN one y ON x.a = y.a", "meets itself", 32 },
		{ "SELECT c.size + 1 FROM calls.f c", "needs a name", 7 },
		{ "SELECT c.size, c.a AS size FROM calls.f c", "is called size already", 15 },
		{ "SELECT c.size FROM calls.h c", "there is no such function", 25 },
		{ "SELECT c.size FROM calls.f c ORDER BY c.size", "as they are made", 38 },
		{ "SELECT c.size FROM calls.f c WITHIN g:2", "without a depth", 36 },
		{ "SELECT count(*) FROM one x JOIN two y ON x.a = y.a WITHIN g", "match common_pid first", 58 },
		{ "SELECT count(*) FROM one WITHIN g", "is for pairs", 32 },
		{ "SELECT a + 99999999999999999999 FROM one", "is no number of 64 bits", 11 },
		{ "SELECT a + a + a + a + a FROM one", "at most 3 operators", 7 },
		{ "SELECT count(*) FROM one HAVING a = ", "the statement ends", 36 },
		{ "SELECT count(*) FROM one GROUP BY a; SELECT", "the end is expected", 37 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sql_writes w;
		struct err err;

		if (!translate(cases[i].text, &w, &err))
			fail_msg("%s is taken", cases[i].text);
		if (!strstr(err.text, cases[i].sentence) || err.column != cases[i].column)
			fail_msg("%s: %s, column %zu", cases[i].text, err.text, (size_t)err.column);
	}
}

/* A deep or a long one ends with a sentence, not with the stack. More parts would take minutes
 * under AddressSanitizer's strict_string_checks, which reads all the text in each comparison. */
static void large(void **state)
{
	static const struct { const char *before, *part, *after; } cases[] = {
		{ "SELECT count(*) FROM one HAVING ", "(", "a" }, { "SELECT count(*)", "+1", " FROM one" },
		{ "SELECT count(*) FROM one HAVING ", "NOT ", "a = 1" }, { "SELECT count(*) FROM one WHERE a=1", " OR a=1", "" },
		{ "SELECT count(*) FROM one GROUP BY a", ",a", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sql_writes w;
		struct err err;
		char *text;
		size_t n;
		FILE *to = mem_stream(&text, &n);

		fputs(cases[i].before, to);
		for (unsigned k = 0; k < 20000; k++)
			fputs(cases[i].part, to);
		fputs(cases[i].after, to);
		fclose(to);
		assert_int_equal(translate(text, &w, &err), -EINVAL);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(becomes), cmocka_unit_test(stages), cmocka_unit_test(refused), cmocka_unit_test(large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
