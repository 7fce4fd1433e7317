/* Grids and tables without a terminal: what is escaped, how names are cut, which rows are shown. */
#include <setjmp.h>
#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "view/table.h"

static void line_is(const struct grid *g, unsigned row, const char *want)
{
	char *line = grid_line(g, row);

	assert_string_equal(line, want);
	free(line);
}

static void test_escapes(void **state)
{
	struct grid g = { .ascii = false };

	grid_resize(&g, 3, 40);
	assert_int_equal(grid_text(&g, 0, 0, 40, GRID_PLAIN, "a\033[2J\n\xff\xe2\x80\xae" "b"), 29);
	line_is(&g, 0, "a\\033[2J\\012\\377\\342\\200\\256b");
	grid_text(&g, 1, 0, 40, GRID_PLAIN, "\xc3\xa9\xe6\xbc\xa2|");
	line_is(&g, 1, "\xc3\xa9\xe6\xbc\xa2|");
	g.ascii = true;
	grid_text(&g, 2, 0, 40, GRID_PLAIN, "\xc3\xa9|");
	line_is(&g, 2, "\\303\\251|");
	grid_free(&g);
}

static void test_edges(void **state)
{
	struct grid g = { 0 };

	grid_resize(&g, 2, 10);
	assert_int_equal(grid_text(&g, 0, 8, 10, GRID_PLAIN, "abc"), 2);
	assert_int_equal(grid_text(&g, 5, 0, 10, GRID_PLAIN, "abc"), 0);
	assert_int_equal(grid_text(&g, 0, 12, 10, GRID_PLAIN, "abc"), 0);
	line_is(&g, 0, "        ab");
	/* A wide character has no room for its second half. */
	grid_text(&g, 1, 9, 5, GRID_PLAIN, "\xe6\xbc\xa2");
	line_is(&g, 1, "");
	grid_paint(&g, 1, 8, 100, GRID_BAR);
	assert_int_equal(g.at[19].look, GRID_BAR);
	grid_resize(&g, 0, 0);
	assert_int_equal(g.rows * g.columns, 1);
	grid_free(&g);
}

static void test_names_are_cut_in_the_middle(void **state)
{
	struct grid g = { 0 };

	grid_resize(&g, 2, 40);
	grid_name(&g, 0, 0, 12, GRID_PLAIN, "std::vector<int>::push_back");
	line_is(&g, 0, "std::.._back");
	grid_name(&g, 1, 0, 12, GRID_PLAIN, "short");
	line_is(&g, 1, "short");
	grid_free(&g);
}

static void test_files_are_cut_before_names(void **state)
{
	struct grid g = { 0 };

	grid_resize(&g, 4, 40);
	assert_int_equal(grid_label(&g, 0, 0, 40, GRID_PLAIN, "leaf", "parts"), 12);
	line_is(&g, 0, "leaf [parts]");
	assert_int_equal(grid_label(&g, 1, 0, 32, GRID_PLAIN, "sqlite3_prepare", "libsqlite3.so.0.8.6"), 32);
	line_is(&g, 1, "sqlite3_prepare [libsql...0.8.6]");
	/* Too little is left for a file. */
	assert_int_equal(grid_label(&g, 2, 0, 20, GRID_PLAIN, "sqlite3_prepare", "libsqlite3.so.0.8.6"), 20);
	line_is(&g, 2, "sqlite3_p..so.0.8.6]");
	assert_int_equal(grid_label(&g, 3, 0, 20, GRID_PLAIN, "main", ""), 4);
	line_is(&g, 3, "main");
	grid_free(&g);
}

/* --- tables ----------------------------------------------------------------------------------- */

static const char *const names[] = { "malloc", "free", "main", "memcpy" };
static const uint64_t numbers[] = { 7, 7, 100, 3 };

static uint64_t number(const void *of, size_t row, unsigned column)
{
	return numbers[row];
}

static void text(const void *of, size_t row, unsigned column, char to[TABLE_TEXT])
{
	table_count(to, numbers[row]);
}

static const char *name(const void *of, size_t row)
{
	return names[row];
}

static const char *file(const void *of, size_t row)
{
	return row == 2 ? "" : "libc";
}

static const struct table_column columns[] = { { "N", 6 } };
static const struct table_rows rows = { columns, 1, "NAME", number, text, name, file };

static void test_tables(void **state)
{
	const struct view_event reverse = { .key = 'r' }, right = { .key = '>' },
				end = { .key = VIEW_END };
	struct grid g = { 0 };
	struct table_view t;
	bool sorted;

	table_init(&t, &rows, NULL, 0);
	table_update(&t, 4);
	grid_resize(&g, 4, 30);
	table_draw(&t, &g, 0, 4);
	line_is(&g, 0, "     N  NAME");
	line_is(&g, 1, "   100  main");
	line_is(&g, 2, "     7  free [libc]");
	line_is(&g, 3, "     7  malloc [libc]");
	assert_true(table_key(&t, &end, &sorted) && !sorted);
	table_draw(&t, &g, 0, 4);
	line_is(&g, 3, "     3  memcpy [libc]");
	/* The chosen row stays chosen where it goes. */
	assert_true(table_key(&t, &reverse, &sorted) && sorted);
	table_update(&t, 4);
	assert_int_equal(table_chosen(&t), 3);
	assert_int_equal(t.chosen, 0);
	assert_true(table_key(&t, &right, &sorted) && sorted);
	table_update(&t, 4);
	assert_string_equal(names[t.order.at[3]], "free");
	assert_true(table_search(&t, "all"));
	assert_int_equal(table_chosen(&t), 0);
	assert_false(table_search(&t, "nothing"));
	table_set_filter(&t, "m*c*");
	table_update(&t, 4);
	assert_int_equal(t.order.n, 2);
	table_set_filter(&t, "none");
	table_update(&t, 4);
	assert_int_equal(table_chosen(&t), UINT32_MAX);
	assert_true(table_key(&t, &end, &sorted));
	table_free(&t);
	grid_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escapes), cmocka_unit_test(test_edges),
		cmocka_unit_test(test_names_are_cut_in_the_middle),
		cmocka_unit_test(test_files_are_cut_before_names), cmocka_unit_test(test_tables),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 77; /* skipped: widths are the locale's */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
