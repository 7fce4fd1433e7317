/* SPDX-License-Identifier: MIT */
/* SQLite's virtual tables over arrays. xBestIndex chooses among three ways to the rows: by number,
 * by a sorted column, and by a key's index; the same ways give rows in the order, or in the groups,
 * that a statement asks for, so that SQLite need not sort them. Everything that is pushed down here
 * is checked again by SQLite (omit stays 0): a bound may let too many rows through. SQLite calls
 * all of it, on the query's thread. Nothing fails: a column that a row does not have is NULL. */
#include "query/table.h"

#include <string.h>

/* Rows of an index lie far from each other: each is asked for so many rows before it is read, as
 * long as memory takes. */
#define AHEAD 24u

/* Rows that come into memory with one: the kernel maps 64 kB of a file around a fault, which are
 * 1,365 slices. */
#define ROWS_AROUND 1400u

/* Letters of idxStr: the column that a bound is on. An operator follows each. */
enum { ON_ROW = 'r', ON_SORTED = 's', ON_KEY = 'k' };

/* idxNum: which key (1 + number), and whether the rows come backwards. */
#define PLAN_KEY(plan) ((plan) >> 1)
#define PLAN_BACKWARDS 1

/* One table in SQLite's hands. */
struct vtab {
	sqlite3_vtab base;
	struct query *query;
	const struct query_table *table;
};

struct table_cursor {
	sqlite3_vtab_cursor base;
	const uint32_t *rows;   /* of an index; NULL: rows are their own numbers */
	size_t from, to;        /* places still to come: rows[from] to rows[to - 1] */
	size_t low, high;       /* rows outside of it are passed over */
	size_t last;            /* the row that was read last */
	size_t passed;          /* rows that are in memory by that, since the last rest */
	bool backwards;
};

static struct query *query_of(sqlite3_vtab_cursor *c)
{
	return ((struct vtab *)c->pVtab)->query;
}

static const struct query_table *table_of(sqlite3_vtab_cursor *c)
{
	return ((struct vtab *)c->pVtab)->table;
}

/* --- planning ---------------------------------------------------------------------------- */

/* A statement's way to the rows, while xBestIndex looks for it. */
struct plan {
	sqlite3_index_info *info;
	const struct query_table *table;
	sqlite3_str *bounds;
	int arguments;
	bool one_row, few_rows;
	int key;             /* number of the index; -1: none */
	int bound;           /* the constraint that chooses its part; -1: none */
};

/* Number of the key on that column; -1: there is none. */
static int find_key(const struct query_table *t, int column)
{
	for (int k = 0; t->keys && t->keys[k].of_row; k++)
		if (t->keys[k].column == column)
			return k;
	return -1;
}

/* Returns the operator's letter, 0 for those that bound nothing. */
static char operator_of(unsigned char op)
{
	static const struct { unsigned char op; char letter; } known[] = {
		{ SQLITE_INDEX_CONSTRAINT_EQ, '=' }, { SQLITE_INDEX_CONSTRAINT_GT, '>' },
		{ SQLITE_INDEX_CONSTRAINT_GE, 'g' }, { SQLITE_INDEX_CONSTRAINT_LT, '<' },
		{ SQLITE_INDEX_CONSTRAINT_LE, 'l' },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].op == op)
			return known[i].letter;
	return 0;
}

/* Asks for the bound's value as xFilter's next argument, and tells xFilter by two letters how to
 * use it. */
static void push_down(struct plan *p, int i, char on, char op)
{
	sqlite3_str_appendchar(p->bounds, 1, on);
	sqlite3_str_appendchar(p->bounds, 1, op);
	p->info->aConstraintUsage[i].argvIndex = ++p->arguments;
}

/* A key's equality needs SQLite's own comparison of bytes: NOCASE would find more. */
static bool is_key_bound(const struct plan *p, int i)
{
	return p->info->aConstraint[i].usable &&
	       operator_of(p->info->aConstraint[i].op) == '=' &&
	       find_key(p->table, p->info->aConstraint[i].iColumn) >= 0 &&
	       strcmp(sqlite3_vtab_collation(p->info, i), "BINARY") == 0;
}

