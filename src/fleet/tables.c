/* SPDX-License-Identifier: MIT */
/* Columns of a fleet's tables, and rows as bytes. push.c calls it, on the command's thread;
 * nothing fails: struct out keeps the error of a write. */
#include "fleet/tables.h"

#include <string.h>

#include "base/mem.h"

#define SAME_CHUNK 1024 /* rows */

/* width: bytes of a value; 0: texts and arrays, which have lengths of their own. Names are
 * ClickHouse's: they go into CREATE TABLE and into each block, and must agree. */
static const struct { const char *name; unsigned width; } types[FLEET_TYPES] = {
	[FLEET_DATE] = { "Date", 2 }, [FLEET_TIME] = { "DateTime", 4 },
	[FLEET_U16] = { "UInt16", 2 }, [FLEET_U32] = { "UInt32", 4 },
	[FLEET_U64] = { "UInt64", 8 }, [FLEET_TEXT] = { "String", 0 },
	[FLEET_SMALLS] = { "Array(UInt8)", 0 }, [FLEET_COUNTS] = { "Array(UInt64)", 0 },
};

/* A batch of calls or minutes is of one day, so that it becomes one part of a table, which is there
 * whole or not at all. Rows of functions and runs may come twice: their engine keeps one. */
const struct fleet_table fleet_tables[FLEET_TABLES] = {
	[FLEET_FUNCTIONS] = { "functions",
		{ { "fn", FLEET_U64 }, { "name", FLEET_TEXT }, { "module", FLEET_TEXT },
		  { "build_id", FLEET_TEXT }, { "addr", FLEET_U64 } },
		"ReplacingMergeTree ORDER BY fn" },
	[FLEET_MINUTES] = { "minutes",
		{ { "day", FLEET_DATE }, { "minute", FLEET_TIME }, { "run", FLEET_U64 },
		  { "batch", FLEET_U32 }, { "fn", FLEET_U64 }, { "calls", FLEET_U64 },
		  { "timed", FLEET_U64 }, { "durations", FLEET_U64 }, { "total", FLEET_U64 },
		  { "self", FLEET_U64 }, { "least", FLEET_U64 }, { "most", FLEET_U64 },
		  { "bucket", FLEET_SMALLS }, { "count", FLEET_COUNTS } },
		"MergeTree PARTITION BY day ORDER BY (fn, minute, run)" },
	[FLEET_CALLS] = { "calls",
		{ { "day", FLEET_DATE, true }, { "run", FLEET_U64, true },
		  { "batch", FLEET_U32, true }, { "pid", FLEET_U32 }, { "tid", FLEET_U32 }, { "begin", FLEET_U64 },
		  { "duration", FLEET_U64 }, { "self", FLEET_U64 }, { "depth", FLEET_U32 },
		  { "fn", FLEET_U64 } },
		"MergeTree PARTITION BY day ORDER BY (run, tid, begin)" },
	[FLEET_TRACES] = { "traces",
		{ { "day", FLEET_DATE }, { "run", FLEET_U64 }, { "batch", FLEET_U32 },
		  { "parts", FLEET_U32 }, { "size", FLEET_U64 }, { "hash", FLEET_U64 },
		  { "bytes", FLEET_TEXT } },
		"MergeTree PARTITION BY day ORDER BY (run, batch)" },
	[FLEET_RUNS] = { "runs",
		{ { "run", FLEET_U64 }, { "day", FLEET_DATE }, { "begin", FLEET_U64 },
		  { "host", FLEET_TEXT }, { "pid", FLEET_U32 }, { "command", FLEET_TEXT },
		  { "labels", FLEET_TEXT }, { "version", FLEET_TEXT }, { "calls", FLEET_U64 },
		  { "lost", FLEET_U64 }, { "threshold", FLEET_U64 }, { "minute_rows", FLEET_U64 },
		  { "call_rows", FLEET_U64 } },
		"ReplacingMergeTree PARTITION BY day ORDER BY run" },
};

unsigned fleet_table_columns(const struct fleet_table *t)
{
	unsigned n = 0;

	while (n < FLEET_COLUMNS_MAX && t->columns[n].name)
		n++;
	return n;
}

