/* Code that programs made, as they tell of it: lines and records whole and in parts, damaged ones,
 * and look-ups held against a search through all entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sym/made_code.h"

static void finds(struct made_code *m, uint64_t address, const char *name)
{
	const struct made_code_entry *e = made_code_find(m, address);

	if (!name) {
		assert_null(e);
		return;
	}
	assert_non_null(e);
	assert_string_equal(made_code_name(m, e), name);
}

static void map_lines(void **state)
{
	static const char text[] = "1000 10 one\n0x2000 20 two words\n\n3000 0 empty\nfffffffffffffff0 20 wraps\n4000 10\n"
				   "5000 10 \nxyz 10 no\n10000000000000000 1 long\n6000 10 cut";
	struct made_code m = { 0 };

	assert_int_equal(made_code_add_map(&m, text, sizeof(text) - 1), strrchr(text, '\n') + 1 - text);
	assert_int_equal(m.at.n, 2);
	finds(&m, 0xfff, NULL);
	finds(&m, 0x1000, "one");
	finds(&m, 0x100f, "one");
	finds(&m, 0x1010, NULL);
	finds(&m, 0x201f, "two words");
	finds(&m, 0x6000, NULL);
	assert_int_equal(made_code_add_map(&m, "6000 10 cut short\n", 18), 18);
	finds(&m, 0x6000, "cut short");
	made_code_free(&m);
}

/* The newest entry around an address, by a look at all of them. */
static const char *newest(const struct made_code *m, uint64_t address)
{
	const struct made_code_entry *found = NULL;

	for (size_t i = 0; i < m->at.n; i++)
		if (address - m->at.at[i].start < m->at.at[i].size && (!found || m->at.at[i].order > found->order))
			found = &m->at.at[i];
	return found ? made_code_name(m, found) : NULL;
}

static void newest_wins(void **state)
{
	struct made_code m = { 0 };
	char line[64];

	srand(7);
	for (unsigned i = 0; i < 20000; i++) {
		int n = snprintf(line, sizeof(line), "%x %x f%u\n", rand() % 100000, rand() % 60 + 1, i);

		assert_int_equal(made_code_add_map(&m, line, (size_t)n), n);
		if (i % 16 == 0) {
			uint64_t at = (uint64_t)rand() % 100000;

			finds(&m, at, newest(&m, at));
		}
	}
	assert_true(m.sorted > 0); /* both ways of looking were taken */
	made_code_free(&m);
}

static void bounds(void **state)
{
	struct made_code m = { 0 };
	char line[1024];
	int n;

	memset(line, 'x', sizeof(line));
	memcpy(line, "1000 10 ", 8);
	line[sizeof(line) - 1] = '\n';
	made_code_add_map(&m, line, sizeof(line));
	assert_int_equal(strlen(made_code_name(&m, made_code_find(&m, 0x1000))), MADE_CODE_NAME_MAX);
	for (unsigned i = 0; i < MADE_CODE_MAX + 5; i++) {
		n = snprintf(line, sizeof(line), "%x 1 f\n", 0x2000 + i);
		made_code_add_map(&m, line, (size_t)n);
	}
	assert_int_equal(m.at.n, MADE_CODE_MAX);
	assert_int_equal(m.left_out, 6);
	made_code_free(&m);
	m.limit = 100; /* two entries of 32 bytes and their names */
	assert_int_equal(made_code_add_map(&m, "1000 8 f\n2000 8 g\n3000 8 h\n", 27), 27);
	assert_int_equal(m.at.n, 2);
	assert_int_equal(m.left_out, 1);
	assert_int_equal(made_code_bytes(&m), 68);
	made_code_free(&m);
}

/* --- jitdump ---------------------------------------------------------------------------------- */

static uint8_t dump[4096];
static size_t dump_n;

static void put(const void *bytes, size_t n)
{
	memcpy(dump + dump_n, bytes, n);
	dump_n += n;
}

static void put_record(uint32_t kind, const uint64_t *words, size_t n, const char *name)
{
	size_t name_n = name ? strlen(name) + 1 : 0;
	const uint32_t head[] = { kind, (uint32_t)(16 + 8 * n + name_n), 0, 0 };

	put(head, sizeof(head));
	put(words, 8 * n);
	if (name)
		put(name, name_n);
}