/* Whether the bound leaves one row: an index beside it would only be in the way. */
static bool is_row_bound(const struct plan *p, int i)
{
	return p->info->aConstraint[i].usable && p->info->aConstraint[i].iColumn <= 0 &&
	       operator_of(p->info->aConstraint[i].op) == '=';
}

/* Chooses the index of all those that a bound is on: the first one in the table's list, which has
 * the fewest rows of a key. */
static void choose_index(struct plan *p)
{
	for (int i = 0; i < p->info->nConstraint; i++)
		p->one_row |= is_row_bound(p, i);
	for (int i = 0; i < p->info->nConstraint && !p->one_row; i++) {
		int key = find_key(p->table, p->info->aConstraint[i].iColumn);

		if (!is_key_bound(p, i) || (p->key >= 0 && key >= p->key))
			continue;
		p->key = key;
		p->bound = i;
	}
}

/* Pushes one bound down, if it narrows the rows; all others are left to SQLite. */
static void use_constraint(struct plan *p, int i)
{
	int column = p->info->aConstraint[i].iColumn;
	char op = operator_of(p->info->aConstraint[i].op);

	if (!p->info->aConstraint[i].usable || !op)
		return;
	/* SQLite's rowid is column -1, the id is column 0: both are the row's number. */
	if (column <= 0) {
		push_down(p, i, ON_ROW, op);
		p->few_rows = true;
	} else if (p->table->sorted && column == p->table->sorted) {
		push_down(p, i, ON_SORTED, op);
		p->few_rows = true;
	} else if (i == p->bound) {
		push_down(p, i, ON_KEY, op);
	}
}

/* Rows come by number and sorted column anyhow, in an index's part too. Order by one key is that of
 * its index, if nothing has chosen one already. Nor does an index give the order of few rows: it
 * would pass over all others, in a join for each row of the outer table. sqlite3_vtab_distinct() is
 * not asked whether groups would do: SQLite 3.40 says so of GROUP BY x ORDER BY x DESC, and then
 * does not sort. */
static void use_order(struct plan *p)
{
	const struct sqlite3_index_orderby *by = p->info->aOrderBy;

	if (p->info->nOrderBy != 1)
		return;
	if (by->iColumn > 0 && !(p->table->sorted && by->iColumn == p->table->sorted)) {
		if (p->key >= 0 || p->one_row || p->few_rows ||
		    find_key(p->table, by->iColumn) < 0)
			return;
		p->key = find_key(p->table, by->iColumn);
	}
	p->info->orderByConsumed = 1;
	p->info->idxNum |= by->desc ? PLAN_BACKWARDS : 0;
}

/* Called for each way to nest the tables of a join, with the bounds that are known in that way. */
static int best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
	struct plan p = { .info = info, .table = ((struct vtab *)v)->table, .key = -1,
			  .bound = -1, .bounds = sqlite3_str_new(NULL) };
	bool keyed;

	choose_index(&p);
	for (int i = 0; i < info->nConstraint; i++)
		use_constraint(&p, i);
	/* An index that use_order() chooses gives all rows: only a bound makes them few. */
	keyed = p.key >= 0;
	info->idxNum = 0;
	use_order(&p);
	info->idxNum |= (p.key + 1) << 1;
	info->idxStr = sqlite3_str_finish(p.bounds);
	info->needToFreeIdxStr = 1;
	/* Guesses: SQLite only compares ways with each other. */
	info->estimatedRows = p.one_row	 ? 1
			      : keyed	 ? 100 + p.key
			      : p.few_rows ? 100000
					   : 10000000;
	info->estimatedCost = (double)info->estimatedRows;
	return SQLITE_OK;
}

/* --- a cursor ---------------------------------------------------------------------------- */

/* The first row whose value in the sorted column is not below v. */
static size_t row_at(const struct query *q, const struct query_table *table, uint64_t v)
{
	size_t low = 0, high = table->rows(q);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->sorted_of(q, middle) < v)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Several bounds may come for one column: the narrowest holds. */
static void bound_below(struct table_cursor *c, uint64_t row)
{
	c->low = row > c->low ? row : c->low;
}