/* IF NOT EXISTS leaves a table of an older brace as it is: a new column would need an ALTER
 * here. */
void fleet_table_create(const struct fleet_table *t, const char *database, struct out *o)
{
	out_printf(o, "CREATE TABLE IF NOT EXISTS %s.%s (", database, t->name);
	for (unsigned i = 0; i < fleet_table_columns(t); i++)
		out_printf(o, "%s%s %s", i ? ", " : "", t->columns[i].name,
			   types[t->columns[i].type].name);
	out_printf(o, ") ENGINE = %s", t->engine);
}

/* %D is the database. A run's number is what `brace fleet runs` prints as its digits. */
#define OF_RUNS "ANY INNER JOIN (SELECT run, host, labels FROM %D.runs) USING run"
#define OF_FUNCTIONS "ANY LEFT JOIN (SELECT fn, name, module FROM %D.functions) USING fn"
const struct fleet_view fleet_views[] = {
	{ "whole_runs",
	  "SELECT run, substring(concat('0000000000000000', lower(hex(run))), length(hex(run)) + 1, 16)"
	  " AS id, day, toDateTime(intDiv(begin, 1000000000)) AS began, host, pid, command, labels,"
	  " version, calls, lost, threshold FROM %D.runs FINAL" },
	{ "named_minutes",
	  "SELECT minute, run, host, labels, name, module, calls, timed, durations, total, self, least,"
	  " most, bucket, count FROM (SELECT minute, run, host, labels, fn, calls, timed, durations,"
	  " total, self, least, most, bucket, count FROM %D.minutes " OF_RUNS ") " OF_FUNCTIONS },
	{ "named_calls",
	  "SELECT begin, duration, self, depth, pid, tid, run, host, labels, name, module FROM"
	  " (SELECT begin, duration, self, depth, pid, tid, run, host, labels, fn FROM %D.calls "
	  OF_RUNS ") " OF_FUNCTIONS },
	{ NULL, NULL },
};

/* ClickHouse keeps the text of a view: the database's name is put in at each place, since a view is
 * read from any database. */
void fleet_view_create(const struct fleet_view *v, const char *database, struct out *o)
{
	out_printf(o, "CREATE VIEW IF NOT EXISTS %s.%s AS ", database, v->name);
	for (const char *c = v->select; *c; c++) {
		if (c[0] != '%' || c[1] != 'D') {
			out_char(o, *c);
			continue;
		}
		out_str(o, database);
		c++;
	}
}

/* --- values ----------------------------------------------------- */

static void put_bytes(struct fleet_block *b, const void *bytes, size_t n)
{
	const size_t at = b->columns[b->next].data.n;

	vec_reserve(&b->columns[b->next].data, at + n);
	if (n)
		memcpy(b->columns[b->next].data.at + at, bytes, n);
	b->columns[b->next].data.n = at + n;
}

/* The next value is of the next column; behind the last one the row is whole. */
static void value_is_put(struct fleet_block *b)
{
	if (++b->next < fleet_table_columns(b->table))
		return;
	b->next = 0;
	b->rows++;
}

/* Eight bytes are stored whatever the width is: the next value covers those that are too many.
 * Little-endian, as this machine and the format are. */
static inline void put_number(struct fleet_block *b, unsigned column, uint64_t value)
{
	const struct fleet_column *c = &b->table->columns[column];

	if (c->same) {
		b->columns[column].same = value;
		return;
	}
	vec_reserve(&b->columns[column].data, b->columns[column].data.n + sizeof(value));
	memcpy(b->columns[column].data.at + b->columns[column].data.n, &value, sizeof(value));
	b->columns[column].data.n += types[c->type].width;
}

void fleet_put_number(struct fleet_block *b, uint64_t value)
{
	put_number(b, b->next, value);
	value_is_put(b);
}

void fleet_put_numbers(struct fleet_block *b, const uint64_t *values, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put_number(b, b->next + i, values[i]);
	b->next += n - 1;
	value_is_put(b);
}