static void begin_dump(uint32_t magic)
{
	const uint32_t header[] = { magic, 1, 40, 62, 0, 7, 0, 0, 0, 0 };

	dump_n = 0;
	put(header, sizeof(header));
}

static void dump_records(void **state)
{
	struct made_code m = { 0 };

	begin_dump(0x4a695444);
	put_record(0, (uint64_t[]){ 0, 0x1000, 0x1000, 16, 0 }, 5, "first");
	put_record(2, (uint64_t[]){ 1, 2, 3 }, 3, NULL); /* lines of the source: passed over */
	put_record(1, (uint64_t[]){ 0, 0x3000, 0x1000, 0x3000, 16, 0 }, 6, NULL);
	/* Byte by byte more, as the file grows. */
	for (size_t have = 0, at = 0; have <= dump_n; have++)
		at += made_code_add_dump(&m, dump + at, have - at);
	assert_false(m.bad);
	assert_int_equal(m.at.n, 2);
	finds(&m, 0x100f, "first");
	finds(&m, 0x300f, "first");
	finds(&m, 0x3010, NULL);
	made_code_free(&m);
}

/* Of the entries that begin where the code moved from, the newest has the name; others around the
 * place have not, however many. */
static void moves(void **state)
{
	struct made_code m = { 0 };
	uint64_t begins[256] = { 0 };
	char name[32];

	srand(8);
	begin_dump(0x4a695444);
	made_code_add_dump(&m, dump, dump_n);
	for (uint64_t i = 1; i < 20000; i++) {
		uint64_t start = (uint64_t)rand() % 256, from = (uint64_t)rand() % 256;

		dump_n = 0;
		snprintf(name, sizeof(name), "f%u", (unsigned)i);
		put_record(0, (uint64_t[]){ 0, 0, 0x1000 + start * 16, 100, 0 }, 5, name);
		begins[start] = i;
		put_record(1, (uint64_t[]){ 0, 0, 0x1000 + from * 16, 0x100000 + i, 1, 0 }, 6, NULL);
		put_record(1, (uint64_t[]){ 0, 0, 0x1008 + from * 16, 0x200000 + i, 1, 0 }, 6, NULL);
		assert_int_equal(made_code_add_dump(&m, dump, dump_n), dump_n);
		snprintf(name, sizeof(name), "f%u", (unsigned)begins[from]);
		finds(&m, 0x100000 + i, begins[from] ? name : NULL);
		finds(&m, 0x200000 + i, NULL);
	}
	assert_true(m.old > 0 && m.sorted > m.old && m.at.n > m.sorted); /* all ways were taken */
	made_code_free(&m);
}

static void bad_dumps(void **state)
{
	struct made_code m = { 0 };

	begin_dump(0x4454694a); /* of the other byte order */
	made_code_add_dump(&m, dump, dump_n);
	assert_true(m.bad);
	made_code_free(&m);
	begin_dump(0x4a695444);
	put((uint32_t[]){ 0, 15, 0, 0 }, 16); /* shorter than its own head */
	put_record(0, (uint64_t[]){ 0, 0x1000, 0x1000, 16, 0 }, 5, "behind");
	made_code_add_dump(&m, dump, dump_n);
	assert_true(m.bad);
	finds(&m, 0x1000, NULL);
	assert_int_equal(made_code_add_dump(&m, dump, dump_n), 0);
	made_code_free(&m);
	begin_dump(0x4a695444);
	put_record(0, (uint64_t[]){ 0, 0x1000, 0x1000, 16 }, 4, NULL); /* without a name: no entry */
	assert_int_equal(made_code_add_dump(&m, dump, dump_n), dump_n);
	assert_int_equal(m.at.n, 0);
	made_code_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(map_lines), cmocka_unit_test(newest_wins), cmocka_unit_test(bounds),
		cmocka_unit_test(dump_records), cmocka_unit_test(moves), cmocka_unit_test(bad_dumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