static void bound_above(struct table_cursor *c, uint64_t row)
{
	c->high = row < c->high ? row : c->high;
}

/* Narrows the rows by one bound. Only whole numbers narrow; SQLite compares the others. */
static void bound_rows(struct table_cursor *c, char on, char op, sqlite3_value *v)
{
	const struct query *q = query_of(&c->base);
	const struct query_table *t = table_of(&c->base);
	uint64_t first, after;
	sqlite3_int64 value;

	if (sqlite3_value_type(v) == SQLITE_NULL) /* nothing compares to it */
		c->high = 0;
	if (sqlite3_value_type(v) != SQLITE_INTEGER)
		return;
	value = sqlite3_value_int64(v);
	if (value < 0) { /* below all rows */
		if (strchr("=<l", op))
			c->high = 0;
		return;
	}
	first = on == ON_SORTED ? row_at(q, t, (uint64_t)value) : (uint64_t)value;
	after = on == ON_SORTED ? row_at(q, t, (uint64_t)value + 1) : (uint64_t)value + 1;
	if (strchr("=g", op))
		bound_below(c, first);
	if (op == '>')
		bound_below(c, after);
	if (strchr("=l", op))
		bound_above(c, after);
	if (op == '<')
		bound_above(c, first);
}

/* Narrows an index to the rows of one key. */
static void choose_key(struct table_cursor *c, const struct index *x, sqlite3_value *v)
{
	uint32_t key;

	if (!x->key->of_value(query_of(&c->base), v, &key)) {
		c->to = 0;
		return;
	}
	c->from = index_begins(x)[key];
	c->to = index_begins(x)[key + 1];
}

/* The number of the row that the cursor stands at. */
static size_t row_of(const struct table_cursor *c)
{
	/* Places are taken from either end: `to` is the one behind the last. */
	size_t place = c->backwards ? c->to - 1 : c->from;

	return c->rows ? c->rows[place] : place;
}

/* The first place of the chosen key's part whose row is not below `row`: its rows ascend. */
static size_t place_of(const struct table_cursor *c, size_t row)
{
	size_t low = c->from, high = c->to;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->rows[middle] < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Cuts the part of one key to the rows between the bounds. */
static void cut_key(struct table_cursor *c)
{
	size_t from = place_of(c, c->low), to = place_of(c, c->high);

	c->from = from;
	c->to = to > from ? to : from;
}

/* Passes over rows of an index that the bounds exclude. */
static void skip_rows(struct table_cursor *c)
{
	while (c->from < c->to) {
		size_t row = row_of(c);

		if (row >= c->low && row < c->high)
			return;
		if (c->backwards)
			c->to--;
		else
			c->from++;
	}
}

/* Begins a reading of the table (xFilter). The inner table of a join is begun anew for each outer
 * row, so all that does not depend on the bounds is kept with the query. An error's sentence is
 * in q->err, where query_fail() finds it. */
static int filter_rows(sqlite3_vtab_cursor *base, int plan, const char *bounds, int n,
		       sqlite3_value **values)
{
	struct table_cursor *c = (struct table_cursor *)base;
	struct query *q = query_of(base);
	const struct query_table *t = table_of(base);
	const struct index *x = NULL;
	bool keyed = false;

	/* The first statement that reaches a table pays for reading the trace. */
	if (t->load && t->load(q))
		return SQLITE_ERROR;
	c->low = c->from = 0;
	c->high = c->to = t->rows(q);
	c->backwards = plan & PLAN_BACKWARDS;
	c->rows = NULL;
	if (PLAN_KEY(plan)) {
		x = index_of(q, t, &t->keys[PLAN_KEY(plan) - 1]);
		if (!x)
			return SQLITE_ERROR;
		c->rows = index_rows(x);
	}
	for (int i = 0; i < n; i++) {
		keyed |= bounds[2 * i] == ON_KEY;
		if (bounds[2 * i] == ON_KEY)
			choose_key(c, x, values[i]);
		else
			bound_rows(c, bounds[2 * i], bounds[2 * i + 1], values[i]);
	}
	/* Without an index a place is a row's number, so that the bounds cut at once. With one that
	 * gives the order alone, skip_rows() looks at each row. */
	if (!x) {
		c->from = c->low;
		c->to = c->high;
	} else if (keyed) {
		cut_key(c);
	}
	skip_rows(c);
	return SQLITE_OK;
}

/* Asks for the row that an index has AHEAD places behind the cursor's. */
static void ask_ahead(struct table_cursor *c)
{
	const struct query_table *t = table_of(&c->base);

	if (t->ahead && c->to - c->from > AHEAD)
		t->ahead(query_of(&c->base),
			 c->rows[c->backwards ? c->to - 1 - AHEAD : c->from + AHEAD]);
}

/* Lets go of what the cursor has passed: a long trace need not fit into memory. A row that lies far
 * from the last one brings the rows around it along, all of those between them at most. */
static void rest_behind(struct table_cursor *c)
{
	const struct query_table *t = table_of(&c->base);
	size_t row = c->from < c->to ? row_of(c) : c->last,
	       distance = row > c->last ? row - c->last : c->last - row;

	c->last = row;
	c->passed += distance < ROWS_AROUND ? distance : ROWS_AROUND;
	if (c->passed < QUERY_ROWS_AT_ONCE || !t->rest)
		return;
	c->passed = 0;
	t->rest(query_of(&c->base));
}

/* xNext. skip_rows() is for indexes alone: without one the bounds have cut the range already. */
static int next_row(sqlite3_vtab_cursor *base)
{
	struct table_cursor *c = (struct table_cursor *)base;

	if (c->backwards)
		c->to--;
	else
		c->from++;
	if (c->rows) {
		skip_rows(c);
		ask_ahead(c);
	}
	rest_behind(c);
	return SQLITE_OK;
}

/* xEof: true, too, for a range that filter_rows() made empty. */
static int at_end(sqlite3_vtab_cursor *base)
{
	const struct table_cursor *c = (const struct table_cursor *)base;

	return c->from >= c->to;
}

/* xColumn. Column 0 of every table is the row's number, so that the tables need not have it. */
static int read_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int column)
{
	size_t row = row_of((const struct table_cursor *)base);

	if (column == 0)
		sqlite3_result_int64(to, (sqlite3_int64)row);
	else
		table_of(base)->column(query_of(base), row, column, to);
	return SQLITE_OK;
}

