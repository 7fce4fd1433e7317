/* Names of code that a program made: the program is the test itself, which writes its own map
 * file. Bytes of all images have one bound and go when an image ends; files that are not the
 * program's, or are written anew; ranges that lie over files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collect/clock.h"
#include "instance/made_names.h"

#define LINES 50000u /* of a map of more than 20 MB */
#define IMAGES 4u
#define FIRST 0x10000000u

static char map_path[64], other_path[80];
static struct trace_info *info;
static struct made_names *names;

static int begin(void **state)
{
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other_path, sizeof(other_path), "%s.other", map_path);
	info = trace_info_new();
	for (unsigned i = 0; i < IMAGES + 1; i++)
		*vec_add(&info->images) = (struct trace_image){ .pid = (uint32_t)getpid(),
								.exe = mem_strdup("/program"),
								.cmdline = mem_strdup("program") };
	names = made_names_new(info);
	return 0;
}

static int end(void **state)
{
	made_names_free(names);
	assert_int_equal(info->made_bytes, 0);
	trace_info_free(info);
	unlink(map_path);
	unlink(other_path);
	return 0;
}

static void write_map(const char *text)
{
	FILE *f = fopen(map_path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void write_large_map(void)
{
	FILE *f = fopen(map_path, "w");

	assert_non_null(f);
	for (unsigned i = 0; i < LINES; i++)
		fprintf(f, "%x 8 %0390u\n", FIRST + i * 8, i);
	assert_int_equal(fclose(f), 0);
}

static bool knows(uint32_t image, uint64_t address)
{
	return made_names_know(names, image, address, clock_tsc());
}

/* The name of the function at an address that is known; "": there is none. */
static const char *name_at(uint64_t address)
{
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function_at(info, 0, address, clock_tsc(), &m);

	return f ? m->strings.at + f->name : "";
}

static void one_bound(void **state)
{
	write_large_map();
	for (unsigned i = 0; i < IMAGES; i++)
		assert_int_equal(knows(i, FIRST + (LINES - 1) * 8), i < IMAGES - 1);
	assert_true(knows(IMAGES - 1, FIRST)); /* of the last one, a part */
	assert_true(info->made_bytes <= MADE_NAMES_BYTES && info->made_bytes > MADE_NAMES_BYTES / 2);
	assert_true(info->made_left_out >= LINES / 2 && info->made_left_out < LINES * IMAGES);
}

static void ended_images(void **state)
{
	uint64_t all, tsc;

	write_large_map();
	assert_true(knows(0, FIRST) && knows(1, FIRST));
	all = info->made_bytes;
	tsc = clock_tsc();
	info->images.at[0].complete = true;
	/* Records from before its end are not passed yet. */
	assert_true(made_names_know(names, 0, FIRST, tsc) && made_names_know(names, 0, FIRST + 8, tsc));
	assert_int_equal(info->made_bytes, all);
	knows(1, FIRST);
	assert_int_equal(info->made_bytes, all / 2);
	assert_true(knows(1, FIRST));
	assert_false(knows(0, FIRST));
	/* One after another, many have room. */
	for (unsigned i = 1; i < IMAGES; i++) {
		info->images.at[i].complete = true;
		knows(i, FIRST);
		knows(i, FIRST);
		assert_true(knows(i + 1, FIRST));
		assert_int_equal(info->made_bytes, all / 2);
	}
	assert_int_equal(info->made_left_out, 0);
}

/* Waits for the next look. */
static void until_named(uint64_t address, const char *name)
{
	while (!knows(0, address) || strcmp(name_at(address), name) != 0)
		usleep(1000);
}

static void written_anew(void **state)
{
	write_map("1000 8 first\n");
	assert_true(knows(0, 0x1000));
	assert_string_equal(name_at(0x1000), "first");
	write_map("1000 8 second\n2000 8 third\n"); /* longer than it was */
	until_named(0x1000, "second");
	until_named(0x2000, "third");
	write_map("1000 8 last\n"); /* and shorter */
	until_named(0x1000, "last");
	assert_false(knows(0, 0x2000));
}

static void hard_link(void **state)
{
	write_map("1000 8 others\n");
	assert_int_equal(link(map_path, other_path), 0);
	assert_false(made_names_any(names, 0));
	assert_false(knows(0, 0x1000));
	assert_int_equal(unlink(other_path), 0);
	assert_true(knows(1, 0x1000));
}

/* As a library that is mapped. */
static void add_file(uint64_t start, uint64_t to_tsc)
{
	*vec_add(&info->modules) = (struct trace_module){ .path = mem_strdup("/lib"), .name = mem_strdup("lib"),
							  .start = start, .end = start + 0x1000, .to_tsc = to_tsc };
}

static void files_win(void **state)
{
	add_file(0x20000, 0);
	add_file(0x40000, 0);
	add_file(0x30000, 1); /* is gone */
	write_map("0 100000 everything\n");
	assert_true(knows(0, 0x30800));
	assert_string_equal(name_at(0x30800), "everything");
	assert_string_equal(name_at(0x3ffff), "everything");
	for (uint64_t at = 0x20000; at <= 0x40000; at += 0x20000) {
		assert_string_equal(trace_info_module_at(info, 0, at, clock_tsc())->name, "lib");
		assert_string_equal(trace_info_module_at(info, 0, at + 0xfff, clock_tsc())->name, "lib");
		assert_true(knows(0, at + 0x1000));
		assert_string_equal(name_at(at + 0x1000), "everything");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_bound, begin, end),
		cmocka_unit_test_setup_teardown(ended_images, begin, end),
		cmocka_unit_test_setup_teardown(written_anew, begin, end),
		cmocka_unit_test_setup_teardown(hard_link, begin, end),
		cmocka_unit_test_setup_teardown(files_win, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