/* A length: seven bits a byte, the low ones first. Returns the number of bytes, at most 10. It is
 * LEB128 without a sign, as the format Native has it for all lengths and numbers of columns and
 * rows. */
static size_t length_bytes(uint64_t n, char *to)
{
	size_t i = 0;

	for (; n > 0x7f; n >>= 7)
		to[i++] = (char)(0x80 | (n & 0x7f));
	to[i++] = (char)n;
	return i;
}

void fleet_put_bytes(struct fleet_block *b, const char *bytes, size_t n)
{
	char length[10];

	put_bytes(b, length, length_bytes(n, length));
	put_bytes(b, bytes, n);
	value_is_put(b);
}

void fleet_put_text(struct fleet_block *b, const char *text)
{
	fleet_put_bytes(b, text, strlen(text));
}

/* An array's elements, each of `width` bytes. The format has, of an array's column, first the ends
 * of all rows (elements up to each), then all elements: `ends` and `data` are kept apart for it. */
static void put_array(struct fleet_block *b, const void *values, size_t n, size_t width)
{
	const size_t before = b->columns[b->next].ends.n;
	const uint64_t end = before ? b->columns[b->next].ends.at[before - 1] : 0;

	*vec_add(&b->columns[b->next].ends) = end + n;
	put_bytes(b, values, n * width);
	value_is_put(b);
}

void fleet_put_smalls(struct fleet_block *b, const uint8_t *values, size_t n)
{
	put_array(b, values, n, sizeof(*values));
}

void fleet_put_counts(struct fleet_block *b, const uint64_t *values, size_t n)
{
	put_array(b, values, n, sizeof(*values));
}

/* --- blocks ----------------------------------------------------- */

static void write_length(struct out *o, uint64_t n)
{
	char bytes[10];

	out_bytes(o, bytes, length_bytes(n, bytes));
}

static void write_text(struct out *o, const char *text)
{
	write_length(o, strlen(text));
	out_str(o, text);
}

/* The value of each row, from a chunk of them. A column of one value costs no memory while the
 * block is filled: three columns of a call's ten are such. */
static void write_same(struct out *o, uint64_t value, unsigned width, size_t rows)
{
	char chunk[SAME_CHUNK * sizeof(value)];

	for (size_t i = 0; i < SAME_CHUNK; i++)
		memcpy(chunk + i * width, &value, width);
	for (size_t n; rows; rows -= n) {
		n = rows < SAME_CHUNK ? rows : SAME_CHUNK;
		out_bytes(o, chunk, n * width);
	}
}

/* Format Native: the numbers of columns and of rows, then for each column its name, its type and
 * the values of all rows. The server takes them as its own columns, without parsing a row. */
void fleet_block_write(const struct fleet_block *b, struct out *o)
{
	const unsigned n = fleet_table_columns(b->table);

	write_length(o, n);
	write_length(o, b->rows);
	for (unsigned i = 0; i < n; i++) {
		write_text(o, b->table->columns[i].name);
		write_text(o, types[b->table->columns[i].type].name);
		if (b->table->columns[i].same)
			write_same(o, b->columns[i].same, types[b->table->columns[i].type].width,
				   b->rows);
		if (b->columns[i].ends.n)
			out_bytes(o, (const char *)b->columns[i].ends.at,
				  b->columns[i].ends.n * sizeof(uint64_t));
		if (b->columns[i].data.n)
			out_bytes(o, b->columns[i].data.at, b->columns[i].data.n);
	}
}

/* The memory stays, for the next batch is about as large. */
void fleet_block_clear(struct fleet_block *b)
{
	for (unsigned i = 0; i < FLEET_COLUMNS_MAX; i++)
		b->columns[i].data.n = b->columns[i].ends.n = 0;
	b->rows = b->next = 0;
}

void fleet_block_free(struct fleet_block *b)
{
	for (unsigned i = 0; i < FLEET_COLUMNS_MAX; i++) {
		vec_free(&b->columns[i].data);
		vec_free(&b->columns[i].ends);
	}
	b->rows = b->next = 0;
}