/* xRowid: as `rowid` a statement may write it. */
static int row_number(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)row_of((const struct table_cursor *)base);
	return SQLITE_OK;
}

/* xOpen. The cursor stands nowhere until filter_rows(). */
static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	/* SQLite fills in base.pVtab. */
	struct table_cursor *c = mem_zalloc(sizeof(*c));

	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
	free(c);
	return SQLITE_OK;
}

/* --- the module -------------------------------------------------------------------------- */

/* The context that sqlite3_create_module hands on. */
struct table_of_query { struct query *query; const struct query_table *table; };

/* xConnect. The CREATE TABLE is never run: it only tells SQLite the columns. */
static int connect_table(sqlite3 *db, void *arg, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **error)
{
	const struct table_of_query *m = arg;
	struct vtab *v = mem_zalloc(sizeof(*v));
	char *text = mem_printf("CREATE TABLE x(%s)", m->table->columns);
	int r = sqlite3_declare_vtab(db, text);

	v->query = m->query;
	v->table = m->table;
	free(text);
	*out = &v->base;
	return r;
}

static int disconnect_table(sqlite3_vtab *v)
{
	free(v);
	return SQLITE_OK;
}

/* Without xCreate the table is there by its name alone. */
static const sqlite3_module table_module = {
	.xConnect = connect_table, .xBestIndex = best_index, .xDisconnect = disconnect_table,
	.xOpen = open_cursor, .xClose = close_cursor, .xFilter = filter_rows, .xNext = next_row,
	.xEof = at_end, .xColumn = read_column, .xRowid = row_number,
};

/* q outlives the database, which query_close() closes first. */
int table_create(struct query *q, const struct query_table *t)
{
	struct table_of_query *m = mem_zalloc(sizeof(*m));

	/* SQLite frees it with the database, and at once if it fails. */
	*m = (struct table_of_query){ q, t };
	return sqlite3_create_module_v2(q->db, t->name, &table_module, m, free);
}
